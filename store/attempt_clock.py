"""The clock of an attempt (T4): time in which it waits for a person is not counted."""

from domain.run import RunRef
from store.database import Transaction
from store.tables_work import AttemptRow


async def stand_still(tx: Transaction, run: RunRef) -> None:
    """The attempt begins to wait; waiting already, it goes on waiting."""
    attempt = await tx.session.get(AttemptRow, (run.task_id, run.requirement_version, run.attempt))
    if attempt is not None and attempt.waiting_since is None:
        attempt.waiting_since = tx.now


async def go_on(
    tx: Transaction, task_id: str | None, requirement_version: int | None, attempt_number: int | None
) -> None:
    """The attempt goes on; the time it waited is kept."""
    attempt = await tx.session.get(AttemptRow, (task_id, requirement_version, attempt_number))
    if attempt is not None and attempt.waiting_since is not None:
        attempt.waited_seconds += (tx.now - attempt.waiting_since).total_seconds()
        attempt.waiting_since = None
