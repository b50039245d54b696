"""What becomes of a nominal time of an automation (U3, U4, U6, U7): it runs, waits, is left out, or was missed.

The hard thing is that many may be due at once after an outage: each gets one answer, and they start one run at most.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice, takewhile
from typing import Final

from domain.automation import AutomationMode, AutomationState, Overlap
from domain.occurrences import instants_after, latest_between
from domain.request import OWN
from domain.schedule import Schedule

ON_TIME: Final = timedelta(seconds=30)
"""A firing that is decided within this is on time, later it is overdue (U4). A worker that was killed is noticed and
replaced within some twenty seconds, and that is no outage; half a minute is also as late as nobody calls late."""

ONE_BY_ONE: Final = 10
"""So many of the newest due times have a record of their own; what is older is one record with a count."""

COUNTED: Final = 10_000
"""Missed times of a cron expression are counted up to this: a week of minutes; nobody reads a larger number."""

DEFAULT_FAILURES: Final = 3
"""Failed runs in a row after which an automation pauses itself (U7)."""


class Cause(StrEnum):
    """Why a time is decided."""

    SCHEDULE = "schedule"
    CATCH_UP = "catch_up"
    MANUAL = "manual"


class FiringState(StrEnum):
    """What became of a nominal time; a buffered one runs when the run before it has ended."""

    RAN = "ran"
    BUFFERED = "buffered"
    SKIPPED = "skipped"
    MISSED = "missed"


class Reason(StrEnum):
    """Why a nominal time did not run: the last two are of missed ones."""

    OVERLAP = "overlap"
    SCHEDULE_CHANGED = "schedule_changed"
    PAUSED = "paused"
    DELETED = "deleted"
    AUTHORIZATION = "authorization"
    OUTAGE = "outage"
    SUPERSEDED = "superseded"


class BindingGrant(StrEnum):
    """How the permission stands that was given for what the automation does now (U6)."""

    NONE = "none"
    ACTIVE = "active"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class Standing:
    """An automation at the moment of a firing: `active` says that a task of it has not ended."""

    state: AutomationState
    mode: AutomationMode
    overlap: Overlap
    active: bool = False
    buffered: bool = False
    grant: BindingGrant = BindingGrant.NONE


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for one nominal time; one that runs or is buffered has no reason."""

    state: FiringState
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """A nominal time that nobody has decided yet, or the last of `count` that are one record.

    `missed` says why it is too late for it; None means that it is to be decided on how things stand.
    """

    nominal_time: datetime
    cause: Cause
    missed: Reason | None = None
    count: int = 1


RAN: Final = Decision(FiringState.RAN)
BUFFERED: Final = Decision(FiringState.BUFFERED)


def decide(standing: Standing, cause: Cause) -> Decision:
    """What a firing does now (U4, U6, U7). Somebody who triggers it by hand means it also while it is paused or done.

    In `continue` mode there is one task only, so that `allow` allows nothing while it runs.
    """
    unwanted = {AutomationState.PAUSED: Reason.PAUSED, AutomationState.DONE: Reason.SCHEDULE_CHANGED}
    if standing.state is AutomationState.DELETED:
        return _skipped(Reason.DELETED)
    if cause is not Cause.MANUAL and standing.state in unwanted:
        return _skipped(unwanted[standing.state])
    if standing.grant is BindingGrant.ENDED:
        return _skipped(Reason.AUTHORIZATION)
    side_by_side = standing.overlap is Overlap.ALLOW and standing.mode is AutomationMode.NEW
    if not standing.active or side_by_side:
        return RAN
    if standing.overlap is Overlap.BUFFER_ONE and not standing.buffered:
        return BUFFERED
    return _skipped(Reason.OVERLAP)


def due_times(
    schedule: Schedule,
    after: datetime,
    until: datetime,
    now: datetime,
    catchup_s: int,
    recorded: AbstractSet[datetime] = frozenset(),
) -> list[Due]:
    """Everything that is due in (after, until], oldest first, each with what lateness alone decides (U4).

    Of overdue times the newest runs, unless a newer one is due on time or it is beyond the catch-up window. Those in
    `recorded` have records of their own: no record of many stands for one of them once more (U5).
    """
    newest = latest_between(schedule, after, until, ONE_BY_ONE + 1)
    if not newest:
        return []
    patience = timedelta(seconds=catchup_s)
    single = newest[-ONE_BY_ONE:]
    found = [_due(instant, now, patience, is_newest=instant == single[-1]) for instant in single]
    if len(newest) == len(single):
        return found
    return [*_older(schedule, after, newest[0], now, patience, recorded), *found]


def _older(
    schedule: Schedule,
    after: datetime,
    until: datetime,
    now: datetime,
    patience: timedelta,
    recorded: AbstractSet[datetime],
) -> list[Due]:
    """The one record of what is due in (after, until] and not recorded; none where everything is."""
    known = {instant for instant in recorded if after < instant <= until and is_nominal(schedule, instant)}
    last = latest_between(schedule, after, until, len(known) + 1)
    open_ones = [instant for instant in last if instant not in known]
    if not open_ones:
        return []
    # With short intervals they may be within the time that is no outage; there are too many of them to run.
    count = max(count_between(schedule, after, until) - len(known), 1)
    return [Due(open_ones[-1], Cause.SCHEDULE, _too_late(now - open_ones[-1], patience), count)]


def _due(instant: datetime, now: datetime, patience: timedelta, *, is_newest: bool) -> Due:
    late = now - instant
    if late <= ON_TIME:
        return Due(instant, Cause.SCHEDULE)
    if is_newest and late <= patience:
        return Due(instant, Cause.CATCH_UP)
    return Due(instant, Cause.SCHEDULE, _too_late(late, patience))


def _too_late(late: timedelta, patience: timedelta) -> Reason:
    return Reason.OUTAGE if late > patience else Reason.SUPERSEDED


def count_between(schedule: Schedule, after: datetime, until: datetime) -> int:
    """How many instants are in (after, until]; those of a cron expression are counted up to `COUNTED`."""
    if schedule.every is not None:
        ends = latest_between(schedule, after, until, 1)
        first = next(instants_after(schedule, after))
        return (ends[-1] - first) // timedelta(seconds=schedule.every.seconds) + 1 if ends else 0
    coming = islice(instants_after(schedule, after), COUNTED)
    return sum(1 for _ in takewhile(lambda instant: instant <= until, coming))


def is_nominal(schedule: Schedule, instant: datetime) -> bool:
    """Whether the schedule names this instant."""
    return latest_between(schedule, instant - timedelta(microseconds=1), instant, 1) == [instant]


def request_id_of(automation_id: str, nominal_time: datetime) -> str:
    """The request id of a firing: the same for the same automation and nominal time, whoever fires it (U5)."""
    return f"{OWN}automation:{automation_id}:{nominal_name(nominal_time)}"


def nominal_name(nominal_time: datetime) -> str:
    """A nominal time within an id, as Temporal writes it; only firings by hand have a fraction of a second."""
    shape = "%Y-%m-%dT%H:%M:%S.%fZ" if nominal_time.microsecond else "%Y-%m-%dT%H:%M:%SZ"
    return nominal_time.astimezone(UTC).strftime(shape)


def failures_after(failures: int, outcome: str) -> int:
    """Failed runs in a row after one more has ended (U7): success ends the row, a stop is the person's own doing."""
    if outcome == "completed":
        return 0
    return failures + 1 if outcome == "failed" else failures


def _skipped(reason: Reason) -> Decision:
    return Decision(FiringState.SKIPPED, reason)
