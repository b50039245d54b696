"""When workers were last heard (`/readyz`)."""

from datetime import datetime

from sqlalchemy import func, select

from store.database import Transaction
from store.tables_host import WorkerRow


async def heard(tx: Transaction, worker_id: str, queue: str) -> None:
    """Note that a worker is alive."""
    row = await tx.session.get(WorkerRow, worker_id)
    if row is None:
        tx.session.add(WorkerRow(worker_id=worker_id, queue=queue, heard_at=tx.now))
    else:
        row.heard_at = tx.now


async def last_heard(tx: Transaction) -> datetime | None:
    """When any worker was heard last."""
    return await tx.session.scalar(select(func.max(WorkerRow.heard_at)))
