"""The arguments of the tools about automations (U3, U7, U9): a schedule as a model spells it out, and who is meant.

What a schedule may hold is decided by `domain.schedule`; here is its shape, in words that a model resolves times by.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from assistant.tool_arguments import TITLE_CHARACTERS, Arguments, Identifier, LongText, Words

LARGEST = 2**53 - 1


class OnceArgument(Arguments):
    """One time."""

    at: Annotated[
        Words,
        Field(max_length=40, description="Date and time in the zone, as 2027-03-01T08:00, or with an offset."),
    ]


class EveryArgument(Arguments):
    """A fixed interval, whatever the clock shows."""

    seconds: Annotated[int, Field(ge=1, le=LARGEST, description="Length of the interval.")]
    offset_s: Annotated[int | None, Field(ge=0, le=LARGEST, description="Shift from whole intervals since 1970.")] = (
        None
    )


class CronArgument(Arguments):
    """Times of the calendar."""

    expression: Annotated[
        Words,
        Field(max_length=200, description="Five fields: minute, hour, day of month, month, weekday (0-7 or mon-sun)."),
    ]


class ScheduleArgument(Arguments):
    """Exactly one of once, every and cron."""

    once: OnceArgument | None = None
    every: EveryArgument | None = None
    cron: CronArgument | None = None
    timezone: Annotated[
        Identifier | None,
        Field(description="IANA zone, such as Europe/Berlin: the user's own unless another one is named."),
    ] = None

    def spelled_out(self) -> dict[str, Any]:
        """The schedule as the domain reads it."""
        return self.model_dump(exclude_none=True)


Schedule = Annotated[
    ScheduleArgument, Field(description="Exactly when: one of once, every and cron, resolved from what the user said.")
]


class ScheduleTask(Arguments):
    """Arguments of `schedule_task` (U9, T14)."""

    title: Annotated[Words, Field(max_length=TITLE_CHARACTERS, description="Short name, for the user.")]
    instructions: Annotated[LongText, Field(description="Everything the executor must know at each time, in full.")]
    schedule: Schedule
    mode: Annotated[
        Literal["new", "continue"] | None,
        Field(description="continue resumes one and the same task at each time; leave out for a new task each time."),
    ] = None


class RescheduleAutomation(Arguments):
    """Arguments of `reschedule_automation` (U3)."""

    automation_id: Identifier
    schedule: Schedule


class ListAutomations(Arguments):
    """Arguments of `list_automations`."""


class PauseAutomation(Arguments):
    """Arguments of `pause_automation` (U7)."""

    automation_id: Identifier


class DeleteAutomation(Arguments):
    """Arguments of `delete_automation` (U7)."""

    automation_id: Identifier
