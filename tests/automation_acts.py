"""What times and ends of tasks do to automations in tests: one transaction each; what people do is automation_owner."""

from datetime import datetime
from typing import Any

from sqlalchemy import select

from domain.run import RunRef
from domain.task import TERMINAL, TaskState
from store import automation_recovery, automation_runs, automations, stop_progress, stops, tasks
from store.automation_runs import NATIVE_RULES, FiringRules
from store.database import Transaction
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_work import TaskRow
from tests.control_plane import Plane


async def fired(
    plane: Plane, row: AutomationRow, nominal_time: datetime, rules: FiringRules = NATIVE_RULES
) -> AutomationRunRow:
    """The firing of a nominal time of the row's schedule revision."""
    async with plane.database.write(plane.scope) as tx:
        return await automation_runs.fire(tx, row.automation_id, nominal_time, row.schedule_revision, rules)


async def triggered(plane: Plane, automation_id: str) -> AutomationRunRow:
    """A firing by hand."""
    async with plane.database.write(plane.scope) as tx:
        return await automation_runs.trigger(tx, await automations.automation_row(tx, automation_id), "owner")


async def concluded(plane: Plane, run: AutomationRunRow, rules: FiringRules = NATIVE_RULES) -> AutomationRunRow:
    """A look at the end of a run."""
    async with plane.database.write(plane.scope) as tx:
        return await automation_runs.conclude(
            tx, run.automation_id, run.nominal_time, run.schedule_revision, rules
        )  # fmt: skip


async def caught_up(plane: Plane, rules: FiringRules = NATIVE_RULES) -> None:
    """What a host does when it looks for times that were passed over."""
    async with plane.database.write(plane.scope) as tx:
        for row in await automation_recovery.active_automations(tx):
            if automation_recovery.is_passed_over(row, tx.now):
                await automation_recovery.catch_up(tx, row.automation_id, rules)


async def end_task(plane: Plane, run: AutomationRunRow, outcome: str) -> None:
    """End the task of a run: completed, failed or stopped."""
    async with plane.database.write(plane.scope) as tx:
        await _end(tx, await tasks.begin(tx, run.task_id or ""), outcome, plane.request_id())


async def _end(tx: Transaction, task: TaskRow, outcome: str, request_id: str) -> None:
    own: RunRef = tasks.run_of(task)
    if outcome == "completed":
        await tasks.succeed(tx, own, "done", [])
    elif outcome == "failed":
        await tasks.fail(tx, own, "model_unavailable")
    else:
        _, intent = await stops.accept_stop(tx, task.task_id, request_id, "owner")
        await stop_progress.stop_attempt(tx, own)
        await stop_progress.reconcile(tx, intent.intent_id)


async def ran(
    plane: Plane, row: AutomationRow, nominal_time: datetime, outcome: str, rules: FiringRules = NATIVE_RULES
) -> AutomationRunRow:
    """A firing that ran and has ended so."""
    run = await fired(plane, row, nominal_time, rules)
    await end_task(plane, run, outcome)
    return await concluded(plane, run, rules)


async def runs_of(plane: Plane, automation_id: str) -> list[AutomationRunRow]:
    """All records of an automation, in the order of their times."""
    query = select(AutomationRunRow).where(AutomationRunRow.automation_id == automation_id)
    async with plane.database.read(plane.scope) as tx:
        return list(await tx.session.scalars(query.order_by(AutomationRunRow.nominal_time)))


async def active_tasks(plane: Plane, automation_id: str) -> list[TaskRow]:
    """The tasks of an automation that have not ended."""
    rows = await plane.rows(TaskRow, TaskRow.automation_id == automation_id)
    return [row for row in rows if TaskState(row.state) not in TERMINAL]


async def set_columns(plane: Plane, automation_id: str, **columns: Any) -> AutomationRow:
    """The row with other values and nothing told: for what time or another version has made of it."""
    async with plane.database.write(plane.scope) as tx:
        row = await automations.automation_row(tx, automation_id, deleted=True)
        for name, value in columns.items():
            setattr(row, name, value)
        return row
