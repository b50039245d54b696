"""What a run does next (T4): the agent loop of turns and attempts as one pure function over its stored steps.

Everything that a run has done is in its steps, so recovery, a continuation of a parked turn and the ordinary next
iteration ask the same question and get the same answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict


class RunKind(StrEnum):
    """A run is a turn of the conversation or an attempt of a task."""

    TURN = "turn"
    ATTEMPT = "attempt"


class RunRef(BaseModel):
    """Names one run: the turn or attempt that carries it out, and the id under which its steps are kept.

    A continuation of a parked turn has a turn id of its own and the run id of the turn that it continues (C1).
    """

    model_config = ConfigDict(frozen=True)

    kind: RunKind
    user_space: str
    domain: str
    run_id: str
    turn_id: str | None = None
    task_id: str | None = None
    requirement_version: int = 0
    attempt: int = 0
    agent_id: str = "twin"
    engine: str = "native"


class Place(StrEnum):
    """Where a tool call is carried out: SQL only, the machine with the files, or the path of an effect (E18)."""

    SHARED = "shared"
    FILES = "files"
    EFFECT = "effect"


class Following(BaseModel):
    """What follows in a run; `step` and `index` say where (steps from 1, calls of a step from 0).

    `waits_for` is the question or sub-task that a call waits for; `state` is that of an attempt that has ended.
    """

    model_config = ConfigDict(frozen=True)

    kind: Literal["model", "call", "propose", "effect", "question", "child", "reply", "fail", "ended"]
    step: int = 0
    index: int = 0
    place: Place = Place.SHARED
    effect_id: str | None = None
    waits_for: str | None = None
    reason: str | None = None
    state: str | None = None


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One tool call of a stored model step."""

    index: int
    place: Place
    done: bool
    effect_id: str | None = None
    question_id: str | None = None
    child_task_id: str | None = None


@dataclass(frozen=True, slots=True)
class StoredStep:
    """One stored model step with its calls in the order in which the model asked for them."""

    number: int
    calls: tuple[StoredCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much a run may do (T4): model steps, effects, and active wall time in seconds."""

    model_steps: int = 50
    effects: int = 100
    wall_seconds: float = 24 * 3600.0


def what_follows(
    kind: RunKind, steps: Sequence[StoredStep], *, ended: bool, bounds: Bounds, active_seconds: float = 0.0
) -> Following:
    """Say what a run does next.

    Args:
        kind: Whether a plain answer ends the run (a turn) or a submitted result does (an attempt, T5).
        steps: The stored model steps in order.
        ended: Whether the run has been ended by a terminal tool, a failure or a stop.
        bounds: The run's limits.
        active_seconds: Wall time spent so far, waiting for people not counted.

    Returns:
        The next piece of work, `reply` for a turn that has its answer, `fail` with a reason, or `ended`.
    """
    if ended:
        return Following(kind="ended")
    if not steps:
        return Following(kind="model", step=1)
    last = steps[-1]
    for call in last.calls:
        if not call.done:
            return _open_call(last.number, call, steps, bounds)
    if not last.calls and kind is RunKind.TURN:
        return Following(kind="reply", step=last.number)
    if not last.calls and sum(1 for step in steps if not step.calls) > 1:
        return Following(kind="fail", reason="no_result_submitted")
    if last.number >= bounds.model_steps or active_seconds >= bounds.wall_seconds:
        return Following(kind="fail", reason="bounds_exceeded")
    return Following(kind="model", step=last.number + 1)


def _open_call(number: int, call: StoredCall, steps: Sequence[StoredStep], bounds: Bounds) -> Following:
    if call.effect_id is not None:
        return Following(kind="effect", step=number, index=call.index, place=call.place, effect_id=call.effect_id)
    if call.question_id is not None:
        return Following(kind="question", step=number, index=call.index, waits_for=call.question_id)
    if call.child_task_id is not None:
        return Following(kind="child", step=number, index=call.index, waits_for=call.child_task_id)
    if call.place is not Place.EFFECT:
        return Following(kind="call", step=number, index=call.index, place=call.place)
    effects = sum(1 for step in steps for earlier in step.calls if earlier.effect_id is not None)
    if effects >= bounds.effects:
        return Following(kind="fail", reason="bounds_exceeded")
    return Following(kind="propose", step=number, index=call.index, place=Place.EFFECT)


def reminder_due(kind: RunKind, steps: Sequence[StoredStep]) -> bool:
    """Whether the next model step of an attempt is the one reminder to submit a result (T5)."""
    return kind is RunKind.ATTEMPT and bool(steps) and not steps[-1].calls
