"""A client of a running host: many calls at once over one WebSocket, and notifications as they come (H9, H13)."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import websockets
from ulid import ULID
from websockets.asyncio.client import ClientConnection

Json = dict[str, Any]
Listener = Callable[[Json, float], None]


class RpcClient:
    """One initialised connection. Listeners get each notification with the moment at which it was read."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._last_id = 0
        self.listeners: list[Listener] = []
        self.session_id = ""

    async def read(self) -> None:
        """Hand answers and notifications on until the connection ends."""
        async for text in self._socket:
            moment = time.perf_counter()
            message: Json = json.loads(text)
            if "method" in message:
                for listener in self.listeners:
                    listener(message["params"], moment)
            else:
                self._waiting.pop(message["id"]).set_result(message)

    async def request(self, method: str, params: Json) -> Json:
        """Send one request and return its result."""
        self._last_id += 1
        number = self._last_id
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        await self._socket.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        message = await answer
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']['data']['code']}")
        result: Json = message["result"]
        return result

    async def call(self, method: str, params: Json | None = None, **envelope: Any) -> Json:
        """Call a method of the plug-in `personal`."""
        wanted = {"plugin_id": "personal", "method": method, "params": params or {}, **envelope}
        return await self.request("plugin/client/request", wanted)

    async def send(self, text: str) -> Json:
        """Say something in the main conversation; the receipt."""
        said = {"text": text, "attachment_ids": []}
        answer = await self.call(
            "agents.send", {"session_id": self.session_id}, request_id=f"bench:{ULID()}", user_input=said
        )
        receipt: Json = answer["receipt"]
        return receipt

    async def create_task(self, instructions: str) -> str:
        """Create a task without a hand-over by the model; its id."""
        said = {"text": instructions, "attachment_ids": []}
        answer = await self.call(
            "agents.tasks.create", {"title": "Benchmark"}, request_id=f"bench:{ULID()}", user_input=said
        )
        return str(answer["task"]["task_id"])

    async def messages_after(self, seq: int) -> list[Json]:
        """A page of messages after a sequence."""
        answer = await self.call("agents.history", {"session_id": self.session_id, "after_seq": seq, "limit": 100})
        items: list[Json] = answer["items"]
        return items


@asynccontextmanager
async def connected(base: str, token: str) -> AsyncIterator[RpcClient]:
    """An initialised client of the host at this address."""
    uri = f"{base.replace('http', 'ws', 1)}/rpc"
    headers = {"Authorization": f"Bearer {token}"}
    async with websockets.connect(uri, additional_headers=headers, max_size=None, proxy=None) as socket:
        client = RpcClient(socket)
        reading = asyncio.create_task(client.read())
        try:
            said = {"protocol_version": 1, "client": {"name": "bench", "version": "1"}}
            client.session_id = (await client.request("initialize", said))["main_session_id"]
            yield client
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading


class Deliveries:
    """Waits for tasks' results to appear in the main conversation, by the host's notifications."""

    def __init__(self, client: RpcClient) -> None:
        self._client = client
        self._seen_seq = 0
        self._changed = asyncio.Event()
        self._arrived = asyncio.Event()
        self._waiting: dict[str, list[asyncio.Event]] = {}
        self.at: dict[str, float] = {}
        self.messages: dict[str, Json] = {}
        client.listeners.append(self._hear)

    def _hear(self, event: Json, _moment: float) -> None:
        if event["topic"] == "conversation":
            self._changed.set()

    async def follow(self) -> None:
        """Read new messages whenever there are some, until cancelled."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            while page := await self._client.messages_after(self._seen_seq):
                moment = time.perf_counter()
                self._seen_seq = page[-1]["seq"]
                for message in page:
                    if message["origin"] == "delivery":
                        task_id = message["delivery"]["task_id"]
                        self.at[task_id], self.messages[task_id] = moment, message
                        self._arrived.set()
                        for heard in self._waiting.pop(task_id, []):
                            heard.set()

    async def next(self) -> None:
        """Wait for one more delivery, whichever."""
        self._arrived.clear()
        await self._arrived.wait()

    async def of(self, task_id: str) -> Json:
        """Wait for a task's delivery; the message that brought it."""
        if task_id not in self.at:
            heard = asyncio.Event()
            self._waiting.setdefault(task_id, []).append(heard)
            await heard.wait()
        return self.messages[task_id]
