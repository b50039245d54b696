"""Approval cards (E9-E11): opening one, and closing it when what it was about is gone."""

from datetime import timedelta

from domain.approval import APPROVAL, ApprovalEvent, ApprovalState
from domain.refusal import Refusal
from store import attention, changes
from store.database import Transaction
from store.tables_authority import ApprovalRow, EffectRow
from store.tables_work import TaskRow


async def open_card(tx: Transaction, effect: EffectRow, expiry_s: float) -> ApprovalRow:
    """Ask a person about exactly this action.

    Args:
        tx: the unit of work.
        effect: the effect; its action digest is what the decision will be about.
        expiry_s: after how many seconds a hidden task's card expires; the conversation's cards never do (E11).
    """
    card = ApprovalRow(
        approval_id=tx.new_id("approval"),
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        effect_id=effect.effect_id,
        action_digest=effect.action_digest,
        version=1,
        state=ApprovalState.PENDING.value,
        created_at=tx.now,
        expires_at=None if effect.task_id is None else tx.now + timedelta(seconds=expiry_s),
    )
    tx.session.add(card)
    await tx.session.flush()
    changes.notify(tx, "approvals", approval_id=card.approval_id)
    if effect.task_id is not None:
        # Of the conversation's own cards the person reads in the reply; a hidden task has only this way (N1).
        task = await tx.session.get_one(TaskRow, effect.task_id)
        await attention.card_opened(tx, card, task.agent_id)
    return card


def close_card(tx: Transaction, card: ApprovalRow, event: ApprovalEvent, reason: str | None = None) -> bool:
    """Invalidate or expire a card; False when that changes nothing, as for a late timer (E10)."""
    following = APPROVAL.advance(ApprovalState(card.state), event)
    if isinstance(following, Refusal):
        return False
    card.state = following.value
    card.reason = reason
    card.version += 1
    changes.notify(tx, "approvals", approval_id=card.approval_id)
    return True
