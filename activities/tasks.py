"""The rows behind a task's workflows."""

from temporalio import activity

from activities.hints import Hints
from activities.scopes import scope_of
from contracts.names import stop_workflow
from contracts.starting import attempt_start
from contracts.tasks import AttemptEnd, TaskActivities, TaskRef, TaskStatus
from domain.refusal import Refused
from domain.task import TERMINAL, TaskState
from store import deliveries, stop_progress, tasks
from store.database import Database
from store.stops import intents_covering


class TaskWork(TaskActivities):
    """The task's activities over the control plane."""

    def __init__(self, database: Database, hints: Hints) -> None:
        self._database = database
        self._hints = hints

    @activity.defn(name="task.begin")
    async def begin(self, task: TaskRef) -> TaskStatus:
        """Begin the task's current attempt if it waits to begin, and read how the task stands."""
        async with self._database.write(scope_of(task)) as tx:
            row = await tasks.begin(tx, task.task_id)
            terminal = TaskState(row.state) in TERMINAL
            attempt = None if terminal else tasks.run_of(row)
            status = TaskStatus(
                state=row.state, terminal=terminal, open_deliveries=await deliveries.open_count(tx, task.task_id)
            )
        if attempt is not None:
            await self._hints.start(attempt_start(attempt))
        return status

    @activity.defn(name="attempt.end")
    async def end_attempt(self, end: AttemptEnd) -> str:
        """Store the attempt's failure if nothing ended it yet, tell the task's workflow, return the attempt's state."""
        async with self._database.write(scope_of(end.run)) as tx:
            if end.reason is not None:
                try:
                    async with tx.session.begin_nested():
                        await tasks.fail(tx, end.run, end.reason)
                except Refused as refused:
                    # Something else ended it first: a result, a stop, a newer requirement. That stands (I7).
                    activity.logger.info("attempt had ended: %s", refused.refusal.code)
            attempt = await tasks.attempt_row(tx, end.run)
            task = await tasks.task_row(tx, end.run.task_id or "")
            if task.state == TaskState.STOPPING.value:
                await stop_progress.stop_attempt(tx, end.run)
            state, stops = attempt.state, await intents_covering(tx, task.task_id)
        for intent_id in stops:
            await self._hints.tell(stop_workflow(intent_id), "look")
        await self._hints.task_changed(task.task_id, "attempt_ended")
        return state
