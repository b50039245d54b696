"""The life of an attempt: one execution of one requirement version (T5, T10)."""

from enum import StrEnum

from domain.transitions import Lifecycle


class AttemptState(StrEnum):
    """States of an attempt."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"


class AttemptEvent(StrEnum):
    """What can happen to an attempt."""

    SUCCEED = "succeed"
    FAIL = "fail"
    STOP = "stop"


ATTEMPT = Lifecycle[AttemptState, AttemptEvent](
    "attempt",
    {
        (AttemptState.RUNNING, AttemptEvent.SUCCEED): AttemptState.SUCCEEDED,
        (AttemptState.RUNNING, AttemptEvent.FAIL): AttemptState.FAILED,
        (AttemptState.RUNNING, AttemptEvent.STOP): AttemptState.STOPPED,
    },
    {state: "stale_result" for state in (AttemptState.SUCCEEDED, AttemptState.FAILED, AttemptState.STOPPED)},
)
