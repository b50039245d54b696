"""The lifecycles of effects and cards (E12, E13, E10, I4, I7): no order of events makes an ended one begin again."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.approval import APPROVAL, ApprovalEvent, ApprovalState, decide
from domain.effect import BEFORE_CLAIM, EFFECT, ENDED, EffectEvent, EffectState
from domain.refusal import Refusal

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAST_START = (EffectState.STARTED, EffectState.SUCCEEDED, EffectState.FAILED, EffectState.UNKNOWN)


@given(st.lists(st.sampled_from(EffectEvent), max_size=40))
def test_an_effect_starts_at_most_once_and_only_from_a_claim(events: list[EffectEvent]) -> None:
    """I4, I7: whatever arrives in whatever order."""
    state, starts, path = EffectState.PROPOSED, 0, [EffectState.PROPOSED]
    for event in events:
        following = EFFECT.advance(state, event)
        if isinstance(following, Refusal):
            continue
        if event is EffectEvent.START:
            starts += 1
            assert state is EffectState.CLAIMED
        if state in PAST_START:
            assert following in PAST_START
            assert following is not EffectState.STARTED
        if state in (EffectState.SUCCEEDED, EffectState.FAILED, EffectState.WITHDRAWN, EffectState.REFUSED):
            pytest.fail(f"{state} is final, but {event} led to {following}")
        state = following
        path.append(state)
    assert starts <= 1


@pytest.mark.parametrize("state", EffectState)
def test_ended_and_open_states_leave_no_gap(state: EffectState) -> None:
    """E13: every state is before the claim, claimed, started, or ended; only knowledge leaves an ended one."""
    assert (state in BEFORE_CLAIM) + (state in (EffectState.CLAIMED, EffectState.STARTED)) + (state in ENDED) == 1
    if state in ENDED:
        leads_out = {event for event in EffectEvent if not isinstance(EFFECT.advance(state, event), Refusal)}
        assert leads_out == ({EffectEvent.SUCCEED, EffectEvent.FAIL} if state is EffectState.UNKNOWN else set())


@pytest.mark.parametrize("state", [*PAST_START, EffectState.REFUSED, EffectState.WITHDRAWN])
def test_a_started_effect_is_not_recalled(state: EffectState) -> None:
    """S6, A5: neither a stop nor a refusal reaches what has started or ended."""
    for event in (EffectEvent.WITHDRAW, EffectEvent.REFUSE, EffectEvent.RELEASE, EffectEvent.CLAIM):
        assert isinstance(EFFECT.advance(state, event), Refusal)


@given(st.lists(st.sampled_from(ApprovalEvent), max_size=20))
def test_a_card_is_decided_at_most_once(events: list[ApprovalEvent]) -> None:
    """E10: one of allow, deny and expiry; after that only a changed world voids an approval."""
    state, decisions = ApprovalState.PENDING, 0
    for event in events:
        following = APPROVAL.advance(state, event)
        if isinstance(following, Refusal):
            continue
        decisions += event is not ApprovalEvent.INVALIDATE
        assert state is ApprovalState.PENDING or (state, event) == (ApprovalState.APPROVED, ApprovalEvent.INVALIDATE)
        state = following
    assert decisions <= 1


@given(
    state=st.sampled_from(ApprovalState),
    event=st.sampled_from((ApprovalEvent.ALLOW_ONCE, ApprovalEvent.DENY)),
    version=st.integers(1, 3),
    named_version=st.integers(1, 3),
    named_digest=st.sampled_from(("a", "b")),
    left_s=st.one_of(st.none(), st.integers(-2, 2)),
)
def test_a_decision_counts_only_in_time_and_on_what_was_shown(
    state: ApprovalState,
    event: ApprovalEvent,
    version: int,
    named_version: int,
    named_digest: str,
    left_s: int | None,
) -> None:
    """E10, E11: pending, unexpired, the same version and the same digest; all else has a code."""
    answer = decide(
        state,
        event,
        version=version,
        named_version=named_version,
        digest="a",
        named_digest=named_digest,
        expires_at=None if left_s is None else NOW + timedelta(seconds=left_s),
        now=NOW,
    )
    in_time = left_s is None or left_s > 0
    fits = state is ApprovalState.PENDING and in_time and version == named_version and named_digest == "a"
    assert isinstance(answer, Refusal) != fits
    if isinstance(answer, Refusal):
        assert answer.code in {
            "approval_invalidated", "approval_expired", "action_digest_mismatch", "approval_version_conflict"
        }  # fmt: skip
    else:
        assert answer is (ApprovalState.APPROVED if event is ApprovalEvent.ALLOW_ONCE else ApprovalState.DENIED)
