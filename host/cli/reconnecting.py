"""Keeps at a piece of work across lost connections: what it calls is repeated under the same request id (I2, H11)."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from host.cli.failures import Unreachable
from host.cli.rpc_client import RpcClient, connected
from runtime.settings import Settings

COME_BACK_WITHIN_S: Final = 60.0
RETRY_S: Final = 0.5
T = TypeVar("T")


async def reconnecting(
    settings: Settings,
    work: Callable[[RpcClient], Awaitable[T]],
    *,
    begun: Callable[[], bool],
    lost: Callable[[], None],
) -> T:
    """Do the work on a connection, and from its beginning on another one when that is lost.

    Args:
        settings: Whose host.
        work: Must be harmless to repeat.
        begun: Whether anything was accepted; before that a lost connection is a failure.
        lost: Called once for each time that the host goes away.

    Raises:
        Unreachable: When nothing was accepted, or the host stays away for a minute.
        Refused: What the work is refused.
    """
    lost_at: float | None = None
    while True:
        try:
            async with connected(settings) as client:
                lost_at = None
                return await work(client)
        except Unreachable:
            now = time.monotonic()
            if not begun() or (lost_at is not None and now - lost_at > COME_BACK_WITHIN_S):
                raise
            if lost_at is None:
                lost_at = now
                lost()
            await asyncio.sleep(RETRY_S)
