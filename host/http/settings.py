"""`GET /api/settings`: what this host is set to, for local callers; secrets only as configured or not (P14, P15)."""

from typing import Any

from fastapi import APIRouter, Request

from host.http.sign_in import require
from host.services import Services
from runtime.settings_sources import public_view


def settings_router(services: Services) -> APIRouter:
    """The settings route."""
    router = APIRouter()

    @router.get("/api/settings")
    async def settings(request: Request) -> dict[str, Any]:
        """What this host is set to. Secrets are shown as configured or not, never by value."""
        await require(services, request, local=True)
        return dict(public_view(services.settings))

    return router
