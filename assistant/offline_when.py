"""Times as the offline model understands them (O2, U9): what every phrase comes to, whichever language it is said in.

Pure: the moment at which it was said comes in. A phrase is a schedule, or no phrase about time, or one that is
recognised and not exact enough, which is said and never guessed.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from assistant.prompts import Clock
from domain.wall_time import first_instant, wall_time

Json: TypeAlias = dict[str, Any]
WORK_WEEK, WEEKEND = "1-5", "0,6"


@dataclass(frozen=True, slots=True)
class When:
    """An exact schedule, spelled out as the tools take it."""

    schedule: Json


@dataclass(frozen=True, slots=True)
class Unclear:
    """A phrase about time that is no exact schedule; `why` is a key of the model's words."""

    why: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Zoned:
    """The moment of the message in the zone that a phrase is meant in."""

    wall: datetime
    zone: str


def in_zone(clock: Clock, zone: str) -> Zoned:
    """The moment as a clock in another zone shows it."""
    instant = first_instant(ZoneInfo(clock.zone), clock.wall)
    return Zoned(wall_time(ZoneInfo(zone), instant), zone)


def on_days(weekdays: str, at: time | None, now: Zoned) -> When | Unclear:
    """Every week on these days of cron, `*` for all."""
    if at is None:
        return Unclear("no_time")
    return _cron(f"{at.minute} {at.hour} * * {weekdays}", now)


def each_month(day: int, at: time | None, now: Zoned) -> When | Unclear:
    """Every month on a day."""
    if not 1 <= day <= 31:
        return Unclear("no_such_day")
    return Unclear("no_time") if at is None else _cron(f"{at.minute} {at.hour} {day} * *", now)


def every(count: int, unit_s: int) -> When | Unclear:
    """A fixed interval."""
    return When({"every": {"seconds": count * unit_s}}) if count > 0 else Unclear("unsupported")


def after(count: int, unit_s: int, now: Zoned) -> When | Unclear:
    """One time, so much later than the message."""
    try:
        instant = first_instant(ZoneInfo(now.zone), now.wall) + timedelta(seconds=count * unit_s)
    except OverflowError:
        return Unclear("unsupported")
    return When({"once": {"at": instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}})


def in_days(days: int, at: time | None, now: Zoned) -> When | Unclear:
    """One time on a day counted from the message's."""
    return on_date(now.wall.date() + timedelta(days=days), at, now)


def on_date(day: date, at: time | None, now: Zoned) -> When | Unclear:
    """One time on a date."""
    if at is None:
        return Unclear("no_time")
    wall = datetime.combine(day, at)
    if wall <= now.wall:
        return Unclear("past")
    return When({"once": {"at": wall.strftime("%Y-%m-%dT%H:%M")}, "timezone": now.zone})


def on_weekday(weekday: int, at: time | None, now: Zoned, *, not_today: bool = False) -> When | Unclear:
    """The next such day, 0 for Monday; today only while its time is to come."""
    if at is None:
        return Unclear("no_time")
    days = (weekday - now.wall.weekday()) % 7
    if days == 0 and (not_today or datetime.combine(now.wall.date(), at) <= now.wall):
        days = 7
    return in_days(days, at, now)


def next_time(at: time, now: Zoned) -> When | Unclear:
    """The next time that a clock shows this."""
    return in_days(0 if datetime.combine(now.wall.date(), at) > now.wall else 1, at, now)


def clock_time(hour: int, minute: int, half: str | None) -> time | None:
    """A time of day; `half` is am, pm, or None for what the number says. None where no clock shows it."""
    if half is not None and not 1 <= hour <= 12:
        half = None if half == "pm" and 12 < hour < 24 else "none"
    if half == "pm" and hour < 12:
        hour += 12
    elif half == "am" and hour == 12:
        hour = 0
    return time(hour, minute) if half != "none" and 0 <= hour < 24 and 0 <= minute < 60 else None


def _cron(expression: str, now: Zoned) -> When:
    return When({"cron": {"expression": expression}, "timezone": now.zone})
