"""Waiting for a person: a task shows it and its clock stands still (T3, T4), a parked turn is continued (C1)."""

from domain.refusal import Refusal
from domain.task import TASK, TaskEvent, TaskState
from store import tasks
from store.attempt_clock import go_on, stand_still
from store.database import Transaction
from store.run_standing import run_standing
from store.tables_authority import EffectRow
from store.turns import queue_continuation


async def begin_waiting(tx: Transaction, effect: EffectRow, event: TaskEvent) -> None:
    """Show that the effect's task waits, for a card (`propose`) or a grant (`lack_authorization`); stop its clock."""
    if effect.task_id is None:
        return
    task = await tasks.task_row(tx, effect.task_id)
    if isinstance(TASK.advance(TaskState(task.state), event), Refusal):
        return
    tasks.advance(tx, task, event)
    await stand_still(tx, tasks.run_of(task))


async def end_waiting(tx: Transaction, effect: EffectRow) -> None:
    """Let the run go on after a decision, a denial, an expiry or an invalidation.

    A stopping or ended task stays what it is; the time it waited is not counted in any case (T4).
    """
    if effect.task_id is None:
        if (await run_standing(tx, effect)).parked:
            await queue_continuation(tx, run_id=effect.run_id, effect_id=effect.effect_id)
        return
    await go_on(tx, effect.task_id, effect.requirement_version, effect.attempt)
    task = await tasks.task_row(tx, effect.task_id)
    if task.state in (TaskState.WAITING_APPROVAL, TaskState.WAITING_AUTHORIZATION):
        tasks.advance(tx, task, TaskEvent.GO_ON)
