"""Watching the commands of a machine (E15, S6, S11): each is ended when its run is, and its end gets into the rows.

A cancellation through Temporal waits for heartbeats and reaches no command that waits for input; the rows know at once.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import structlog

from activities.command_effect import stop_code
from activities.command_results import run_outcome
from activities.hints import Hints
from adapters.process_keeper import ProcessKeeper
from adapters.process_order import Kept
from contracts.names import stop_workflow
from domain.effect import ENDED, EffectState
from domain.process_end import Why, why_to_end
from domain.refusal import Refused
from store.database import Database, Scope, Transaction
from store.effect_ends import store_outcome
from store.effect_rows import effect_row
from store.processes import end_process, open_processes
from store.run_standing import run_standing
from store.stops import intents_covering
from store.tables_authority import EffectRow

POLL_S = 0.5
log = structlog.get_logger(__name__)


class CommandWatch:
    """Looks after the commands that one keeper keeps for one scope."""

    def __init__(self, database: Database, keeper: ProcessKeeper, hints: Hints, scope: Scope) -> None:
        self._database = database
        self._keeper = keeper
        self._hints = hints
        self._scope = scope

    async def recover(self) -> None:
        """Store that what a killed worker kept has ended; the keeper has seen to it that nothing of it runs."""
        touched = []
        async with self._database.write(self._scope) as tx:
            for effect in await open_processes(tx):
                kept_elsewhere = self._keeper.is_running(effect.effect_id)
                if not kept_elsewhere and await end_process(tx, effect, "runtime_restarted"):
                    touched.append(effect)
        await self._tell_stops(touched)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look_safely()
            await asyncio.sleep(POLL_S)

    async def look_safely(self) -> None:
        """Look once; whatever fails, the next look comes: a command that nobody watches could not be stopped."""
        try:
            await self.look()
        except Exception as error:
            log.warning("command_watch_failed", error=type(error).__name__)

    async def look(self) -> None:
        """Look once: end what must end, store what has ended."""
        await self._end_what_must()
        await self._store_ends()

    async def _end_what_must(self) -> None:
        running = [kept for kept in self._keeper.all() if not kept.finished.done()]
        if not running:
            return
        async with self._database.read(self._scope) as tx:
            reasons = [(kept, await self._why(tx, kept)) for kept in running]
        for kept, why in reasons:
            if why is not None:
                self._keeper.end(kept.order.name, why)

    async def _why(self, tx: Transaction, kept: Kept) -> Why | None:
        standing = await run_standing(tx, await effect_row(tx, kept.order.name))
        return why_to_end(
            stopped=standing.stopped,
            live=standing.live,
            interactive=kept.order.interactive,
            idle_s=self._keeper.idle_s(kept),
        )

    async def _store_ends(self) -> None:
        lost = [kept.order.name for kept in self._keeper.all() if kept.finished.done() and kept.order.interactive]
        names = sorted({*lost, *await asyncio.to_thread(self._keeper.recorded_ends)})
        if not names:
            return
        settled, touched = [], []
        async with self._database.write(self._scope) as tx:
            for name in names:
                with suppress(Refused):
                    effect = await effect_row(tx, name)
                    if effect.state not in ENDED:
                        continue
                    settled.append(name)
                    if await self._store_end(tx, effect, self._keeper.ended(name)):
                        touched.append(effect)
        for name in settled:
            self._keeper.forget(name)
            self._keeper.forget_record(name)
        await self._tell_stops(touched)

    async def _store_end(self, tx: Transaction, effect: EffectRow, record: dict[str, Any] | None) -> bool:
        """Store what a record says of an effect that has ended; whether a process that waited for input has."""
        if effect.state == EffectState.UNKNOWN and record is not None:
            # Whoever could not wait for the record has called it unknown (E13).
            await store_outcome(tx, effect, run_outcome(record, stop_code(effect)))
            return False
        how = record["how"] if record is not None else Why.RUNTIME
        codes = {
            Why.STOPPED: stop_code(effect), Why.IDLE: "limit_exceeded", Why.RUNTIME: "runtime_restarted",
            "abandoned": "runtime_restarted",
        }  # fmt: skip
        return await end_process(tx, effect, codes.get(how))

    async def _tell_stops(self, effects: Sequence[EffectRow]) -> None:
        """A stop waits for the processes it covers: tell it that one has ended (I6)."""
        for task_id in sorted({effect.task_id for effect in effects if effect.task_id is not None}):
            async with self._database.read(self._scope) as tx:
                intents = await intents_covering(tx, task_id)
            for intent_id in intents:
                await self._hints.tell(stop_workflow(intent_id), "look")
