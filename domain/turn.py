"""The life of a turn (C1, S8): one reply of the assistant."""

from enum import StrEnum

from domain.transitions import Lifecycle


class TurnKind(StrEnum):
    """What a turn answers: an input, a delivery, or the decision on a parked turn's card."""

    INPUT = "input"
    DELIVERY = "delivery"
    CONTINUATION = "continuation"


class TurnState(StrEnum):
    """States of a turn as clients see them (api.md, `turn.state`)."""

    QUEUED = "queued"
    RUNNING = "running"
    PARKED = "parked"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


class TurnEvent(StrEnum):
    """What can happen to a turn."""

    BEGIN = "begin"
    PARK = "park"
    COMPLETE = "complete"
    FAIL = "fail"
    STOP = "stop"
    DISCARD = "discard"


_S, _E = TurnState, TurnEvent
ENDED = (_S.PARKED, _S.COMPLETED, _S.FAILED, _S.STOPPED)

TURN = Lifecycle[TurnState, TurnEvent](
    "turn",
    {
        (_S.QUEUED, _E.BEGIN): _S.RUNNING,
        (_S.QUEUED, _E.STOP): _S.STOPPED,
        (_S.RUNNING, _E.PARK): _S.PARKED,
        (_S.RUNNING, _E.COMPLETE): _S.COMPLETED,
        (_S.RUNNING, _E.FAIL): _S.FAILED,
        (_S.RUNNING, _E.STOP): _S.STOPPED,
        (_S.PARKED, _E.COMPLETE): _S.COMPLETED,
        (_S.PARKED, _E.STOP): _S.STOPPED,
    },
    {},
)
