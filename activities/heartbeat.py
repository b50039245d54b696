"""Beating while a long step works, so that a dead process is noticed and a cancellation heard."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from temporalio import activity

BEATS_PER_TIMEOUT = 3


@asynccontextmanager
async def beating(every_beat: Callable[[], Awaitable[None]] | None = None) -> AsyncIterator[None]:
    """Send heartbeats at a third of the activity's heartbeat time-out, calling `every_beat` with each."""
    timeout = activity.info().heartbeat_timeout if activity.in_activity() else None
    if timeout is None:
        # Nobody listens: a local activity, or a call outside of any.
        yield
        return
    beats = asyncio.create_task(_beat(timeout.total_seconds() / BEATS_PER_TIMEOUT, every_beat))
    try:
        yield
    finally:
        beats.cancel()
        with suppress(asyncio.CancelledError):
            await beats


async def _beat(pause_s: float, every_beat: Callable[[], Awaitable[None]] | None) -> None:
    while True:
        # The time-out counts from the start, so a step that is over before the first beat costs no call.
        await asyncio.sleep(pause_s)
        activity.heartbeat()
        if every_beat is not None:
            await every_beat()
