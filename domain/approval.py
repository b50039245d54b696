"""The life of an approval card (E10, E11): one decision on one exact action, decided once."""

from datetime import datetime
from enum import StrEnum

from domain.refusal import Refusal
from domain.transitions import Lifecycle


class ApprovalState(StrEnum):
    """States of a card (api.md)."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    INVALIDATED = "invalidated"


class ApprovalEvent(StrEnum):
    """What can happen to a card."""

    ALLOW_ONCE = "allow_once"
    DENY = "deny"
    EXPIRE = "expire"
    INVALIDATE = "invalidate"


_S, _E = ApprovalState, ApprovalEvent

APPROVAL = Lifecycle[ApprovalState, ApprovalEvent](
    "card",
    {
        (_S.PENDING, _E.ALLOW_ONCE): _S.APPROVED,
        (_S.PENDING, _E.DENY): _S.DENIED,
        (_S.PENDING, _E.EXPIRE): _S.EXPIRED,
        (_S.PENDING, _E.INVALIDATE): _S.INVALIDATED,
        (_S.APPROVED, _E.INVALIDATE): _S.INVALIDATED,
    },
    {
        _S.APPROVED: "approval_version_conflict",
        _S.DENIED: "approval_version_conflict",
        _S.EXPIRED: "approval_expired",
        _S.INVALIDATED: "approval_invalidated",
    },
)


_INVALIDATED = {
    "stopped": "This card is no longer valid: its task or reply was stopped.",
    "precondition_changed": "This card is no longer valid: the file or program changed after it was shown.",
}


def decide(
    state: ApprovalState,
    event: ApprovalEvent,
    *,
    version: int,
    named_version: int,
    digest: str,
    named_digest: str,
    expires_at: datetime | None,
    now: datetime,
    reason: str | None = None,
) -> ApprovalState | Refusal:
    """Decide a card: the decision must name the card's digest and version, and come in time (E10, E11).

    Returns:
        The card's new state, or the refusal `approval_invalidated`, `approval_expired`, `action_digest_mismatch` or
        `approval_version_conflict`.
    """
    if state is _S.INVALIDATED:
        return Refusal(
            "approval_invalidated",
            _INVALIDATED.get(reason or "", "This card is no longer valid: what it was about has changed."),
            {"reason": reason},
        )
    if state is _S.EXPIRED or (state is _S.PENDING and expires_at is not None and now >= expires_at):
        return Refusal("approval_expired", "This card has expired; the task may propose the action again.")
    if digest != named_digest:
        return Refusal(
            "action_digest_mismatch", "The decision names another action than the card shows. Read it again."
        )
    if version != named_version or state is not _S.PENDING:
        decided = state is not _S.PENDING
        words = "This card was decided meanwhile." if decided else f"This card is at version {version}, not another."
        return Refusal("approval_version_conflict", f"{words} Read it again.", {"version": version})
    return APPROVAL.advance(state, event)
