"""The WebSocket route `/rpc`: who has no credential is refused in the handshake and takes no seat (H12)."""

from fastapi import APIRouter, WebSocket

from host.http.problems import problem
from host.http.sign_in import authenticate
from host.rpc.connection import Connection
from host.services import Services


def rpc_router(services: Services) -> APIRouter:
    """The route of the JSON-RPC transport."""
    router = APIRouter()

    @router.websocket("/rpc")
    async def rpc(websocket: WebSocket) -> None:
        principal = await authenticate(services, websocket)
        if principal is None:
            await websocket.send_denial_response(problem("unauthorized", "A credential is needed to connect."))
            return
        await Connection(websocket, principal, services, services.database.ids("connection")).serve()

    return router
