"""The lifecycles of effects, claims and cards, written down once more as tables (E10, E12, E13, I4, I7)."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest

from domain.approval import APPROVAL, ApprovalEvent, ApprovalState, decide
from domain.effect import BEFORE_CLAIM, EFFECT, ENDED, ClaimState, EffectEvent, EffectKind, EffectState
from domain.refusal import Refusal
from domain.transitions import Lifecycle
from tests.domain.refusal_words import assert_readable

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BEFORE = {"claim": "claimed", "refuse": "refused", "withdraw": "withdrawn"}

# Each state with the events it takes and where they lead; everything else is rejected.
EXPECTED: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "effect": {
        "proposed": {**BEFORE, "lack_authorization": "waiting_authorization", "ask": "waiting_decision"},
        "waiting_authorization": {**BEFORE, "ask": "waiting_decision"},
        "waiting_decision": {**BEFORE, "lack_authorization": "waiting_authorization"},
        "claimed": {"withdraw": "withdrawn", "release": "waiting_decision", "start": "started"},
        "started": {"succeed": "succeeded", "fail": "failed", "lose": "unknown"},
        "unknown": {"succeed": "succeeded", "fail": "failed"},
        "succeeded": {},
        "failed": {},
        "withdrawn": {},
        "refused": {},
    },
    "card": {
        "pending": {
            "allow_once": "approved", "deny": "denied", "expire": "expired", "invalidate": "invalidated"
        },
        "approved": {"invalidate": "invalidated"},
        "denied": {},
        "expired": {},
        "invalidated": {},
    },
}  # fmt: skip
LIFECYCLES: Mapping[str, tuple[Lifecycle[Any, Any], type[StrEnum], type[StrEnum]]] = {
    "effect": (EFFECT, EffectState, EffectEvent),
    "card": (APPROVAL, ApprovalState, ApprovalEvent),
}
CODES = {
    "approved": "approval_version_conflict", "denied": "approval_version_conflict", "expired": "approval_expired",
    "invalidated": "approval_invalidated",
}  # fmt: skip
PAIRS = [
    pytest.param(name, state, event, id=f"{name}-{state.value}-{event.value}")
    for name, (_, states, events) in LIFECYCLES.items()
    for state in states
    for event in events
]


@pytest.mark.parametrize(("name", "state", "event"), PAIRS)
def test_every_pair_of_state_and_event(name: str, state: StrEnum, event: StrEnum) -> None:
    """E10, E13, I7: what is in the table happens; all else is refused by state and event, with the wire's code."""
    lifecycle, states, _ = LIFECYCLES[name]
    assert {one.value for one in states} == set(EXPECTED[name])
    expected = EXPECTED[name][state.value].get(event.value)
    answer = lifecycle.advance(state, event)
    if expected is not None:
        assert answer == expected
        return
    assert isinstance(answer, Refusal)
    article = "An" if name == "effect" else "A"
    assert answer.message.startswith(f"{article} {name} that is {state.value} ")
    assert answer.code == (CODES if name == "card" else {}).get(state.value, "invalid_params")


def test_states_and_kinds_are_those_of_the_wire() -> None:
    """E1, E12, E13: names that rows and clients hold never change."""
    assert [one.value for one in EffectKind] == ["file", "command", "connector"]
    assert [one.value for one in ClaimState] == ["claimed", "started", "settled", "withdrawn"]
    assert BEFORE_CLAIM == ("proposed", "waiting_authorization", "waiting_decision")
    assert set(ENDED) == {"succeeded", "failed", "unknown", "withdrawn", "refused"}


def decided(**changes: Any) -> ApprovalState | Refusal:
    """A decision on a pending card that fits, but for what is named."""
    fitting: dict[str, Any] = {
        "state": ApprovalState.PENDING, "event": ApprovalEvent.ALLOW_ONCE, "version": 1, "named_version": 1,
        "digest": "a", "named_digest": "a", "expires_at": NOW + timedelta(seconds=1), "now": NOW,
    }  # fmt: skip
    return decide(**fitting | changes)


OTHER_DIGEST = {"named_digest": "b"}
LATE = {"expires_at": NOW}
OTHER_VERSION = {"named_version": 2}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"state": ApprovalState.INVALIDATED, **LATE, **OTHER_DIGEST, **OTHER_VERSION}, "approval_invalidated"),
        ({"state": ApprovalState.EXPIRED, "expires_at": None, **OTHER_DIGEST}, "approval_expired"),
        ({**LATE, **OTHER_DIGEST, **OTHER_VERSION}, "approval_expired"),
        ({**OTHER_DIGEST, **OTHER_VERSION}, "action_digest_mismatch"),
        ({"state": ApprovalState.APPROVED, **OTHER_DIGEST}, "action_digest_mismatch"),
        (OTHER_VERSION, "approval_version_conflict"),
        ({"named_version": 0}, "approval_version_conflict"),
        ({"state": ApprovalState.APPROVED}, "approval_version_conflict"),
        ({"state": ApprovalState.APPROVED, **LATE}, "approval_version_conflict"),
        ({"state": ApprovalState.DENIED, **LATE}, "approval_version_conflict"),
    ],
)
def test_the_first_reason_counts(changes: dict[str, Any], code: str) -> None:
    """E10, E11: a card that is void, over, another's or decided says which, in this order."""
    answer = decided(**changes)
    assert isinstance(answer, Refusal)
    assert answer.code == code
    assert_readable(answer)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (OTHER_VERSION, "This card is at version 1, not another. Read it again."),
        ({"state": ApprovalState.DENIED}, "This card was decided meanwhile. Read it again."),
    ],
)
def test_a_conflict_says_what_is_so(changes: dict[str, Any], words: str) -> None:
    """E10: nobody is told of a decision that nobody made."""
    answer = decided(**changes)
    assert isinstance(answer, Refusal)
    assert (answer.message, answer.details) == (words, {"version": 1})


def test_a_void_card_says_why() -> None:
    """E10: with the reason, as a word for the client and in words for the person, each reason its own."""
    said: dict[str | None, str] = {}
    for reason in ("stopped", "precondition_changed", "action_changed", None):
        answer = decided(state=ApprovalState.INVALIDATED, reason=reason)
        assert isinstance(answer, Refusal)
        assert answer.details == {"reason": reason}
        assert_readable(answer)
        said[reason] = answer.message
    assert "stopped" in said["stopped"]
    assert "file or program changed" in said["precondition_changed"]
    assert said["action_changed"] == said[None]
    assert "what it was about has changed" in said[None]
    assert len(set(said.values())) == 3


def test_a_late_decision_is_told_the_present_version() -> None:
    """E10: so that the client knows that it has to read the card again."""
    answer = decided(version=3, named_version=2)
    assert isinstance(answer, Refusal)
    assert answer.details == {"version": 3}


def test_a_decision_in_time_counts() -> None:
    """E10: allowed or denied, exactly once, until the last moment; without an expiry at any time."""
    assert decided() is ApprovalState.APPROVED
    assert decided(event=ApprovalEvent.DENY, expires_at=None) is ApprovalState.DENIED
    assert decided(expires_at=NOW + timedelta(microseconds=1)) is ApprovalState.APPROVED
