"""The life of a task (T3): one table for workflows and SQL alike."""

from enum import StrEnum

from domain.transitions import Lifecycle


class TaskState(StrEnum):
    """States of a task's current requirement version (T3)."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    WAITING_USER = "waiting_user"
    WAITING_APPROVAL = "waiting_approval"
    WAITING_AUTHORIZATION = "waiting_authorization"
    STOPPING = "stopping"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"


class TaskEvent(StrEnum):
    """What can happen to a task."""

    BEGIN = "begin"
    ASK = "ask"
    PROPOSE = "propose"
    LACK_AUTHORIZATION = "lack_authorization"
    GO_ON = "go_on"
    SUCCEED = "succeed"
    FAIL = "fail"
    REQUEST_STOP = "request_stop"
    STOP = "stop"
    RESUME = "resume"


_S, _E = TaskState, TaskEvent
WAITING = (_S.WAITING_USER, _S.WAITING_APPROVAL, _S.WAITING_AUTHORIZATION)
TERMINAL = (_S.COMPLETED, _S.FAILED, _S.STOPPED)
ACTIVE = tuple(state for state in TaskState if state not in TERMINAL)

TASK = Lifecycle[TaskState, TaskEvent](
    "task",
    {
        (_S.ACCEPTED, _E.BEGIN): _S.RUNNING,
        (_S.RUNNING, _E.ASK): _S.WAITING_USER,
        (_S.RUNNING, _E.PROPOSE): _S.WAITING_APPROVAL,
        (_S.RUNNING, _E.LACK_AUTHORIZATION): _S.WAITING_AUTHORIZATION,
        (_S.WAITING_APPROVAL, _E.LACK_AUTHORIZATION): _S.WAITING_AUTHORIZATION,
        (_S.WAITING_AUTHORIZATION, _E.PROPOSE): _S.WAITING_APPROVAL,
        (_S.RUNNING, _E.SUCCEED): _S.COMPLETED,
        (_S.STOPPING, _E.STOP): _S.STOPPED,
        **{(state, _E.GO_ON): _S.RUNNING for state in WAITING},
        **{(state, _E.FAIL): _S.FAILED for state in (_S.ACCEPTED, _S.RUNNING, *WAITING)},
        **{(state, _E.REQUEST_STOP): _S.STOPPING for state in (_S.ACCEPTED, _S.RUNNING, *WAITING)},
        **{(state, _E.RESUME): _S.ACCEPTED for state in TERMINAL},
    },
    {
        _S.WAITING_USER: "question_pending",
        _S.STOPPING: "task_stopping",
        **{state: "stale_result" for state in TERMINAL},
    },
)
