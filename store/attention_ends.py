"""Forgetting news that was announced or dropped long ago; the message or card it was about has rows of its own."""

from datetime import timedelta
from typing import Final

from sqlalchemy import delete, select

from store.database import Transaction
from store.tables_attention import AttentionGroupRow, AttentionSendRow

KEPT_FOR: Final = timedelta(days=30)
AT_ONCE: Final = 1000


async def prune(tx: Transaction) -> None:
    """Forget the oldest groups that ended more than 30 days ago, with their sends; at most 1,000 a time."""
    query = (
        select(AttentionGroupRow.group_id)
        .where(
            AttentionGroupRow.user_space == tx.scope.user_space,
            AttentionGroupRow.domain == tx.scope.domain,
            AttentionGroupRow.closed_at < tx.now - KEPT_FOR,
        )
        .limit(AT_ONCE)
    )
    old = list(await tx.session.scalars(query))
    if not old:
        return
    await tx.session.execute(delete(AttentionSendRow).where(AttentionSendRow.group_id.in_(old)))
    await tx.session.execute(delete(AttentionGroupRow).where(AttentionGroupRow.group_id.in_(old)))
