"""The gate against a reference that is written the other way round: a list of everything that must be true (E12)."""

from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.approval import ApprovalState
from domain.effect import BEFORE_CLAIM, EffectState
from domain.gate import Answer, Authorization, Card, GateFacts, Review, Rule, Verdict, decide_gate, decide_start
from domain.refusal import Refusal

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIGESTS = ("a" * 64, "b" * 64)
CODES = ("protected_path", "policy_denied", "precondition_changed")

CARDS = (
    None,
    *(
        Card(state, digest, None if left_s is None else NOW + timedelta(seconds=left_s))
        for state, digest, left_s in product(ApprovalState, DIGESTS, (None, -1, 0, 1))
    ),
)
POLICIES = (None, *(Refusal(code, "no") for code in CODES))
AUTHORIZATIONS = tuple(Authorization(answer, code) for answer, code in product(Answer, (None, "authorization_denied")))


DECISIONS = (
    *((rule, review, None) for rule, review in product(Rule, Review)),
    # Beside a card they say nothing: each of them is there, not each pair of them.
    *(
        (rule, review, card)
        for rule, review in ((Rule.NONE, Review.OFF), (Rule.ALLOW, Review.ALLOW), (Rule.ASK, Review.DENY))
        for card in CARDS[1:]
    ),
)


def all_facts() -> Iterator[GateFacts]:
    """Every combination of facts: there are few enough to leave nothing to chance."""
    yes_no = (False, True)
    for effect, stopped, live, policy, authorization, (rule, review, card) in product(
        EffectState, yes_no, yes_no, POLICIES, AUTHORIZATIONS, DECISIONS
    ):
        yield GateFacts(
            now=NOW,
            effect=effect,
            action_digest=DIGESTS[0],
            stopped=stopped,
            live=live,
            policy=policy,
            authorization=authorization,
            rule=rule,
            review=review,
            card=card,
        )


GOOD = GateFacts(
    now=NOW,
    effect=EffectState.WAITING_DECISION,
    action_digest=DIGESTS[0],
    stopped=False,
    live=True,
    policy=None,
    authorization=Authorization(Answer.ALLOW),
    rule=Rule.NONE,
    review=Review.OFF,
    card=Card(ApprovalState.APPROVED, DIGESTS[0], NOW + timedelta(seconds=1)),
)


def may_happen(facts: GateFacts) -> bool:
    """The reference: I3 as a list."""
    decided = (
        facts.card is None
        and facts.rule is not Rule.ASK
        and (facts.rule is Rule.ALLOW or facts.review is Review.ALLOW)
    ) or (
        facts.card is not None
        and facts.card.state is ApprovalState.APPROVED
        and facts.card.action_digest == facts.action_digest
        and (facts.card.expires_at is None or facts.now < facts.card.expires_at)
    )
    return (
        decided
        and facts.effect in BEFORE_CLAIM
        and not facts.stopped
        and facts.live
        and facts.policy is None
        and facts.authorization.answer is Answer.ALLOW
    )


def test_the_gate_claims_exactly_what_the_reference_allows() -> None:
    """I3, E12: nothing that the list forbids passes, nothing that it allows is refused, and every no has its reason."""
    asked = 0
    for facts in all_facts():
        decision = decide_gate(facts)
        assert (decision.verdict is Verdict.CLAIM) == may_happen(facts), facts
        with_code = decision.verdict in (Verdict.REFUSE, Verdict.LACK_AUTHORIZATION)
        assert (decision.refusal is not None) == with_code, facts
        asked += 1
    assert asked > 100_000


@given(st.integers(-20, 20), st.sampled_from(CARDS), st.booleans(), st.sampled_from(EffectState))
def test_only_a_fresh_claim_that_would_pass_again_starts(
    age_s: int, card: Card | None, stopped: bool, effect: EffectState
) -> None:
    """E12, I3: the start asks the same question, for a claim that is at most 10 s old."""
    facts = replace(GOOD, card=card, stopped=stopped, effect=effect)
    expected = (
        effect is EffectState.CLAIMED
        and 0 <= age_s <= 10
        and may_happen(replace(facts, effect=EffectState.WAITING_DECISION))
    )
    assert decide_start(facts, claimed_at=NOW - timedelta(seconds=age_s), fresh_s=10.0) == expected


