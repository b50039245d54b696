"""`GET /healthz` and `GET /readyz`: this process lives; Temporal, the database and a worker answer."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError

from contracts.names import SHARED_QUEUE
from host.services import Services
from store.figures import worker_heard


def health_router(services: Services) -> APIRouter:
    """The health routes; they need no credential."""
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    async def healthz() -> Mapping[str, Any]:
        return {"status": "ok"}

    @router.get("/readyz")
    async def readyz() -> JSONResponse:
        checks = {"temporal": await services.temporal.answers(), **await _database(services)}
        ready = all(checks.values())
        body = {
            "status": "ready" if ready else "not_ready",
            "checks": {name: "ok" if well else "failing" for name, well in checks.items()},
        }
        return JSONResponse(body, 200 if ready else 503, {"Cache-Control": "no-store"})

    return router


async def _database(services: Services) -> dict[str, bool]:
    try:
        async with services.reading() as tx:
            return {"database": True, "worker": await worker_heard(tx, SHARED_QUEUE)}
    except (SQLAlchemyError, OSError):
        return {"database": False, "worker": False}
