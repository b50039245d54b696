"""The outbox relay (C2): what was accepted in SQL is told to Temporal, in order per subject, however long it is away.

One relay serves a user space (H4). The hard thing is telling an outage, which waits, from an entry that Temporal does
not take, which is put off alone: as long as anything gets through, it is the entry.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import structlog
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from domain.refusal import Refused
from host.pulse import Pulse
from host.relay_calls import Unknown, relay
from host.temporal_link import TemporalLink
from store import outbox
from store.database import Database, Scope
from store.outage import AWAY
from store.relay_queue import RelayEntry, admit, candidates

BATCH: Final = 200
SIDE_BY_SIDE: Final = 16
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0
LONGEST_DELAY_S: Final = 300.0
IDLE_S: Final = 1.0
"""Entries that were put off fall due without a commit, so an idle relay looks again after this long."""

_REFUSALS: Final = frozenset({
    RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.FAILED_PRECONDITION, RPCStatusCode.OUT_OF_RANGE,
    RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.ALREADY_EXISTS, RPCStatusCode.DATA_LOSS,
})  # fmt: skip
log = structlog.get_logger()


class Relay:
    """Relays until cancelled; only its own bookkeeping is lost with it, and repeating that is harmless."""

    def __init__(
        self,
        database: Database,
        scope: Scope,
        pulse: Pulse,
        temporal: TemporalLink,
        max_open_tasks: int,
        begin_turn: Callable[[Client], Awaitable[None]],
        sync_schedule: Callable[[Client, str], Awaitable[None]],
    ) -> None:
        self._database = database
        self._scope = scope
        self._follow = pulse.follow()
        self._temporal = temporal
        self._max_open_tasks = max_open_tasks
        self._begin_turn = begin_turn
        self._sync_schedule = sync_schedule
        self._side_by_side = asyncio.Semaphore(SIDE_BY_SIDE)

    async def run(self) -> None:
        """Relay for ever; no outage of Temporal or of the database ends it."""
        client = await self._temporal.client()
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                through, went_well = await self.relay_due(client)
            except AWAY as error:
                log.warning("relay_waits_for_database", error=type(error.orig).__name__)
                through, went_well = False, False
            if not went_well:
                await asyncio.sleep(pause_s)
                pause_s = min(LONGEST_PAUSE_S, pause_s * 2)
                continue
            pause_s = FIRST_PAUSE_S
            if not through:
                await self._until_due()

    async def relay_due(self, client: Client) -> tuple[bool, bool]:
        """Relay one batch; whether there was anything, and whether Temporal took at least part of it."""
        async with self._database.read_briefly(self._scope) as tx:
            entries = await candidates(tx, BATCH, self._max_open_tasks)
        if not entries:
            return False, True
        subjects = _by_subject(entries)
        outcomes = await asyncio.gather(*(self._relay_subject(client, subject) for subject in subjects))
        done = [entry for relayed, _, _ in outcomes for entry in relayed]
        refused = [(failed, error) for _, failed, error in outcomes if failed is not None]
        outage = not done and not any(_is_refusal(error) for _, error in refused)
        await self._record(done, [] if outage else refused)
        if outage:
            log.warning("relay_waits_for_temporal", waiting=len(entries))
        return True, not outage

    async def _relay_subject(
        self, client: Client, entries: Sequence[RelayEntry]
    ) -> tuple[list[RelayEntry], RelayEntry | None, Exception | None]:
        """Relay the entries of one subject in order, up to the first that fails."""
        relayed: list[RelayEntry] = []
        async with self._side_by_side:
            if entries[0].kind == outbox.CONVERSATION_WAKE:
                # One wake tells the conversation about everything that is queued by now.
                entries, rest = entries[-1:], list(entries[:-1])
            else:
                rest = []
            for entry in entries:
                try:
                    if entry.kind == outbox.CONVERSATION_WAKE:
                        # The conversation is told too: it follows whatever runs, and heals what was lost.
                        await self._begin_turn(client)
                    if entry.kind == outbox.AUTOMATION_SYNC:
                        await self._sync_schedule(client, entry.subject_id)
                    else:
                        await relay(client, self._scope, entry)
                except (RPCError, RuntimeError, ValueError, Refused, Unknown) as error:
                    return relayed, entry, error
                relayed.append(entry)
        return rest + relayed, None, None

    async def _record(self, done: list[RelayEntry], refused: list[tuple[RelayEntry, Exception | None]]) -> None:
        if not done and not refused:
            return
        async with self._database.write(self._scope) as tx:
            await outbox.done(tx, [entry.entry_id for entry in done])
            if started := [entry.task.task_id for entry in done if entry.task is not None]:
                await admit(tx, started)
            for entry, error in refused:
                await outbox.postpone(tx, entry.entry_id, min(LONGEST_DELAY_S, 2.0**entry.tries))
                log.warning(
                    "relay_entry_postponed", kind=entry.kind, subject=entry.subject_id, tries=entry.tries + 1,
                    error=type(error).__name__, status=_status(error),
                )  # fmt: skip

    async def _until_due(self) -> None:
        try:
            # Not wait_for: up to Python 3.11 it can swallow a cancellation that meets the event.
            async with asyncio.timeout(IDLE_S):
                await self._follow.wait()
        except TimeoutError:
            return
        self._follow.clear()


def _by_subject(entries: Sequence[RelayEntry]) -> list[list[RelayEntry]]:
    """Entries of one subject together, in order; all wakes of the conversation are one subject."""
    subjects: dict[str, list[RelayEntry]] = {}
    for entry in entries:
        key = entry.kind if entry.kind == outbox.CONVERSATION_WAKE else entry.subject_id
        subjects.setdefault(key, []).append(entry)
    return list(subjects.values())


def _is_refusal(error: Exception | None) -> bool:
    return error is not None and (not isinstance(error, RPCError) or error.status in _REFUSALS)


def _status(error: Exception | None) -> str | None:
    return error.status.name if isinstance(error, RPCError) else None
