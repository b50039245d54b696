"""One WebSocket connection from handshake to close (H9-H14).

Three things run side by side: reading frames, carrying out calls, and writing from the bounded queue. The first reason
to close wins; calls that were accepted by then go on without the client.
"""

import asyncio
from contextlib import suppress
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from host.broadcaster import Seat
from host.call import ForegroundPermission
from host.principal import Principal
from host.rpc.dispatch import answer
from host.rpc.errors import INVALID_REQUEST, error_object
from host.rpc.framing import MAX_FRAME_BYTES, Malformed, Request, parse
from host.rpc.outgoing import Frame, encode
from host.rpc.peer import Peer
from host.services import Services

NORMAL: Final = 1000
GONE: Final = 1006
OVERFLOW: Final = 1008
TOO_BIG: Final = 1009
BUSY: Final = 1013
MAX_PENDING: Final = 64
"""Calls of one connection that are carried out at once; a client that sends more is read later."""
CLOSING_S: Final = 5.0


class Connection:
    """Serves one authenticated client."""

    def __init__(self, websocket: WebSocket, principal: Principal, services: Services, connection_id: str) -> None:
        self._websocket = websocket
        self._services = services
        self._closing: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._peer = Peer(connection_id, principal, Seat(self._close_with))
        self._room = asyncio.Semaphore(MAX_PENDING)
        self._calls: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Accept the handshake and serve until the first reason to close."""
        await self._websocket.accept()
        seat = self._peer.seat
        if not self._services.broadcaster.enter(seat):
            await self._websocket.close(BUSY, "All connections are in use.")
            return
        parts = [asyncio.create_task(part) for part in (self._read(), self._write(), self._watch_overflow())]
        try:
            code = await self._closing
        finally:
            seat.initialised = False
            self._services.broadcaster.leave(seat)
            self._peer.revoke_all()
        await self._end(code, parts)

    async def _end(self, code: int, parts: list[asyncio.Task[None]]) -> None:
        if code == NORMAL:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSING_S):
                    await self._peer.seat.outgoing.drained()
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)
        self._peer.seat.outgoing.clear()
        if code != GONE:
            # A client that does not read cannot be told why; then the transport ends without a word.
            with suppress(TimeoutError, RuntimeError, WebSocketDisconnect):
                async with asyncio.timeout(CLOSING_S):
                    await self._websocket.close(code)
        if self._calls:
            await asyncio.wait(self._calls, timeout=CLOSING_S)

    def _close_with(self, code: int) -> None:
        if not self._closing.done():
            self._closing.set_result(code)

    async def _read(self) -> None:
        while True:
            message = await self._websocket.receive()
            if message["type"] == "websocket.disconnect":
                self._close_with(GONE)
                return
            frame = message.get("text")
            size = len(message.get("bytes") or b"") if frame is None else _utf8_length(frame)
            if size > MAX_FRAME_BYTES:
                self._close_with(TOO_BIG)
                return
            await self._take(frame)

    async def _take(self, frame: str | None) -> None:
        if frame is None:
            words = "Frames are text, not binary."
            self._put(encode({"jsonrpc": "2.0", "id": None, "error": error_object(
                INVALID_REQUEST, words, "invalid_params")}))  # fmt: skip
            return
        parsed = parse(frame)
        if isinstance(parsed, Request) and parsed.id in self._peer.pending:
            words = "A call with this id is still running on this connection."
            parsed = Malformed(None, error_object(INVALID_REQUEST, words, "invalid_params"))
        if isinstance(parsed, Malformed):
            self._put(encode({"jsonrpc": "2.0", "id": parsed.id, "error": parsed.error}))
            return
        permission = ForegroundPermission()
        self._peer.pending[parsed.id] = permission
        await self._room.acquire()
        task = asyncio.create_task(self._carry_out(parsed, permission))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _carry_out(self, request: Request, permission: ForegroundPermission) -> None:
        try:
            reply = await answer(self._services, self._peer, request, permission)
        finally:
            self._room.release()
            self._peer.pending.pop(request.id, None)
        self._put(encode(reply))
        if request.method == "initialize" and "result" in reply:
            # What is being written right now follows the answer at once; nothing can come between (C4).
            for live in self._services.live_replies:
                self._services.broadcaster.catch_up(self._peer.seat, live.turn_id, live.text)
        if self._peer.leaving:
            self._close_with(NORMAL)

    def _put(self, frame: Frame) -> None:
        if not self._closing.done():
            self._peer.seat.outgoing.put(frame)

    async def _write(self) -> None:
        outgoing = self._peer.seat.outgoing
        with suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await self._websocket.send_text((await outgoing.take()).text)
        self._close_with(GONE)

    async def _watch_overflow(self) -> None:
        await self._peer.seat.outgoing.overflowed.wait()
        self._services.broadcaster.slow_disconnects += 1
        self._close_with(OVERFLOW)


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
