"""A client of one host's `/rpc` with the owner's credential: initialise, verify the binding, call, hear (H1, H9, H11).

One task reads the socket; answers find their call, notifications wait in order. When the connection ends, every
waiting call and every listener is told so.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from domain.refusal import Refusal, Refused, refuse
from host.cli.failures import Unreachable
from host.cli.place import host_address, owner_token
from runtime.settings import Settings

PROTOCOL_VERSION: Final = 1
MAX_RECEIVED_BYTES: Final = 8 * 1024 * 1024
OPEN_LIMIT_S: Final = 30.0
CLOSED_BUSY: Final = 1013
Json = dict[str, Any]


class RpcClient:
    """One initialised connection. `session` is what `initialize` returned."""

    def __init__(self, socket: ClientConnection) -> None:
        self.session: Json = {}
        self._socket = socket
        self._last_id = 0
        self._pending: dict[int, asyncio.Future[Json]] = {}
        self._events: asyncio.Queue[Json | None] = asyncio.Queue()
        self._ended: Unreachable | None = None

    @property
    def main_session(self) -> str:
        """Id of the main conversation."""
        return str(self.session["main_session_id"])

    async def call(
        self,
        method: str,
        params: Mapping[str, object] | None = None,
        *,
        request_id: str | None = None,
        user_input: Mapping[str, object] | None = None,
    ) -> Json:
        """Call a method of the plug-in `personal` and return its result.

        Raises:
            Refused: With the host's code and words.
            Unreachable: When the connection ended first; a write may have been accepted all the same (H11).
        """
        envelope: Json = {"plugin_id": "personal", "method": method, "params": dict(params or {})}
        envelope |= {"graph_generation": self.session["composition"]["graph_generation"]}
        if request_id is not None:
            envelope["request_id"] = request_id
        if user_input is not None:
            envelope["user_input"] = dict(user_input)
        return await self.request("plugin/client/request", envelope)

    async def request(self, method: str, params: Mapping[str, object]) -> Json:
        """Call one of the host's own methods; errors as in `call`."""
        if self._ended is not None:
            raise self._ended
        self._last_id += 1
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._pending[self._last_id] = waiting
        frame = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": dict(params)}
        # The reading task learns of a closed socket too, and tells every waiting call why.
        with suppress(ConnectionClosed):
            await self._socket.send(json.dumps(frame))
        answer = await waiting
        if "error" in answer:
            raise _refused(answer["error"])
        result: Json = answer["result"]
        return result

    async def event(self) -> Json:
        """Wait for the next notification.

        Raises:
            Unreachable: When the connection has ended and every earlier notification was taken.
        """
        event = await self._events.get()
        if event is None:
            raise self._ended or Unreachable("The connection ended.")
        return event

    async def read(self) -> None:
        """Read until the connection ends."""
        code = None
        try:
            async for frame in self._socket:
                self._take(json.loads(frame))
            code = self._socket.close_code
        except ConnectionClosed as closed:
            code = None if closed.rcvd is None else closed.rcvd.code
        busy = code == CLOSED_BUSY
        words = "All 16 connections of the host are in use; close one." if busy else "The host closed the connection."
        self._ended = Unreachable(words)
        for waiting in self._pending.values():
            if not waiting.done():
                waiting.set_exception(self._ended)
        self._events.put_nowait(None)

    def _take(self, message: Json) -> None:
        if message.get("method") == "plugin/client/event":
            self._events.put_nowait(message["params"])
            return
        waiting = self._pending.pop(message.get("id", 0), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(message)


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[RpcClient]:
    """Connect to the host of these settings, initialise and verify its binding (H1).

    Raises:
        Unreachable: When no host answers there, or was ever started here.
        Refused: `unauthorized` when it does not know the credential; `session_mismatch` when it is bound elsewhere.
    """
    socket = await _open(settings)
    client = RpcClient(socket)
    reading = asyncio.create_task(client.read())
    try:
        params = {"protocol_version": PROTOCOL_VERSION, "client": {"name": "steward-cli", "version": _version()}}
        client.session = await client.request("initialize", params)
        _verify(client.session, settings)
        yield client
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
        await socket.close()


async def _open(settings: Settings) -> ClientConnection:
    address = host_address(settings)
    headers = {"Authorization": f"Bearer {owner_token(settings)}"}
    try:
        return await connect(
            f"ws://{address}/rpc",
            additional_headers=headers,
            max_size=MAX_RECEIVED_BYTES,
            open_timeout=OPEN_LIMIT_S,
            proxy=None,
        )
    except InvalidStatus as error:
        if error.response.status_code == 401:
            words = f"The host at {address} does not know this owner's credential; it may serve another STEWARD_HOME."
            raise refuse("unauthorized", words) from None
        words = f"The server at {address} is no host of Steward (it answered {error.response.status_code})."
        raise Unreachable(f"{words} See STEWARD_PORT.") from None
    except TimeoutError:
        raise Unreachable(f"The host at {address} did not answer within {OPEN_LIMIT_S:.0f} s; try again.") from None
    except (OSError, InvalidHandshake):
        raise Unreachable(f"No host answers at {address}. Start it by `steward up`, or see STEWARD_PORT.") from None


def _verify(session: Json, settings: Settings) -> None:
    found = (session["user_space_id"], session["product_domain"])
    if found != (settings.user_space, settings.product_domain):
        wanted = f"{settings.user_space}/{settings.product_domain}"
        words = f"The host is bound to {found[0]}/{found[1]}, not to {wanted}: see STEWARD_USER_SPACE and STEWARD_PORT."
        raise refuse("session_mismatch", words)


def _refused(error: Json) -> Refused:
    details = {name: value for name, value in error.get("data", {}).items() if name != "code"}
    return Refused(Refusal(error.get("data", {}).get("code", "internal_error"), error.get("message", ""), details))


def _version() -> str:
    try:
        return version("steward")
    except PackageNotFoundError:
        return "0"
