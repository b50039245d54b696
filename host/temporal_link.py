"""This host's connection to Temporal: absent at first, kept trying for, and asked whether it still answers.

A host serves and accepts without it (C2); only what has to reach Temporal waits.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final
from urllib.parse import quote

from temporalio.api.workflowservice.v1 import GetSystemInfoRequest
from temporalio.client import Client
from temporalio.service import RPCError

from domain.refusal import Refused
from runtime.settings import LOOPBACK, Settings

RETRY_S: Final = 0.5
LONGEST_RETRY_S: Final = 5.0
PROBE_TIMEOUT: Final = timedelta(seconds=2)


class TemporalLink:
    """Connects once, in the background."""

    def __init__(self, settings: Settings, connect: Callable[[], Awaitable[Client]]) -> None:
        self._settings = settings
        self._connect = connect
        self._connected: asyncio.Future[Client] = asyncio.get_running_loop().create_future()

    async def run(self) -> Client:
        """Try until the first connection is made; the client reconnects by itself afterwards."""
        wait_s = RETRY_S
        while True:
            try:
                client = await self._connect()
            except Refused:
                await asyncio.sleep(wait_s)
                wait_s = min(LONGEST_RETRY_S, wait_s * 2)
            else:
                self._connected.set_result(client)
                return client

    async def client(self) -> Client:
        """The client, as soon as there is one."""
        return await asyncio.shield(self._connected)

    async def answers(self) -> bool:
        """Whether Temporal answers now."""
        if not self._connected.done():
            return False
        try:
            await self._connected.result().workflow_service.get_system_info(
                GetSystemInfoRequest(), timeout=PROBE_TIMEOUT, retry=False
            )
        except (RPCError, RuntimeError):
            return False
        return True

    def workflow_url(self, workflow_id: str) -> str | None:
        """Where the embedded Temporal UI shows a workflow (T16); None for an external server, whose UI is not known."""
        settings = self._settings
        if not settings.embedded_temporal:
            return None
        place = f"namespaces/{quote(settings.temporal_namespace, safe='')}/workflows/{quote(workflow_id, safe='')}"
        return f"http://{LOOPBACK}:{settings.temporal_ui_port}/{place}"
