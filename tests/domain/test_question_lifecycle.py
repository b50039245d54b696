"""The life of a question and the words of its answer, as tables and properties (T7-T9, I7)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.question import QUESTION, QuestionEvent, QuestionState, choose_answer, settle
from domain.refusal import Refusal

ENDS = {
    QuestionEvent.ANSWER: QuestionState.ANSWERED,
    QuestionEvent.CANCEL: QuestionState.CANCELLED,
    QuestionEvent.CLOSE: QuestionState.CLOSED,
}
EVENTS = st.sampled_from(list(QuestionEvent))


@pytest.mark.parametrize("event", list(QuestionEvent))
@pytest.mark.parametrize("state", list(QuestionState))
def test_only_an_open_question_takes_an_event(state: QuestionState, event: QuestionEvent) -> None:
    """T9, I7: the whole table; whoever is late gets `question_closed`."""
    following = QUESTION.advance(state, event)
    if state is QuestionState.OPEN:
        assert following is ENDS[event]
    else:
        assert isinstance(following, Refusal)
        assert following.code == "question_closed"
    assert QUESTION.terminal(state) == (state is not QuestionState.OPEN)


@given(st.lists(st.tuples(EVENTS, st.integers(1, 3)), max_size=20))
def test_a_question_has_one_winner(events: list[tuple[QuestionEvent, int]]) -> None:
    """T9, I7: the first event with the right revision wins; everything after it is refused and changes nothing."""
    winners: list[QuestionEvent] = []
    state, revision = QuestionState.OPEN, 1
    for event, named in events:
        following = settle(state, event, revision=revision, named_revision=named)
        if isinstance(following, Refusal):
            expected = "question_closed" if winners else "revision_conflict"
            assert following.code == expected
            continue
        winners.append(event)
        state, revision = following, revision + 1
    assert len(winners) <= 1
    assert state is (ENDS[winners[0]] if winners else QuestionState.OPEN)


def test_a_closed_question_is_told_before_a_wrong_revision() -> None:
    """T9: to read the question again would not help."""
    late = settle(QuestionState.ANSWERED, QuestionEvent.ANSWER, revision=2, named_revision=1)
    assert isinstance(late, Refusal)
    assert (late.code, late.details) == ("question_closed", {"state": "answered"})


def test_a_wrong_revision_names_the_current_one() -> None:
    """T9: a conflict carries the current state, so that the client can ask again."""
    wrong = settle(QuestionState.OPEN, QuestionEvent.CANCEL, revision=3, named_revision=1)
    assert isinstance(wrong, Refusal)
    assert (wrong.code, wrong.details) == ("revision_conflict", {"revision": 3})


OPTIONS = st.dictionaries(st.sampled_from(["option_1", "option_2", "option_3"]), st.text(min_size=1), max_size=3)


@given(OPTIONS, st.none() | st.sampled_from(["option_1", "option_9"]), st.none() | st.text())
def test_an_answer_is_one_of_the_options_or_words(
    options: dict[str, str], option: str | None, text: str | None
) -> None:
    """T9, D9: never both, never neither, never an option that was not offered; words are left as they are."""
    words = choose_answer(options, option, text)
    if (option is None) == (text is None) or (option is not None and option not in options):
        assert isinstance(words, Refusal)
        assert words.code == "invalid_params"
    else:
        assert words == (text if option is None else options[option])
