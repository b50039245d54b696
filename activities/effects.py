"""The path of one effect after its proposal (E12, E13, E18): gate, dispatch, reconciliation, report.

The hard thing is the dispatch that Temporal gave up: its thread may still be writing. Its lock says whether it lives;
only when it is free does reconciliation look at the world, and it never does the effect again (I4).
"""

import asyncio

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.authority import OutsideAuthority
from activities.heartbeat import beating
from activities.hints import Hints
from activities.performers import LongPerformer, Performer, Performers
from activities.scopes import scope_of
from adapters.dispatch_lock import DispatchLock, DispatchLocks
from contracts.effects import EffectActivities, EffectRef, EffectStatus
from contracts.options import DISPATCH_TIMEOUT
from domain.effect import BEFORE_CLAIM, ENDED, EffectState
from store import approvals, gate
from store.authority import OutsideAnswer
from store.database import Database, Transaction
from store.effect_ends import UNKNOWN, Outcome, store_outcome
from store.effect_rows import effect_row, newest_card
from store.gate import GateLimits, Outside
from store.reviews import review_wanted
from store.run_standing import run_standing
from store.tables_authority import EffectRow

LOOK_AGAIN_S = 0.5


class FileEffectActivities(EffectActivities):
    """An effect's activities on the machine that does it."""

    def __init__(
        self,
        database: Database,
        performer: Performer,
        locks: DispatchLocks,
        hints: Hints,
        limits: GateLimits,
        commands: LongPerformer | None = None,
        authority: OutsideAuthority | None = None,
    ) -> None:
        self._database = database
        self._authority = authority
        self._performers = Performers(performer, commands)
        self._locks = locks
        self._hints = hints
        self._limits = limits

    @activity.defn(name="effect.status")
    async def status(self, effect: EffectRef) -> EffectStatus:
        """Read the effect's state and its card's decision."""
        async with self._database.read_briefly(scope_of(effect)) as tx:
            return await _status(tx, await effect_row(tx, effect.effect_id))

    @activity.defn(name="effect.expire")
    async def expire(self, effect: EffectRef) -> EffectStatus:
        """Expire the effect's card if its time has passed and nobody decided; by database time (E10, E11)."""
        async with self._database.write(scope_of(effect)) as tx:
            row = await effect_row(tx, effect.effect_id)
            await approvals.expire(tx, row)
            return await _status(tx, row)

    @activity.defn(name="effect.gate")
    async def gate(self, effect: EffectRef) -> EffectStatus:
        """Decision, authorization and policy again, then the claim, in one transaction (E12, I3)."""
        async with beating():
            async with self._database.read_briefly(scope_of(effect)) as tx:
                seen = await effect_row(tx, effect.effect_id)
                if seen.state not in BEFORE_CLAIM:
                    # Claimed when it was proposed, or past: nothing is asked and nothing written.
                    return await _status(tx, seen)
            resource = await self._performers.policy(seen)
            asked = await self._ask_authority(effect)
            async with self._database.write(scope_of(effect)) as tx:
                row = await effect_row(tx, effect.effect_id)
                await gate.pass_gate(tx, row, Outside(resource, asked), self._limits)
                return await _status(tx, row)

    @activity.defn(name="effect.dispatch")
    async def dispatch(self, effect: EffectRef) -> EffectStatus:
        """Start the fresh claim in a transaction, do the effect once, store its outcome (E12). Never repeated (I4).

        The file is not looked at before the start, because hashing a large one would outlast the claim: the write
        itself walks the path and checks the precondition on the open descriptor (E4), and a no there fails the effect
        with nothing changed.
        """
        lock = self._locks.take(effect.effect_id)
        if lock is None:
            raise ApplicationError("a dispatch of this effect is alive", type="DispatchAlive", non_retryable=True)
        try:
            async with beating():
                row = await self._start(effect)
                if row is None:
                    return await self.status(effect)
                return await self._store(effect, await self._performers.perform(row))
        finally:
            lock.release()

    @activity.defn(name="effect.reconcile")
    async def reconcile(self, effect: EffectRef) -> EffectStatus:
        """Settle a dispatch that did not answer: withdraw an unstarted claim, else observe or call it unknown (E13).

        A dispatcher that still lives is waited for as long as a dispatch may take, and may store its outcome itself;
        after that the effect is unknown, and whoever learns more may still settle it.
        """
        async with self._database.write(scope_of(effect)) as tx:
            row = await effect_row(tx, effect.effect_id)
            await gate.release(tx, row)
            if row.state != EffectState.STARTED:
                return await _status(tx, row)
        async with beating():
            lock = await self._wait_for_lock(effect)
            try:
                outcome = UNKNOWN if lock is None else await self._performers.observe(row)
                return await self._store(effect, outcome)
            finally:
                if lock is not None:
                    lock.release()

    @activity.defn(name="effect.report")
    async def report(self, effect: EffectRef) -> None:
        """Tell the run that waits for the effect that it has ended."""
        async with self._database.read_briefly(scope_of(effect)) as tx:
            waiter = (await run_standing(tx, await effect_row(tx, effect.effect_id))).workflow_id
        if waiter is not None:
            await self._hints.tell(waiter, "effect_ended", effect.effect_id)

    async def _ask_authority(self, effect: EffectRef) -> OutsideAnswer | None:
        return None if self._authority is None else await self._authority.ask(effect.effect_id, scope_of(effect))

    async def _start(self, effect: EffectRef) -> EffectRow | None:
        # Asked again: the claim's answer may be as old as the claim, and older than an answer may be (A4).
        asked = await self._ask_authority(effect)
        async with self._database.write(scope_of(effect)) as tx:
            row = await effect_row(tx, effect.effect_id)
            return row if await gate.start(tx, row, Outside(authority=asked), self._limits) else None

    async def _store(self, effect: EffectRef, outcome: Outcome) -> EffectStatus:
        async with self._database.write(scope_of(effect)) as tx:
            row = await effect_row(tx, effect.effect_id)
            await store_outcome(tx, row, outcome)
            return await _status(tx, row)

    async def _wait_for_lock(self, effect: EffectRef) -> DispatchLock | None:
        for _ in range(int(DISPATCH_TIMEOUT.total_seconds() / LOOK_AGAIN_S)):
            lock = self._locks.take(effect.effect_id)
            if lock is not None:
                return lock
            await asyncio.sleep(LOOK_AGAIN_S)
        return None


async def _status(tx: Transaction, effect: EffectRow) -> EffectStatus:
    card = await newest_card(tx, effect.effect_id)
    return EffectStatus(
        state=effect.state,
        decision=card.state if card is not None else None,
        ended=effect.state in ENDED,
        expires_at=card.expires_at if card is not None else None,
        review_due=card is None and await review_wanted(tx, effect),
        kind=effect.kind,
    )
