"""Deciding cards (E10, E11): decision, expiry and invalidation meet in one transaction, by the database's time."""

from dataclasses import dataclass

from domain import approval
from domain.approval import ApprovalEvent, ApprovalState
from domain.effect import BEFORE_CLAIM
from domain.refusal import Refusal, accepted, refuse
from store import audit, changes, outbox, receipts
from store.cards import close_card
from store.database import Transaction
from store.effect_ends import refuse_effect
from store.effect_rows import append_trail, effect_row, newest_card
from store.effect_waiting import end_waiting
from store.tables_authority import ApprovalRow, EffectRow
from store.tables_host import ReceiptRow

METHOD = "agents.approvals.decide"
_DENIED = Refusal("approval_denied", "The person denied this. Do not try it in another way; say so instead.")
_EXPIRED = Refusal("approval_expired", "Nobody decided in time. Propose it again if it is still wanted.")


@dataclass(frozen=True, slots=True)
class CardDecision:
    """What a person decided, and on what: the card's version and action digest as they were shown (E10)."""

    approval_id: str
    version: int
    action_digest: str
    decision: ApprovalEvent
    request_id: str


async def decide(tx: Transaction, made: CardDecision, principal: str) -> tuple[ReceiptRow, ApprovalRow]:
    """Decide a card, or return the receipt of the same request (I2); the run goes on either way (C1, E10).

    The caller has seen that `principal` is the owner of this user space.

    Raises:
        Refused: `not_found`, `approval_version_conflict`, `action_digest_mismatch`, `approval_expired`,
            `approval_invalidated` or `request_id_conflict`; nothing is stored then.
    """
    content = {
        "approval_id": made.approval_id,
        "version": made.version,
        "action_digest": made.action_digest,
        "decision": made.decision.value,
    }
    earlier = await receipts.repeated(tx, made.request_id, METHOD, content)
    card = await approval_row(tx, made.approval_id)
    if earlier is not None:
        return earlier, card
    if made.decision not in (ApprovalEvent.ALLOW_ONCE, ApprovalEvent.DENY):
        raise refuse("invalid_params", "decision is allow_once or deny.")
    state = approval.decide(
        ApprovalState(card.state),
        made.decision,
        version=card.version,
        named_version=made.version,
        digest=card.action_digest,
        named_digest=made.action_digest,
        expires_at=card.expires_at,
        now=tx.now,
        reason=card.reason,
    )
    card.state = accepted(state).value
    card.version += 1
    card.decided_by, card.decided_at = principal, tx.now
    effect = await effect_row(tx, card.effect_id)
    await _record(tx, effect, card, principal)
    receipt = await receipts.accept(tx, made.request_id, METHOD, content, principal=principal)
    receipt.subject_id, receipt.task_id, receipt.outcome = card.approval_id, effect.task_id, card.state
    return receipt, card


async def _record(tx: Transaction, effect: EffectRow, card: ApprovalRow, principal: str) -> None:
    allowed = card.state == ApprovalState.APPROVED
    await append_trail(tx, effect, "decision", card.state)
    await audit.record(
        tx, "approval", card.approval_id, "allow" if allowed else "deny", principal=principal,
        code=None if allowed else "approval_denied", action_digest=card.action_digest,
        details={"effect_id": effect.effect_id, "version": card.version},
    )  # fmt: skip
    changes.notify(tx, "approvals", approval_id=card.approval_id)
    if not allowed and effect.state in BEFORE_CLAIM:
        await refuse_effect(tx, effect, _DENIED)
    else:
        await end_waiting(tx, effect)
    outbox.post(tx, outbox.EFFECT_DECIDED, effect.effect_id)


async def expire(tx: Transaction, effect: EffectRow) -> bool:
    """Expire the effect's card if its time has passed and nobody decided; False when nothing changed (E10, E11)."""
    card = await newest_card(tx, effect.effect_id)
    if card is None or card.expires_at is None or tx.now < card.expires_at or effect.state not in BEFORE_CLAIM:
        return False
    if not close_card(tx, card, ApprovalEvent.EXPIRE, "approval_expired"):
        return False
    await append_trail(tx, effect, "decision", card.state, "approval_expired")
    await audit.record(
        tx, "approval", card.approval_id, "expired", principal="host", code="approval_expired",
        action_digest=card.action_digest, details={"effect_id": effect.effect_id},
    )  # fmt: skip
    await refuse_effect(tx, effect, _EXPIRED)
    return True


async def approval_row(tx: Transaction, approval_id: str) -> ApprovalRow:
    """A card of this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    card = await tx.session.get(ApprovalRow, approval_id)
    if card is None or (card.user_space, card.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such approval.")
    return card
