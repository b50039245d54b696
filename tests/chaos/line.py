"""One connection to a Steward that is being killed: every call is repeated until the host answers it.

Many people share it. The hard thing is that a lost connection is replaced once, by whoever notices first.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TypeVar

import httpx
import websockets

from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import Disconnected, Json, Refusal, RpcClient

T = TypeVar("T")
ANSWER_LIMIT_S = 180.0
AGAIN_S = 0.2
NOBODY_ANSWERS = (OSError, Disconnected, TimeoutError, websockets.WebSocketException, httpx.HTTPError)


class Stuck(Exception):
    """Something that must happen by itself did not happen in time."""


class Line:
    """A kept connection; `on_event` gets every notification."""

    def __init__(self, steward: Instance, on_event: Callable[[Json], None]) -> None:
        self._steward = steward
        self._on_event = on_event
        self._client: RpcClient | None = None
        self._open = AsyncExitStack()
        self._changing = asyncio.Lock()

    async def ask(self, question: Callable[[RpcClient], Awaitable[T]]) -> T:
        """Ask until somebody answers.

        Raises:
            Refusal: The host refused.
            Stuck: Nobody answered in time.
        """
        deadline = time.monotonic() + ANSWER_LIMIT_S
        while True:
            client: RpcClient | None = None
            try:
                client = await self._connected()
                return await question(client)
            except NOBODY_ANSWERS:
                await self._drop(client)
            except Refusal as refusal:
                if refusal.code != "orchestrator_unavailable":
                    raise
            if time.monotonic() > deadline:
                raise Stuck(f"the host answers nothing for {ANSWER_LIMIT_S:.0f} s")
            await asyncio.sleep(AGAIN_S)

    async def call(self, method: str, **params: object) -> Json:
        """Read something."""
        return await self.ask(lambda client: client.call(method, params))

    async def close(self) -> None:
        """Hang up."""
        await self._drop(self._client)

    async def _connected(self) -> RpcClient:
        async with self._changing:
            if self._client is None:
                stack = AsyncExitStack()
                self._client = await stack.enter_async_context(self._steward.client(self._on_event))
                self._open = stack
            return self._client

    async def _drop(self, client: RpcClient | None) -> None:
        async with self._changing:
            if client is not None and client is self._client:
                self._client = None
                await self._open.aclose()
