"""Who calls, from a bearer credential or a browser's cookie, and the exchange of a one-time link for one (H19)."""

from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.requests import HTTPConnection

from domain.refusal import refuse
from host.http.guard import caller_of
from host.locality import is_local, is_loopback_name
from host.principal import Principal
from host.services import Services
from store.identity import SESSION_LIFETIME, redeem_login_link, session_credential

OWNER: Final = "owner"


def cookie_name(services: Services) -> str:
    """The session cookie's name; it holds the port, because cookies of one machine's ports are shared by browsers."""
    return f"steward_session_{services.settings.port}"


async def authenticate(services: Services, connection: HTTPConnection) -> Principal | None:
    """The holder of the request's credential; None without a valid one. A wrong bearer is not mended by a cookie."""
    header = connection.headers.get("authorization")
    if header is not None:
        scheme, _, token = header.partition(" ")
        known = scheme.lower() == "bearer" and services.credential.matches(token.strip())
    else:
        known = await _has_session(services, connection.cookies.get(cookie_name(services)))
    if not known:
        return None
    caller = caller_of(connection)
    return Principal(OWNER, OWNER, local=caller is not None and is_local(caller))


async def require(services: Services, connection: HTTPConnection, *, local: bool = False) -> Principal:
    """The holder of the request's credential.

    Raises:
        Refused: `unauthorized` without one; `local_only` where the route is for local callers and this is none (P14).
    """
    principal = await authenticate(services, connection)
    if principal is None:
        words = "A credential is needed: the owner's bearer token, or a browser signed in by a link."
        raise refuse("unauthorized", words)
    if local and not principal.local:
        raise refuse("local_only", "Local settings are available on localhost only")
    return principal


async def _has_session(services: Services, token: str | None) -> bool:
    if not token:
        return False
    async with services.reading() as tx:
        credential = await session_credential(tx, token)
    return credential is not None and services.credential.still(credential)


def sign_in_router(services: Services) -> APIRouter:
    """`GET /login`: a link works once, for ten minutes (H19)."""
    router = APIRouter(include_in_schema=False)

    @router.get("/login")
    async def login(request: Request, token: Annotated[str, Query(max_length=200)] = "") -> Response:
        async with services.database.write(services.scope) as tx:
            session = await redeem_login_link(tx, token, services.credential.digest)
        if session is None:
            if "text/html" in request.headers.get("accept", ""):
                # The page itself tells a person what to do, or is open already in this browser.
                return RedirectResponse("/", 303, {"Cache-Control": "no-store"})
            raise refuse("unauthorized", "This link was used or is too old. Get a new one by `steward auth link`.")
        response = RedirectResponse("/", 303, {"Cache-Control": "no-store"})
        response.set_cookie(
            cookie_name(services),
            session,
            max_age=int(SESSION_LIFETIME.total_seconds()),
            httponly=True,
            samesite="strict",
            # Any other name is reached through TLS (H21); plain http on loopback would lose a secure cookie.
            secure=request.url.scheme == "https" or not is_loopback_name(request.headers.get("host", "")),
        )
        return response

    return router
