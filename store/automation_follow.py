"""Telling an automation's firings that a task of it has ended (U4): posted in the transaction of that end."""

from sqlalchemy import select

from domain.automation_firing import FiringState
from store import outbox
from store.database import Transaction
from store.tables_automations import AutomationRunRow
from store.tables_work import TaskRow


async def tell_firings(tx: Transaction, task: TaskRow) -> None:
    """Have the firing that a task belongs to look at its end, and a buffered one see whether it is its turn."""
    if task.automation_id is None:
        return
    own = select(AutomationRunRow.run_id).where(
        AutomationRunRow.task_id == task.task_id,
        AutomationRunRow.state == FiringState.RAN.value,
        AutomationRunRow.ended_at.is_(None),
    )
    buffered = select(AutomationRunRow.run_id).where(
        AutomationRunRow.automation_id == task.automation_id, AutomationRunRow.state == FiringState.BUFFERED.value
    )
    # Two questions, each by its index: an automation may have had very many runs.
    for query in (own, buffered):
        for run_id in sorted(await tx.session.scalars(query)):
            outbox.post(tx, outbox.AUTOMATION_FOLLOW, run_id)
