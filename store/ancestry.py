"""Who descends from whom (S2, T13): computed at each check, never from a snapshot."""

from collections.abc import Sequence

from sqlalchemy import select

from domain.task import ACTIVE, TaskState
from store.database import Transaction
from store.tables_work import TaskRow

_STOPPED = (TaskState.STOPPING.value, TaskState.STOPPED.value)
DEPTH = 3
"""How deep sub-tasks go (T13)."""


async def family(tx: Transaction, task: TaskRow) -> list[TaskRow]:
    """The task and its descendants that belong to its current requirement version, the task first."""
    found, generation = [task], [task]
    for _ in range(DEPTH):
        parents = {row.task_id: row.requirement_version for row in generation}
        query = (
            select(TaskRow)
            .where(
                TaskRow.user_space == tx.scope.user_space,
                TaskRow.domain == tx.scope.domain,
                TaskRow.parent_task_id.in_(parents),
            )
            .order_by(TaskRow.task_id)
        )
        children = (await tx.session.scalars(query)).all()
        generation = [row for row in children if row.parent_requirement_version == parents[row.parent_task_id or ""]]
        found += generation
    return found


async def depth_of(tx: Transaction, task: TaskRow) -> int:
    """How many ancestors a task has."""
    depth, above = 0, task
    while above.parent_task_id is not None:
        above = await tx.session.get_one(TaskRow, above.parent_task_id)
        depth += 1
    return depth


async def stop_covers(tx: Transaction, task: TaskRow) -> bool:
    """Whether a stop covers the task: its own, or that of an ancestor (S2)."""
    above: TaskRow | None = task
    while above is not None:
        if above.state in _STOPPED:
            return True
        parent = above.parent_task_id
        above = None if parent is None else await tx.session.get(TaskRow, parent)
    return False


async def active_children(tx: Transaction, task_id: str) -> Sequence[TaskRow]:
    """The task's own sub-tasks that have not ended."""
    query = select(TaskRow).where(
        TaskRow.parent_task_id == task_id, TaskRow.state.in_([state.value for state in ACTIVE])
    )
    return (await tx.session.scalars(query)).all()
