"""A client of `/rpc` as any program could write one: answers by id, notifications kept in order of arrival.

The hard thing is losing the connection on purpose: every waiting call then fails with `Disconnected`.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

Json = dict[str, Any]
ANSWER_LIMIT_S = 60.0


class Disconnected(Exception):
    """The connection ended before the answer came."""


class Refusal(Exception):
    """A call was refused; `code` is the stable one of api.md."""

    def __init__(self, error: Json) -> None:
        super().__init__(f"{error['data']['code']}: {error['message']}")
        self.error = error
        self.code = str(error["data"]["code"])


@dataclass
class RpcClient:
    """One connection. Start `read()` as a task before the first call."""

    socket: ClientConnection
    events: list[Json] = field(default_factory=list)
    server: Json = field(default_factory=dict)
    on_event: Callable[[Json], None] | None = None
    _waiting: dict[int, "asyncio.Future[Json]"] = field(default_factory=dict)
    _last_id: int = 0

    async def read(self) -> None:
        """Take frames until the connection ends."""
        with suppress(ConnectionClosed):
            async for frame in self.socket:
                message = json.loads(frame)
                if message.get("method") == "plugin/client/event":
                    self.events.append(message["params"])
                    if self.on_event is not None:
                        self.on_event(message["params"])
                elif (waiting := self._waiting.pop(message["id"], None)) is not None and not waiting.done():
                    waiting.set_result(message)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(Disconnected())

    async def initialize(self) -> None:
        """Say hello; what the server answers is kept as `server`."""
        self.server = (await self.answer("initialize", HELLO))["result"]

    async def answer(self, method: str, params: object = None) -> Json:
        """Call a method of the host itself and return its whole answer, error or not."""
        self._last_id += 1
        frame_id = self._last_id
        waiting: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[frame_id] = waiting
        frame = {"jsonrpc": "2.0", "id": frame_id, "method": method, "params": {} if params is None else params}
        try:
            await self.socket.send(json.dumps(frame))
        except ConnectionClosed:
            self._waiting.pop(frame_id, None)
            raise Disconnected from None
        async with asyncio.timeout(ANSWER_LIMIT_S):
            return await waiting

    async def plugin(self, method: str, params: object = None, **envelope: object) -> Json:
        """Call a method of the plug-in `personal` and return its whole answer, error or not."""
        wanted = {"plugin_id": "personal", "method": method, "params": {} if params is None else params, **envelope}
        return await self.answer("plugin/client/request", wanted)

    async def call(self, method: str, params: Json | None = None, **envelope: object) -> Json:
        """Call a method of the plug-in that must succeed.

        Raises:
            Refusal: It was refused.
            Disconnected: Nobody knows whether it was accepted.
        """
        answer = await self.plugin(method, params, **envelope)
        if "error" in answer:
            raise Refusal(answer["error"])
        result: Json = answer["result"]
        return result

    async def error(self, method: str, params: object = None, **envelope: object) -> Json:
        """Call a method of the plug-in that must be refused."""
        answer = await self.plugin(method, params, **envelope)
        assert "error" in answer, answer
        error: Json = answer["error"]
        return error

    async def send(self, text: str, request_id: str, **user_input: object) -> Json:
        """Send an input into the main conversation and return its receipt."""
        session = {"session_id": self.server["main_session_id"]}
        sent = await self.call("agents.send", session, request_id=request_id, user_input={"text": text, **user_input})
        receipt: Json = sent["receipt"]
        return receipt

    async def history(self) -> list[Json]:
        """The whole main conversation, oldest first, read page by page."""
        messages: list[Json] = []
        while True:
            after = {"session_id": self.server["main_session_id"], "after_seq": messages[-1]["seq"] if messages else 0}
            page = await self.call("agents.history", {**after, "limit": 100})
            messages += page["items"]
            if not page["has_more"]:
                return messages

    async def listed(self, method: str, **filters: object) -> list[Json]:
        """All items of a list, read page by page."""
        items: list[Json] = []
        cursor: str | None = None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            page = await self.call(method, {**filters, "limit": 100, **more})
            items += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                return items

    def live_text(self, turn_id: str) -> str:
        """What a page that followed the notifications would show of a reply now (C4)."""
        text = ""
        for event in self.events:
            if event.get("turn_id") == turn_id:
                text = {"turn.reset": "", "turn.delta": text + event.get("text", "")}.get(event["topic"], text)
        return text


HELLO: Json = {"protocol_version": 1, "client": {"name": "blackbox", "version": "1"}}