@pytest.mark.parametrize(
    ("change", "verdict", "code"),
    [
        ({"stopped": True, "live": False}, Verdict.WITHDRAW, None),
        ({"live": False, "policy": Refusal("policy_denied", "no")}, Verdict.REFUSE, "stale_result"),
        ({"policy": Refusal("protected_path", "no"), "card": None}, Verdict.REFUSE, "protected_path"),
        ({"policy": Refusal("precondition_changed", "no")}, Verdict.REFUSE, "approval_invalidated"),
        ({"policy": Refusal("precondition_changed", "no"), "card": None}, Verdict.REFUSE, "precondition_changed"),
        (
            {"authorization": Authorization(Answer.LACKING, "authorization_expired"), "card": None},
            Verdict.LACK_AUTHORIZATION,
            "authorization_expired",
        ),
        ({"authorization": Authorization(Answer.LACKING)}, Verdict.LACK_AUTHORIZATION, "authorization_denied"),
        ({"authorization": Authorization(Answer.UNCERTAIN)}, Verdict.REFUSE, "authorization_uncertain"),
        ({"authorization": Authorization(Answer.DENY, "authorization_denied")}, Verdict.REFUSE, "authorization_denied"),
        ({"card": None}, Verdict.ASK, None),
        ({"card": None, "rule": Rule.ALLOW, "review": Review.DENY}, Verdict.CLAIM, None),
        ({"card": None, "rule": Rule.ASK, "review": Review.ALLOW}, Verdict.ASK, None),
        ({"card": None, "review": Review.DUE}, Verdict.REVIEW, None),
        ({"card": None, "review": Review.ALLOW}, Verdict.CLAIM, None),
        ({"card": None, "review": Review.UNSURE}, Verdict.ASK, None),
        ({"card": None, "review": Review.DENY}, Verdict.REFUSE, "approval_denied"),
        ({"card": Card(ApprovalState.PENDING, DIGESTS[0]), "rule": Rule.ALLOW}, Verdict.ASK, None),
        ({"card": Card(ApprovalState.PENDING, DIGESTS[0]), "review": Review.ALLOW}, Verdict.ASK, None),
        ({"card": Card(ApprovalState.PENDING, DIGESTS[0])}, Verdict.ASK, None),
        ({"card": Card(ApprovalState.PENDING, DIGESTS[0], NOW)}, Verdict.REFUSE, "approval_expired"),
        ({"card": Card(ApprovalState.APPROVED, DIGESTS[0], NOW)}, Verdict.REFUSE, "approval_expired"),
        ({"card": Card(ApprovalState.APPROVED, DIGESTS[1])}, Verdict.REFUSE, "approval_invalidated"),
        ({"card": Card(ApprovalState.DENIED, DIGESTS[0])}, Verdict.REFUSE, "approval_denied"),
        ({"card": Card(ApprovalState.EXPIRED, DIGESTS[0])}, Verdict.REFUSE, "approval_expired"),
        ({"card": Card(ApprovalState.INVALIDATED, DIGESTS[0])}, Verdict.REFUSE, "approval_invalidated"),
        ({"effect": EffectState.CLAIMED, "stopped": True}, Verdict.PAST, None),
        ({"effect": EffectState.UNKNOWN}, Verdict.PAST, None),
    ],
)
def test_the_order_of_the_gate(change: dict[str, Any], verdict: Verdict, code: str | None) -> None:
    """E12, A10: stop, run, policy, authorization, decision; the first no names its own code."""
    assert {field.name for field in fields(GateFacts)} >= change.keys()
    decision = decide_gate(replace(GOOD, **change))
    assert decision.verdict is verdict
    assert (decision.refusal.code if decision.refusal else None) == code


@pytest.mark.parametrize("code", ["precondition_changed", "protected_path"])
def test_a_no_of_the_policy_voids_the_card(code: str) -> None:
    """E10: a card about something that may not happen any more cannot be used later."""
    assert decide_gate(replace(GOOD, policy=Refusal(code, "no"))).invalidates == code
