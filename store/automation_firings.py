"""The rows of firings (U5): one for each nominal time, and whether a task of the automation still runs."""

from datetime import datetime

from sqlalchemy import func, select

from domain.automation_firing import Due, FiringState, Reason, request_id_of
from domain.intent import IntentState
from domain.task import ACTIVE
from store import changes
from store.automations import TOPIC
from store.database import Transaction
from store.stops import intent_of
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_work import TaskRow

_ACTIVE_STATES = [state.value for state in ACTIVE]


async def firing_at(
    tx: Transaction, automation_id: str, nominal_time: datetime, schedule_revision: int
) -> AutomationRunRow | None:
    """The record of a nominal time: its own, or the one of many missed times that it is among."""
    own = select(AutomationRunRow).where(
        AutomationRunRow.automation_id == automation_id, AutomationRunRow.nominal_time == nominal_time
    )
    found = (await tx.session.scalars(own)).first()
    if found is not None:
        return found
    # Times of one schedule are decided in their order, so what is before a record of many has been decided; and what is
    # before one of an earlier schedule is not of this one, whatever revision Temporal started it with.
    among = (
        select(AutomationRunRow)
        .where(
            AutomationRunRow.automation_id == automation_id,
            AutomationRunRow.nominal_time > nominal_time,
            AutomationRunRow.schedule_revision <= schedule_revision,
            AutomationRunRow.count > 1,
        )
        .order_by(AutomationRunRow.nominal_time)
        .limit(1)
    )
    return (await tx.session.scalars(among)).first()


async def decided_after(tx: Transaction, automation_id: str, after: datetime) -> set[datetime]:
    """Nominal times after `after` that have records of their own: of a firing that was left out for an edit, say."""
    query = select(AutomationRunRow.nominal_time).where(
        AutomationRunRow.automation_id == automation_id, AutomationRunRow.nominal_time > after
    )
    return set((await tx.session.scalars(query)).all())


async def record(
    tx: Transaction, row: AutomationRow, due: Due, state: FiringState, reason: Reason | str | None, revision: int
) -> AutomationRunRow:
    """Write what became of a nominal time; `revision` is that of the schedule it belongs to."""
    run = AutomationRunRow(
        run_id=tx.new_id("run"), automation_id=row.automation_id, nominal_time=due.nominal_time,
        request_id=request_id_of(row.automation_id, due.nominal_time), cause=due.cause.value,
        state=state.value, reason=None if reason is None else str(reason), count=due.count,
        schedule_revision=revision, binding_revision=row.binding_revision, decided_at=tx.now,
        ended_at=tx.now if state in (FiringState.SKIPPED, FiringState.MISSED) else None,
    )  # fmt: skip
    tx.session.add(run)
    await tx.session.flush()
    changes.notify(tx, TOPIC)
    return run


async def has_active_task(tx: Transaction, row: AutomationRow) -> bool:
    """Whether a task of the automation has not ended (U4), or is the one to be resumed and its stop has not settled."""
    query = select(func.count()).where(
        TaskRow.user_space == tx.scope.user_space,
        TaskRow.domain == tx.scope.domain,
        # An expression: an automation may have had very many tasks, and few of them are active.
        TaskRow.automation_id.concat("") == row.automation_id,
        TaskRow.state.in_(_ACTIVE_STATES),
    )
    if await tx.session.scalar(query):
        return True
    task = await tx.session.get(TaskRow, row.task_id) if row.task_id is not None else None
    intent = await intent_of(tx, task) if task is not None else None
    return intent is not None and intent.state != IntentState.DONE.value


async def buffered_runs(tx: Transaction, automation_id: str) -> list[AutomationRunRow]:
    """Firings that wait for the one before them, oldest first; with `buffer_one` it is one."""
    query = select(AutomationRunRow).where(
        AutomationRunRow.automation_id == automation_id, AutomationRunRow.state == FiringState.BUFFERED.value
    )
    # Sorted here: in SQL it would be found by walking everything in order, and these are one or two.
    return sorted(await tx.session.scalars(query), key=lambda run: run.nominal_time)
