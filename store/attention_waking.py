"""Having agents' news looked at again: after a change of settings (N8, N12), and at the host's start (N10)."""

from sqlalchemy import select

from store import outbox
from store.database import Transaction
from store.tables_attention import AttentionGroupRow

UNSETTLED = ("open", "due")


async def look_at_held(tx: Transaction) -> None:
    """Quiet hours may have ended by a choice: every group that they hold is looked at now, not at their old end."""
    for agent_id in await _agents(tx, held=True):
        outbox.post(tx, outbox.ATTENTION_LOOK, agent_id)


async def look_at_all(tx: Transaction) -> None:
    """Have everything that is not settled looked at: its workflows may have been lost with Temporal's database."""
    for agent_id in await _agents(tx, held=False):
        outbox.post(tx, outbox.ATTENTION_LOOK, agent_id)


async def _agents(tx: Transaction, *, held: bool) -> list[str]:
    query = (
        select(AttentionGroupRow.agent_id)
        .where(
            AttentionGroupRow.user_space == tx.scope.user_space,
            AttentionGroupRow.domain == tx.scope.domain,
            AttentionGroupRow.state.in_(UNSETTLED),
        )
        .distinct()
        .order_by(AttentionGroupRow.agent_id)
    )
    if held:
        query = query.where(AttentionGroupRow.state == "open", AttentionGroupRow.held)
    return list(await tx.session.scalars(query))
