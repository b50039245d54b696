"""The life of a stop intent and what it may say, as tables and properties (S3, S5, I6, I7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.intent import INTENT, IntentEvent, IntentOutcome, IntentState, Remaining, expected_outcome
from domain.refusal import Refusal
from domain.task import TERMINAL, TaskState

EXPECTED = {
    IntentState.ACCEPTED: {IntentEvent.RECONCILE: IntentState.RECONCILING, IntentEvent.FINISH: IntentState.DONE},
    IntentState.RECONCILING: {IntentEvent.RECONCILE: IntentState.RECONCILING, IntentEvent.FINISH: IntentState.DONE},
    IntentState.DONE: {},
}


@pytest.mark.parametrize("event", list(IntentEvent))
@pytest.mark.parametrize("state", list(IntentState))
def test_every_pair_of_state_and_event(state: IntentState, event: IntentEvent) -> None:
    """S3: accepted, reconciling, done; nothing leads out of done (I7)."""
    following = INTENT.advance(state, event)
    expected = EXPECTED[state].get(event)
    if expected is None:
        assert isinstance(following, Refusal)
        assert following.code == "intent_active"
    else:
        assert following is expected
    assert INTENT.terminal(state) == (state is IntentState.DONE)


@given(st.lists(st.sampled_from(list(IntentEvent)), max_size=20))
def test_an_intent_that_is_done_stays_done(events: list[IntentEvent]) -> None:
    """S3, I7: whatever is looked at or finished once more."""
    state, finished = IntentState.ACCEPTED, 0
    for event in events:
        following = INTENT.advance(state, event)
        if not isinstance(following, Refusal):
            state = following
            finished += event is IntentEvent.FINISH
    assert finished == (state is IntentState.DONE)
    assert finished <= 1


IDS = st.lists(st.text(min_size=1, max_size=3), max_size=2)


@given(IDS, IDS, IDS)
def test_nothing_remains_only_when_nothing_runs(attempts: list[str], effects: list[str], replies: list[str]) -> None:
    """I6: one attempt, effect or reply is enough to hold it."""
    assert Remaining(attempts, effects, replies).nothing == (not attempts + effects + replies)


@given(st.sampled_from(list(TaskState)), st.integers(0, 3))
def test_what_a_stop_amounts_to(state: TaskState, undelivered: int) -> None:
    """S3, S5: a task that had ended is not called stopped; with everything delivered there was nothing to stop."""
    outcome = expected_outcome(state, undelivered)
    if state not in TERMINAL:
        assert outcome is IntentOutcome.STOPPED
    elif state is TaskState.STOPPED or not undelivered:
        assert outcome is IntentOutcome.NOTHING_TO_STOP
    else:
        assert outcome is IntentOutcome.ALREADY_TERMINAL
