"""(c) Time to the first token on the page's WebSocket, against the model server's own (O16, C4)."""

import asyncio
import time

import httpx

from benchmarks.instance import Instance, steward
from benchmarks.report import Table, median, ms, p99, progress
from benchmarks.rpc_client import Json, RpcClient

REPLIES = 20
WARM_UP = 3
BAR_S = 0.060
SCRIPT = "[[say:one two three four five six seven eight]]"


async def run(rounds: int) -> Table:
    """Ask alternately by way of Steward and directly."""
    through: list[float] = []
    direct: list[float] = []
    added: list[float] = []
    async with (
        steward() as instance,
        instance.client() as client,
        httpx.AsyncClient(base_url=instance.model_url, trust_env=False) as http,
    ):
        replies = _Replies(instance, client)
        for _ in range(WARM_UP):
            await replies.first_token()
            await _direct(http)
        for number in range(rounds):
            progress(f"first token: round {number + 1} of {rounds}")
            page = [await replies.first_token() for _ in range(REPLIES)]
            own = [await _direct(http) for _ in range(REPLIES)]
            added.append(median(page) - median(own))
            through, direct = through + page, direct + own
    rows = [
        ("the model server's own", ms(median(direct)), ms(p99(direct)), "", ""),
        ("on the page's WebSocket, from `agents.send`", ms(median(through)), ms(p99(through)), "", ""),
        ("added at the median", ms(median(added)), "", f"{ms(min(added))} to {ms(max(added))}", ms(BAR_S)),
    ]
    notes = [f"{rounds} rounds of {REPLIES} replies each; the conversation is at rest before each of them."]
    return Table("(c) Time to the first token", ("", "median", "p99", "spread of rounds", "bar"), rows, notes)


class _Replies:
    """Sends inputs and hears of their first token and their end."""

    def __init__(self, instance: Instance, client: RpcClient) -> None:
        self._instance = instance
        self._client = client
        self._first: asyncio.Future[float] | None = None
        self._ended = asyncio.Event()
        client.listeners.append(self._hear)

    def _hear(self, event: Json, moment: float) -> None:
        if event["topic"] == "turn.delta" and self._first is not None and not self._first.done():
            self._first.set_result(moment)
        if event["topic"] == "turn.state" and event["state"] == "completed":
            self._ended.set()

    async def first_token(self) -> float:
        """Seconds from the send to the first piece of the reply; returns when all is at rest again."""
        self._first = asyncio.get_running_loop().create_future()
        self._ended.clear()
        start = time.perf_counter()
        await self._client.send(SCRIPT)
        taken = await self._first - start
        await self._ended.wait()
        await self._instance.rest()
        return taken


async def _direct(http: httpx.AsyncClient) -> float:
    """Seconds from the request to the first piece of text of the model server itself."""
    body = {"model": "fake-model", "stream": True, "messages": [{"role": "user", "content": SCRIPT}]}
    start = time.perf_counter()
    taken = None
    async with http.stream("POST", "/v1/chat/completions", json=body) as answer:
        async for line in answer.aiter_lines():
            if taken is None and '"content":' in line and '"content": ""' not in line:
                taken = time.perf_counter() - start
    assert taken is not None
    return taken
