"""Seeing a stop from inside a running step (S8, S11): one poll of the rows for all steps of a process.

A cancellation through Temporal waits for a heartbeat; the rows know at once (S1). So a model that hangs is let go of
within a second, whatever else is slow.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import structlog

from activities.scopes import scope_of
from domain.run import RunRef
from store.database import Database
from store.outage import AWAY
from store.stopped_runs import stopped_among

POLL_S = 0.5
log = structlog.get_logger(__name__)


class StopWatch:
    """Tells running steps that a stop covers their run."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._events: dict[RunRef, asyncio.Event] = {}
        self._watchers: Counter[RunRef] = Counter()
        self._polling: asyncio.Task[None] | None = None

    @contextmanager
    def watching(self, run: RunRef) -> Iterator[asyncio.Event]:
        """An event that is set as soon as a stop covers the run."""
        event = self._events.setdefault(run, asyncio.Event())
        self._watchers[run] += 1
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll())
        try:
            yield event
        finally:
            self._watchers[run] -= 1
            if not self._watchers[run]:
                del self._watchers[run]
                self._events.pop(run, None)

    async def _poll(self) -> None:
        while self._events:
            # First of all a pause: who begins to watch has just read the rows, and most steps end within it.
            await asyncio.sleep(POLL_S)
            with suppress(*AWAY):
                await self._look()

    async def _look(self) -> None:
        runs = list(self._events)
        for scope in {scope_of(run) for run in runs}:
            of_scope = [run for run in runs if scope_of(run) == scope]
            async with self._database.read_briefly(scope) as tx:
                stopped = await stopped_among(tx, of_scope)
            for run in stopped:
                if run in self._events:
                    self._events[run].set()
