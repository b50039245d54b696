"""How firings end and what follows (U7): outcomes, failures in a row, automations that pause themselves or are done."""

from sqlalchemy import select

from domain.attempt import AttemptState
from domain.automation import AUTOMATION, AutomationEvent, AutomationState
from domain.automation_firing import failures_after
from domain.refusal import accepted
from domain.task import TERMINAL, TaskState
from store import audit, changes, deliveries
from store.automations import TOPIC, announce
from store.database import Transaction
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_work import AttemptRow, TaskRow

FAILURES = "failures"
"""The reason of an automation that paused itself."""
_OUTCOMES = {AttemptState.SUCCEEDED: TaskState.COMPLETED, AttemptState.FAILED: TaskState.FAILED}


async def end_run(tx: Transaction, row: AutomationRow, run: AutomationRunRow, failures: int) -> bool:
    """Record how a run ended if its task has; whether it has ended, now or before (U7)."""
    if run.ended_at is not None:
        return True
    outcome = await _outcome(tx, run)
    if outcome is None:
        return False
    run.outcome, run.ended_at = outcome.value, tx.now
    changes.notify(tx, TOPIC)
    if outcome is TaskState.FAILED:
        await count_failure(tx, row, run, failures)
    else:
        row.failures = failures_after(row.failures, outcome.value)
    return True


async def count_failure(tx: Transaction, row: AutomationRow, run: AutomationRunRow, failures: int) -> None:
    """Count one more failure; at `failures` in a row an active automation pauses itself and says so (U7)."""
    row.failures = failures_after(row.failures, TaskState.FAILED.value)
    if row.failures < failures or row.state != AutomationState.ACTIVE.value:
        return
    await _advance(tx, row, AutomationEvent.PAUSE, "automation.pause_itself")
    row.reason = FAILURES
    await deliveries.open_notice(tx, row.automation_id, row.binding_revision, run.run_id)


async def finish(tx: Transaction, row: AutomationRow) -> None:
    """A one-off automation has had its time; it stays listed (U8)."""
    if row.state == AutomationState.ACTIVE.value:
        await _advance(tx, row, AutomationEvent.FINISH, "automation.finish")


async def _advance(tx: Transaction, row: AutomationRow, event: AutomationEvent, kind: str) -> None:
    row.state = accepted(AUTOMATION.advance(AutomationState(row.state), event)).value
    row.reason = None
    row.revision += 1
    row.updated_at = tx.now
    await tx.session.flush()
    announce(tx, row)
    details = {"state": row.state, "revision": row.revision, "failures": row.failures}
    await audit.record(tx, kind, row.automation_id, "allow", principal="host", details=details)


async def _outcome(tx: Transaction, run: AutomationRunRow) -> TaskState | None:
    task = await tx.session.get_one(TaskRow, run.task_id)
    if task.requirement_version == run.requirement_version:
        state = TaskState(task.state)
        return state if state in TERMINAL else None
    # Somebody resumed the task before this was looked at: how the run ended is what its last attempt says.
    query = (
        select(AttemptRow.state)
        .where(AttemptRow.task_id == run.task_id, AttemptRow.requirement_version == run.requirement_version)
        .order_by(AttemptRow.attempt.desc())
        .limit(1)
    )
    ended = AttemptState(await tx.session.scalar(query) or AttemptState.STOPPED.value)
    return _OUTCOMES.get(ended, TaskState.STOPPED)
