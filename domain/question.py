"""The life of a question (T7-T9): answered, cancelled by the user, or closed because its attempt ended; once."""

from enum import StrEnum

from domain.refusal import Refusal
from domain.transitions import Lifecycle


class QuestionState(StrEnum):
    """States of a question (api.md)."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    CLOSED = "closed"


class QuestionEvent(StrEnum):
    """What can happen to a question."""

    ANSWER = "answer"
    CANCEL = "cancel"
    CLOSE = "close"


_OPEN = QuestionState.OPEN

QUESTION = Lifecycle[QuestionState, QuestionEvent](
    "question",
    {
        (_OPEN, QuestionEvent.ANSWER): QuestionState.ANSWERED,
        (_OPEN, QuestionEvent.CANCEL): QuestionState.CANCELLED,
        (_OPEN, QuestionEvent.CLOSE): QuestionState.CLOSED,
    },
    {state: "question_closed" for state in QuestionState if state is not _OPEN},
)


def settle(
    state: QuestionState, event: QuestionEvent, *, revision: int, named_revision: int
) -> QuestionState | Refusal:
    """Settle a question by its id and revision; the first one wins (T9).

    Returns:
        The new state, or `question_closed` for a question that is settled, `revision_conflict` for a wrong revision.
    """
    following = QUESTION.advance(state, event)
    if isinstance(following, Refusal):
        return Refusal("question_closed", "This question was answered or closed meanwhile.", {"state": state.value})
    if revision != named_revision:
        return Refusal("revision_conflict", "The question has changed. Read it again.", {"revision": revision})
    return following


def choose_answer(options: dict[str, str], option_id: str | None, text: str | None) -> str | Refusal:
    """The words of an answer: one of the options, or free text, not both.

    Args:
        options: Labels by option id.
        option_id: The chosen option.
        text: Free text.
    """
    if (option_id is None) == (text is None):
        return Refusal("invalid_params", "An answer is either option_id or text.")
    if option_id is None:
        return text or ""
    label = options.get(option_id)
    if label is None:
        return Refusal("invalid_params", "The question has no such option.", {"field": "option_id"})
    return label
