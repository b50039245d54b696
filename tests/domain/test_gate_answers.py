"""What the gate says besides its verdict (E10, E12, A10): codes, words, and which answers void the card."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest

from domain.approval import ApprovalState
from domain.effect import EffectState
from domain.gate import (
    Answer,
    Authorization,
    Card,
    Decision,
    GateFacts,
    Review,
    Rule,
    Verdict,
    decide_gate,
    decide_start,
)
from domain.refusal import Refusal
from tests.domain.refusal_words import assert_readable

NOW = datetime(2026, 1, 1, tzinfo=UTC)
APPROVED = Card(ApprovalState.APPROVED, "a", NOW + timedelta(seconds=1))
GOOD = GateFacts(
    now=NOW, effect=EffectState.WAITING_DECISION, action_digest="a", stopped=False, live=True, policy=None,
    authorization=Authorization(Answer.ALLOW), rule=Rule.NONE, review=Review.OFF, card=APPROVED,
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "code", "invalidates", "about"),
    [
        ({"live": False}, "stale_result", None, "has ended or was replaced"),
        (
            {"policy": Refusal("precondition_changed", "No.")},
            "approval_invalidated", "precondition_changed", "No. So the decision about it counts no longer.",
        ),
        (
            {"policy": Refusal("precondition_changed", "It changed at once."), "card": None},
            "precondition_changed", "precondition_changed", "It changed at once.",
        ),
        ({"policy": Refusal("protected_path", "Not there.")}, "protected_path", "protected_path", "Not there."),
        (
            {"authorization": Authorization(Answer.DENY, "authorization_revoked")},
            "authorization_revoked", "authorization_revoked", "no valid authorization",
        ),
        (
            {"authorization": Authorization(Answer.DENY)},
            "authorization_uncertain", "authorization_uncertain", "no valid authorization",
        ),
        (
            {"authorization": Authorization(Answer.UNCERTAIN)},
            "authorization_uncertain", "authorization_uncertain", "no valid authorization",
        ),
        ({"card": None, "review": Review.DENY}, "approval_denied", None, "automatic review denied"),
        ({"card": replace(APPROVED, state=ApprovalState.DENIED)}, "approval_denied", None, "person denied"),
        (
            {"card": replace(APPROVED, state=ApprovalState.INVALIDATED)},
            "approval_invalidated", "action_changed", "was about has changed",
        ),
        (
            {"card": replace(APPROVED, action_digest="b")},
            "approval_invalidated", "action_changed", "was about has changed",
        ),
        ({"card": replace(APPROVED, state=ApprovalState.EXPIRED)}, "approval_expired", None, "Nobody decided in time"),
        ({"card": replace(APPROVED, expires_at=NOW)}, "approval_expired", None, "Nobody decided in time"),
    ],
)  # fmt: skip
def test_every_refusal_has_its_code_its_words_and_voids_what_it_must(
    change: dict[str, Any], code: str, invalidates: str | None, about: str
) -> None:
    """E10, E12, E13: the code for the trail, words for the model, and the reason that a card cannot be used later."""
    decision = decide_gate(replace(GOOD, **change))
    assert decision.verdict is Verdict.REFUSE
    assert decision.refusal is not None
    assert (decision.refusal.code, decision.invalidates) == (code, invalidates)
    assert_readable(decision.refusal)
    assert about in decision.refusal.message


def test_what_lacks_a_grant_says_so_and_keeps_its_card() -> None:
    """A10: an approval that was given stays valid while a grant is asked for."""
    for given, code in ((None, "authorization_denied"), ("authorization_expired", "authorization_expired")):
        decision = decide_gate(replace(GOOD, authorization=Authorization(Answer.LACKING, given)))
        assert (decision.verdict, decision.invalidates) == (Verdict.LACK_AUTHORIZATION, None)
        assert decision.refusal is not None
        assert decision.refusal.code == code
        assert_readable(decision.refusal)
        assert "needs a grant" in decision.refusal.message


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({}, Verdict.CLAIM),
        ({"stopped": True}, Verdict.WITHDRAW),
        ({"effect": EffectState.CLAIMED}, Verdict.PAST),
        ({"card": None}, Verdict.ASK),
        ({"card": None, "rule": Rule.ALLOW}, Verdict.CLAIM),
        ({"card": None, "rule": Rule.ASK, "review": Review.DENY}, Verdict.ASK),
        ({"card": None, "review": Review.DUE}, Verdict.REVIEW),
        ({"card": replace(APPROVED, state=ApprovalState.PENDING, expires_at=None)}, Verdict.ASK),
        ({"card": replace(APPROVED, expires_at=None)}, Verdict.CLAIM),
    ],
)
def test_what_is_no_refusal_carries_none(change: dict[str, Any], verdict: Verdict) -> None:
    """E12: a claim, a question, a review and a withdrawal void no card and have no code."""
    assert decide_gate(replace(GOOD, **change)) == Decision(verdict, None, None)


@pytest.mark.parametrize(("age_s", "starts"), [(-0.001, False), (0.0, True), (10.0, True), (10.001, False)])
def test_a_claim_is_fresh_until_its_last_moment(age_s: float, starts: bool) -> None:
    """E12: and one from the future is no claim."""
    facts = replace(GOOD, effect=EffectState.CLAIMED)
    assert decide_start(facts, claimed_at=NOW - timedelta(seconds=age_s), fresh_s=10.0) is starts


def test_names_are_those_of_rows_and_clients() -> None:
    """A2, E5, E8, E12: words that the trail, the audit and the wire hold never change."""
    kinds: tuple[type[StrEnum], ...] = (Answer, Rule, Review, Verdict)
    assert [[one.value for one in kind] for kind in kinds] == [
        ["allow", "lacking", "deny", "uncertain"],
        ["none", "allow", "ask"],
        ["off", "due", "allow", "deny", "unsure"],
        ["claim", "review", "ask", "lack_authorization", "refuse", "withdraw", "past"],
    ]
