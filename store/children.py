"""Sub-tasks (T13): created by a call of an attempt, which waits for their end."""

from sqlalchemy import func, select

from domain.refusal import refuse
from domain.run import RunRef
from store import run_steps, tasks
from store.ancestry import DEPTH, depth_of, stop_covers
from store.database import Transaction
from store.tables_work import TaskRow

PER_ATTEMPT = 16


async def delegate(tx: Transaction, run: RunRef, step: int, index: int, new: tasks.NewTask) -> TaskRow:
    """Create a sub-task of an attempt; the call waits for its end.

    Raises:
        Refused: `task_stopping` under a stop (S2), `stale_result` from an attempt that is not the current one,
            `invalid_params` beyond depth 3 or 16 per attempt.
    """
    parent, _attempt = await tasks.current(tx, run)
    if await stop_covers(tx, parent):
        raise refuse("task_stopping", "This task is being stopped; nothing new is begun.")
    depth = await depth_of(tx, parent)
    if depth >= DEPTH:
        raise refuse("invalid_params", "Sub-tasks go at most 3 deep. Do this part yourself.", limit=DEPTH)
    count = await tx.session.scalar(
        select(func.count())
        .select_from(TaskRow)
        .where(
            TaskRow.parent_task_id == parent.task_id,
            TaskRow.parent_requirement_version == run.requirement_version,
            TaskRow.parent_attempt == run.attempt,
        )
    )
    if (count or 0) >= PER_ATTEMPT:
        raise refuse("invalid_params", "An attempt may delegate at most 16 sub-tasks.", limit=PER_ATTEMPT)
    _receipt, child = await tasks.accept_task(tx, new, f"task:{parent.task_id}")
    child.parent_task_id = parent.task_id
    child.parent_requirement_version, child.parent_attempt = run.requirement_version, run.attempt
    (await run_steps.call_row(tx, run.run_id, step, index)).child_task_id = child.task_id
    return child
