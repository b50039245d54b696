"""The life of a stop intent (S3): accepted, reconciled, done with an outcome; it never goes back."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from domain.task import TERMINAL, TaskState
from domain.transitions import Lifecycle


class IntentState(StrEnum):
    """States of a stop intent."""

    ACCEPTED = "accepted"
    RECONCILING = "reconciling"
    DONE = "done"


class IntentEvent(StrEnum):
    """What can happen to a stop intent."""

    RECONCILE = "reconcile"
    FINISH = "finish"


class IntentOutcome(StrEnum):
    """What a stop that is done has found (S3)."""

    STOPPED = "stopped"
    ALREADY_TERMINAL = "already_terminal"
    NOTHING_TO_STOP = "nothing_to_stop"


INTENT = Lifecycle[IntentState, IntentEvent](
    "stop intent",
    {
        (IntentState.ACCEPTED, IntentEvent.RECONCILE): IntentState.RECONCILING,
        (IntentState.RECONCILING, IntentEvent.RECONCILE): IntentState.RECONCILING,
        (IntentState.ACCEPTED, IntentEvent.FINISH): IntentState.DONE,
        (IntentState.RECONCILING, IntentEvent.FINISH): IntentState.DONE,
    },
    {IntentState.DONE: "intent_active"},
)


@dataclass(frozen=True, slots=True)
class Remaining:
    """What a stop still waits for: ids of attempts, effects and replies that have not come to their end."""

    attempts: Sequence[str] = ()
    effects: Sequence[str] = ()
    replies: Sequence[str] = ()

    @property
    def nothing(self) -> bool:
        """Whether all of it has ended: only then may the stop say so (I6)."""
        return not (self.attempts or self.effects or self.replies)


def expected_outcome(state: TaskState, undelivered: int) -> IntentOutcome:
    """What a stop of a task in this state amounts to, with so many replies that were not delivered (S3, S5)."""
    if state not in TERMINAL:
        return IntentOutcome.STOPPED
    if state is TaskState.STOPPED or undelivered == 0:
        return IntentOutcome.NOTHING_TO_STOP
    return IntentOutcome.ALREADY_TERMINAL
