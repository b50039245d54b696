"""The FastAPI application: routes, the page, one shape of errors, the guard in front of everything (O6, H9, H21)."""

from typing import Any

from fastapi import FastAPI, Request
from starlette.types import ASGIApp

from host.http.attachments import attachment_router
from host.http.guard import Guard
from host.http.health import health_router
from host.http.metrics import metrics_router
from host.http.problems import install_problems
from host.http.settings import settings_router
from host.http.sign_in import authenticate, require, sign_in_router
from host.page.page_routes import PageIdentity, install_page, security_headers
from host.rpc.endpoint import rpc_router
from host.services import Services


def create_app(services: Services) -> ASGIApp:
    """Build the application of one host; nothing is read or started by it."""
    app = FastAPI(title="Steward", version=services.version, openapi_url=None, docs_url=None, redoc_url=None)
    install_problems(app)
    routers = (
        health_router, sign_in_router, metrics_router, attachment_router, settings_router, rpc_router,
    )  # fmt: skip
    for router in routers:
        app.include_router(router(services))
    _add_openapi(app, services)

    async def may_see(request: Request) -> bool:
        return await authenticate(services, request) is not None

    scope = services.scope
    install_page(app, may_see, PageIdentity(scope.user_space, scope.domain, services.version))
    return Guard(app, services.settings.allowed_hosts, security_headers())


def _add_openapi(app: FastAPI, services: Services) -> None:
    @app.get("/api/openapi.json", include_in_schema=False)
    async def openapi(request: Request) -> dict[str, Any]:
        await require(services, request)
        return app.openapi()
