"""What an automation is (U1, U3, U7): its life, what it is bound to do, and which change of it counts as another work.

The hard thing is telling *what is done* from how and when: only the first voids the permission that was given for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from domain.limits import check_engine, check_text, check_title
from domain.occurrences import next_instants
from domain.refusal import Refusal
from domain.schedule import Schedule
from domain.transitions import Lifecycle

MOST_ACTIVE: Final = 200
"""Active automations of one user space."""

DEFAULT_CATCHUP_S: Final = 3600
LONGEST_CATCHUP_S: Final = 30 * 24 * 3600


class AutomationState(StrEnum):
    """Done is a one-off that has had its time; deleted is for ever."""

    ACTIVE = "active"
    PAUSED = "paused"
    DONE = "done"
    DELETED = "deleted"


class AutomationEvent(StrEnum):
    """What can happen to an automation."""

    PAUSE = "pause"
    RESUME = "resume"
    FINISH = "finish"
    RESCHEDULE = "reschedule"
    DELETE = "delete"


class AutomationMode(StrEnum):
    """Whether each firing makes a task, or resumes the automation's own (U1)."""

    NEW = "new"
    CONTINUE = "continue"


class Overlap(StrEnum):
    """What a firing does while an earlier one still runs (U4)."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    ALLOW = "allow"


_STATES: Final = AutomationState
_EVENTS: Final = AutomationEvent
AUTOMATION = Lifecycle[AutomationState, AutomationEvent](
    "automation",
    {
        (_STATES.ACTIVE, _EVENTS.PAUSE): _STATES.PAUSED,
        # The person's own pause takes the place of one that the automation made by itself.
        (_STATES.PAUSED, _EVENTS.PAUSE): _STATES.PAUSED,
        (_STATES.ACTIVE, _EVENTS.RESUME): _STATES.ACTIVE,
        (_STATES.PAUSED, _EVENTS.RESUME): _STATES.ACTIVE,
        (_STATES.ACTIVE, _EVENTS.FINISH): _STATES.DONE,
        (_STATES.ACTIVE, _EVENTS.RESCHEDULE): _STATES.ACTIVE,
        (_STATES.PAUSED, _EVENTS.RESCHEDULE): _STATES.PAUSED,
        (_STATES.DONE, _EVENTS.RESCHEDULE): _STATES.ACTIVE,
        (_STATES.ACTIVE, _EVENTS.DELETE): _STATES.DELETED,
        (_STATES.PAUSED, _EVENTS.DELETE): _STATES.DELETED,
        (_STATES.DONE, _EVENTS.DELETE): _STATES.DELETED,
    },
    {_STATES.DELETED: "not_found"},
)


@dataclass(frozen=True, slots=True)
class Binding:
    """What an automation is bound to do, and how its firings behave towards each other (U1, U4)."""

    title: str
    instructions: str
    agent_id: str = "twin"
    engine: str | None = None
    permission_mode: str | None = None
    mode: str = AutomationMode.NEW.value
    overlap: str = Overlap.SKIP.value
    catchup_s: int = DEFAULT_CATCHUP_S


WHAT: Final = ("instructions", "agent_id", "engine", "permission_mode", "mode")
"""The fields that say what is done (U3); the others say how it is called and when it is left out."""


def check_binding(binding: Binding) -> Binding | Refusal:
    """Return the binding with its engine and permission mode spelled out, or what is wrong with it (T14, U4).

    Whether there is such an agent is looked up where the rows are.
    """
    for checked in (check_title(binding.title), check_text(binding.instructions, field="instructions")):
        if isinstance(checked, Refusal):
            return checked
    engine = check_engine(binding.engine, binding.permission_mode)
    if isinstance(engine, Refusal):
        return engine
    chosen = (("mode", binding.mode, AutomationMode), ("overlap", binding.overlap, Overlap))
    for field, value, names in chosen:
        if value not in [name.value for name in names]:
            words = ", ".join(name.value for name in names)
            return Refusal("invalid_params", f"{field} is one of: {words}.", {"field": field})
    if not 0 <= binding.catchup_s <= LONGEST_CATCHUP_S:
        return Refusal(
            "invalid_params",
            f"catchup_s is from 0 to {LONGEST_CATCHUP_S} seconds; {binding.catchup_s} was given.",
            {"limit": LONGEST_CATCHUP_S, "value": binding.catchup_s, "field": "catchup_s"},
        )
    return replace(binding, engine=engine[0], permission_mode=engine[1])


def changed(binding: Binding, changes: Mapping[str, Any]) -> Binding | Refusal:
    """The binding after a change of some of its fields, checked as a new one is."""
    return check_binding(replace(binding, **changes))


def does_other_work(before: Binding, after: Binding) -> bool:
    """Whether a change is one of *what* is done: then the old grant is void for it (U3)."""
    return any(getattr(before, field) != getattr(after, field) for field in WHAT)


def check_to_come(schedule: Schedule, now: datetime) -> Schedule | Refusal:
    """Return a schedule that still has an instant to come; a one-off in the past is refused (U2)."""
    if next_instants(schedule, now, 1):
        return schedule
    return Refusal(
        "invalid_params",
        "This time has passed, so it would never run. Name a later time.",
        {"field": "schedule.once.at"},
    )
