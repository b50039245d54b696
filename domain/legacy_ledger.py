"""What the rows of a legacy review ledger become (E19): history, never a permission and never work to do.

Whatever still waited for somebody when the ledger was left has lost the one who asked; whatever was claimed may have
happened. Neither is decided here again.
"""

from enum import StrEnum

FILE_NAME = "personal-review.sqlite"
SCHEMA_VERSION = 1
AUTO_REVIEW = "auto_review"
KIND_PREFIX = "legacy"
"""Kinds of audit rows about a legacy ledger are this word, or begin with it and a full stop."""


class LegacyState(StrEnum):
    """States of an action of the ledger."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CLAIMED = "claimed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


def imported_state(state: LegacyState, outcome: object) -> LegacyState:
    """The state under which an action is kept.

    Args:
        state: What the ledger says.
        outcome: The action's parsed outcome; None when there is none or it is not readable.
    """
    if state is LegacyState.PENDING:
        return LegacyState.EXPIRED
    if state is not LegacyState.CLAIMED:
        return state
    success = outcome.get("ok") if isinstance(outcome, dict) else None
    if success is True:
        return LegacyState.SUCCEEDED
    return LegacyState.FAILED if success is False else LegacyState.UNKNOWN


def chosen_review(value: str) -> bool:
    """Whether a ledger's `auto_review` asks for the automatic review; all but a clear yes keeps asking the person."""
    return value.strip().lower() in {"on", "true", "1"}


def is_imported(kind: str) -> bool:
    """Whether an audit row of this kind came from a legacy ledger, or tells of its import."""
    return kind == KIND_PREFIX or kind.startswith(f"{KIND_PREFIX}.")
