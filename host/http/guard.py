"""What every request and handshake passes first: Host and Origin (H21), and what every answer carries.

It is the outermost layer, so it also keeps unexpected errors from being logged with their texts (I9).
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

import structlog
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from host.http.problems import problem
from host.locality import Caller, is_admitted

REFUSED: Final = "Local settings are available on localhost only"
_CODES: Final = {401: "unauthorized", 403: "local_only"}
log = structlog.get_logger()


class Guard:
    """Pure ASGI: refuses foreign names and origins with 403 `local_only` on every path, adds the security headers."""

    def __init__(self, app: ASGIApp, allowed_hosts: Collection[str], headers: Mapping[str, str]) -> None:
        self._app = app
        self._allowed_hosts = allowed_hosts
        self._headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, handshake or lifespan."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        started = False

        async def send_secured(message: Message) -> None:
            nonlocal started
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            if message["type"] == "websocket.http.response.start":
                # The server under this would call it an error of the application; it is its answer (H12, H21).
                log.warning("handshake_refused", code=_CODES.get(message["status"], str(message["status"])))
            started = started or message["type"] != "websocket.close"
            await send(message)

        caller = caller_of(HTTPConnection(scope))
        if caller is None or not is_admitted(caller, self._allowed_hosts):
            await _refuse(scope, receive, send_secured, problem("local_only", REFUSED))
            return
        try:
            await self._app(scope, receive, send_secured)
        except Exception as error:
            log.error("request_failed", error=type(error).__name__)
            if not started:
                await _refuse(scope, receive, send_secured, problem("internal_error", "The host failed."))


def caller_of(connection: HTTPConnection) -> Caller | None:
    """What a connection says about where it comes from; None when it says something twice."""
    hosts, origins = connection.headers.getlist("host"), connection.headers.getlist("origin")
    if len(hosts) > 1 or len(origins) > 1:
        return None
    peer = connection.client.host if connection.client else None
    return Caller(peer, hosts[0] if hosts else "", origins[0] if origins else None, connection.scope["scheme"])


async def _refuse(scope: Scope, receive: Receive, send: Send, response: Response) -> None:
    if scope["type"] == "http":
        await response(scope, receive, send)
    elif "websocket.http.response" in scope.get("extensions", {}):
        await response(_as_websocket(scope), receive, send)
    else:
        await send({"type": "websocket.close", "code": 1008})


def _as_websocket(scope: Scope) -> dict[str, Any]:
    return {**scope, "type": "websocket"}
