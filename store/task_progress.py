"""The progress of a task, for people (T16, T17): its last line, and that it is still at work."""

from datetime import timedelta

from domain.run import RunRef
from domain.task import TERMINAL, TaskState
from store import changes, run_events
from store.database import Transaction
from store.tasks import task_row

LINE_CHARACTERS = 500


async def report(tx: Transaction, run: RunRef, text: str) -> None:
    """Keep the executor's own line."""
    task = await task_row(tx, run.task_id or "")
    task.progress = " ".join(text.split())[:LINE_CHARACTERS]
    await _seen_working(tx, run)


async def working(tx: Transaction, run: RunRef, *, every: timedelta) -> None:
    """Note that a model or engine is still at work, at most once in `every`."""
    task = await task_row(tx, run.task_id or "")
    if TaskState(task.state) in TERMINAL:
        return
    if task.progress_at is None or tx.now - task.progress_at >= every:
        await _seen_working(tx, run)


async def _seen_working(tx: Transaction, run: RunRef) -> None:
    task = await task_row(tx, run.task_id or "")
    task.progress_at = tx.now
    await run_events.record(tx, run.run_id, "progress", "working", "Working", "running")
    changes.notify(tx, "tasks", task_id=task.task_id)
