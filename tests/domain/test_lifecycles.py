"""The lifecycles of tasks, attempts, deliveries and turns, written down once more as tables (T3, D2, D3, S8, I7)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import attempt, delivery, task, turn
from domain.attempt import ATTEMPT
from domain.delivery import DELIVERY, DeliveryEvent, DeliveryState
from domain.refusal import Refusal
from domain.task import TASK, TaskEvent, TaskState
from domain.transitions import Lifecycle
from domain.turn import TURN

Expected = Mapping[str, Mapping[str, str]]

# Each state with the events it takes and where they lead; everything else is rejected.
EXPECTED: Mapping[str, Expected] = {
    "task": {
        "accepted": {"begin": "running", "fail": "failed", "request_stop": "stopping"},
        "running": {
            "ask": "waiting_user",
            "propose": "waiting_approval",
            "lack_authorization": "waiting_authorization",
            "succeed": "completed",
            "fail": "failed",
            "request_stop": "stopping",
        },
        "waiting_user": {"go_on": "running", "fail": "failed", "request_stop": "stopping"},
        "waiting_approval": {
            "go_on": "running",
            "lack_authorization": "waiting_authorization",
            "fail": "failed",
            "request_stop": "stopping",
        },
        "waiting_authorization": {
            "go_on": "running",
            "propose": "waiting_approval",
            "fail": "failed",
            "request_stop": "stopping",
        },
        "stopping": {"stop": "stopped"},
        "completed": {"resume": "accepted"},
        "failed": {"resume": "accepted"},
        "stopped": {"resume": "accepted"},
    },
    "attempt": {
        "running": {"succeed": "succeeded", "fail": "failed", "stop": "stopped"},
        "succeeded": {},
        "failed": {},
        "stopped": {},
    },
    "delivery": {
        "waiting": {"submit": "submitted", "cancel": "cancelled"},
        "submitted": {"store": "delivered", "discard": "waiting", "fail": "failed", "cancel": "cancelled"},
        "delivered": {},
        "failed": {"retry": "submitted", "store": "delivered", "cancel": "cancelled"},
        "cancelled": {},
    },
    "turn": {
        "queued": {"begin": "running", "stop": "stopped"},
        "running": {"park": "parked", "complete": "completed", "fail": "failed", "stop": "stopped"},
        "parked": {"complete": "completed", "stop": "stopped"},
        "completed": {},
        "failed": {},
        "stopped": {},
    },
}
LIFECYCLES: Mapping[str, tuple[Lifecycle[Any, Any], type[StrEnum], type[StrEnum]]] = {
    "task": (TASK, task.TaskState, task.TaskEvent),
    "attempt": (ATTEMPT, attempt.AttemptState, attempt.AttemptEvent),
    "delivery": (DELIVERY, delivery.DeliveryState, delivery.DeliveryEvent),
    "turn": (TURN, turn.TurnState, turn.TurnEvent),
}
FIRST = {"task": "accepted", "attempt": "running", "delivery": "waiting", "turn": "queued"}
PAIRS = [
    pytest.param(name, state, event, id=f"{name}-{state.value}-{event.value}")
    for name, (_, states, events) in LIFECYCLES.items()
    for state in states
    for event in events
]


@pytest.mark.parametrize(("name", "state", "event"), PAIRS)
def test_every_pair_of_state_and_event(name: str, state: StrEnum, event: StrEnum) -> None:
    """T3, D3, C1: what is in the table happens; everything else is rejected and named by state and event (I7)."""
    expected = EXPECTED[name][state.value].get(event.value)
    answer = LIFECYCLES[name][0].advance(state, event)
    if expected is not None:
        assert answer == expected
    else:
        assert isinstance(answer, Refusal)
        assert answer.details == {"state": state.value}
        assert state.value in answer.message


@pytest.mark.parametrize("name", LIFECYCLES)
def test_states_without_a_way_out_are_terminal(name: str) -> None:
    """I7: a state is terminal exactly if no event leads out of it."""
    lifecycle, states, _ = LIFECYCLES[name]
    assert {state.value for state in states} == set(EXPECTED[name])
    assert {state.value for state in states if lifecycle.terminal(state)} == {
        state for state, events in EXPECTED[name].items() if not events
    }


@pytest.mark.parametrize("name", LIFECYCLES)
def test_every_state_can_be_reached(name: str) -> None:
    """T3, D2: no state is there for nothing."""
    lifecycle, states, _ = LIFECYCLES[name]
    reached = {states(FIRST[name])}
    while True:
        further = {to for (origin, _), to in lifecycle.table.items() if origin in reached} | reached
        if further == reached:
            break
        reached = further
    assert reached == set(states)


@given(st.sampled_from(sorted(LIFECYCLES)), st.data())
def test_no_terminal_state_regresses(name: str, data: st.DataObject) -> None:
    """I7: whatever comes late, in whatever order, a lifecycle that has ended stays where it is."""
    lifecycle, states, events = LIFECYCLES[name]
    state = states(FIRST[name])
    for event in data.draw(st.lists(st.sampled_from(list(events)), max_size=30)):
        ended = lifecycle.terminal(state)
        following = lifecycle.advance(state, event)
        if isinstance(following, Refusal):
            continue
        assert not ended
        state = following


@given(st.lists(st.sampled_from([event for event in TaskEvent if event is not TaskEvent.RESUME]), max_size=30))
def test_a_tasks_requirement_version_ends_once(events: list[TaskEvent]) -> None:
    """I7, T3: but for an explicit resume, a completed, failed or stopped task takes nothing more."""
    state = TaskState.ACCEPTED
    for event in events:
        following = TASK.advance(state, event)
        if state in task.TERMINAL:
            assert isinstance(following, Refusal)
            assert following.code == "stale_result"
        elif not isinstance(following, Refusal):
            state = following


@given(st.lists(st.sampled_from(list(TaskEvent)), max_size=30))
def test_a_stop_that_was_asked_for_is_not_passed_by(events: list[TaskEvent]) -> None:
    """S1, S10: from `stopping` only `stopped` follows; no result and no failure get through."""
    for event in events:
        following = TASK.advance(TaskState.STOPPING, event)
        if event is TaskEvent.STOP:
            assert following is TaskState.STOPPED
        else:
            assert isinstance(following, Refusal)
            assert following.code == "task_stopping"


def test_a_result_during_a_question_is_refused() -> None:
    """T8: the task cannot be completed around its question."""
    refused = TASK.advance(TaskState.WAITING_USER, TaskEvent.SUCCEED)
    assert isinstance(refused, Refusal)
    assert refused.code == "question_pending"


def test_active_and_terminal_states_are_all_states() -> None:
    """T3: a task is either active or terminal; waiting is active."""
    assert set(task.ACTIVE) | set(task.TERMINAL) == set(TaskState)
    assert not set(task.ACTIVE) & set(task.TERMINAL)
    assert set(task.WAITING) < set(task.ACTIVE)


@given(st.lists(st.sampled_from(list(DeliveryEvent)), max_size=30))
def test_a_delivery_is_delivered_at_most_once(events: list[DeliveryEvent]) -> None:
    """I5: the message is stored once, and after that or after a cancel nothing is."""
    state, stored = DeliveryState.WAITING, 0
    for event in events:
        following = DELIVERY.advance(state, event)
        if not isinstance(following, Refusal):
            state = following
            stored += event is DeliveryEvent.STORE
    assert stored == (state is DeliveryState.DELIVERED)


def test_settled_deliveries_wait_for_nothing() -> None:
    """D2: delivered, failed and cancelled are settled; waiting and submitted are not."""
    assert set(DeliveryState) - set(delivery.SETTLED) == {DeliveryState.WAITING, DeliveryState.SUBMITTED}
