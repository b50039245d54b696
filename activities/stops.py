"""Driving a stop to its end (S3, S12): tell what still runs, settle what nobody runs any more."""

from temporalio import activity

from activities.hints import Hints
from activities.scopes import scope_of
from contracts.names import attempt_workflow
from contracts.stops import IntentRef, StopActivities, StopStatus
from domain.intent import IntentState
from domain.run import RunRef
from store import stop_progress
from store.database import Database


class StopWork(StopActivities):
    """The stop's activities over the control plane."""

    def __init__(self, database: Database, hints: Hints) -> None:
        self._database = database
        self._hints = hints

    @activity.defn(name="stop.reconcile")
    async def reconcile(self, intent: IntentRef) -> StopStatus:
        """Look what of the intent still runs, tell it, finish the intent when nothing does (S3, I6)."""
        async with self._database.write(scope_of(intent)) as tx:
            row, remaining, running = await stop_progress.reconcile(tx, intent.intent_id)
            done = row.state == IntentState.DONE.value
            state, covered = row.state, list(row.covered)
        for run in running:
            await self._tell(intent, run)
        if done:
            for task_id in covered:
                await self._hints.task_changed(task_id, "changed")
        return StopStatus(
            state=state,
            done=done,
            attempts=len(remaining.attempts),
            effects=len(remaining.effects),
            replies=len(remaining.replies),
        )

    async def _tell(self, intent: IntentRef, run: RunRef) -> None:
        """Tell an attempt; where no workflow runs it, nothing of it does, and it is stopped here."""
        name = attempt_workflow(run.task_id or "", run.requirement_version, run.attempt)
        if not await self._hints.told(name, "look"):
            async with self._database.write(scope_of(intent)) as tx:
                await stop_progress.stop_attempt(tx, run)
