"""An independent computation of cron times: cronsim for what an expression means, and a look at every minute around
each change of a zone's offset. It shares no code with the product.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from cronsim import CronSim

DAY = timedelta(days=1)
MINUTE = timedelta(minutes=1)
SPANS = {
    "America/New_York": (2020, 2030),
    "America/Sao_Paulo": (2010, 2020),
    "Africa/Casablanca": (2020, 2030),
    "Asia/Kathmandu": (2020, 2030),
    "Asia/Shanghai": (1985, 1995),
    "Australia/Lord_Howe": (2020, 2030),
    "Europe/Berlin": (2020, 2030),
    "Europe/London": (2020, 2030),
    "Pacific/Apia": (2011, 2013),
}
"""Ten years each, in which the zone does what it is known for: Sao Paulo had no midnight on the first day of summer
time, Shanghai had summer time until 1991, Apia skipped a day."""


@dataclass(frozen=True)
class Window:
    """The days around a change, [begin, end): the minutes at which a clock shows each wall time, and those at which it
    has just jumped over one.
    """

    begin: datetime
    end: datetime
    shown: dict[datetime, list[datetime]]
    jumped: dict[datetime, datetime]

    def by_elapsed_time(self, named: Iterable[datetime]) -> list[datetime]:
        """Every real minute at which the clock shows a named time."""
        return sorted(minute for wall in named for minute in self.shown.get(wall, ()))

    def by_wall_time(self, named: Iterable[datetime]) -> list[datetime]:
        """The first minute at which the clock shows each named time, or has jumped over it; each minute once."""
        found = {self.shown[wall][0] if wall in self.shown else self.jumped.get(wall) for wall in named}
        return sorted(minute for minute in found if minute is not None)


def window_of(zone: str, begin: datetime, end: datetime) -> Window:
    table = ZoneInfo(zone)
    shown: dict[datetime, list[datetime]] = {}
    jumped: dict[datetime, datetime] = {}
    minute, before = begin, None
    while minute < end:
        wall = minute.astimezone(table).replace(tzinfo=None)
        missing = wall if before is None else before + MINUTE
        while missing < wall:
            jumped[missing] = minute
            missing += MINUTE
        shown.setdefault(wall, []).append(minute)
        minute, before = minute + MINUTE, wall
    return Window(begin, end, shown, jumped)


def begin_of(zone: str) -> datetime:
    return datetime(SPANS[zone][0], 1, 1, tzinfo=UTC)


def end_of(zone: str) -> datetime:
    return datetime(SPANS[zone][1], 1, 1, tzinfo=UTC)


def _offset(zone: str, instant: datetime) -> timedelta:
    offset = instant.astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return offset


@cache
def windows(zone: str) -> tuple[Window, ...]:
    """Three days around each change in the zone's years."""
    days = [begin_of(zone) + number * DAY for number in range((end_of(zone) - begin_of(zone)) // DAY)]
    changing = [day for day in days if _offset(zone, day) != _offset(zone, day + DAY)]
    return tuple(window_of(zone, day - DAY, day + 2 * DAY) for day in changing)


def named_between(expression: str, begin: datetime, end: datetime) -> list[datetime]:
    """The wall times in [begin, end) that an expression names; they know no zone."""
    found = []
    for wall in CronSim(expression, begin.replace(tzinfo=None) - MINUTE):
        if wall >= end.replace(tzinfo=None):
            break
        found.append(wall)
    return found


@cache
def named(expression: str, first_year: int, last_year: int) -> tuple[datetime, ...]:
    begin, end = datetime(first_year, 1, 1, tzinfo=UTC), datetime(last_year, 1, 1, tzinfo=UTC)
    return tuple(named_between(expression, begin - 2 * DAY, end + 2 * DAY))


def all_instants(expression: str, zone: str) -> list[datetime]:
    """An expression with fixed hours in the zone's years: by minutes near changes, else by the offset."""
    walls = named(expression, *SPANS[zone])
    near = {window.begin.date() + number * DAY for window in windows(zone) for number in range(3)}
    found = [instant for window in windows(zone) for instant in window.by_wall_time(walls)]
    for wall in walls:
        # Within a day of a guess that is a day off at most, the offset is one and the same unless a window is near.
        guess = wall.replace(tzinfo=UTC)
        instant = guess - _offset(zone, guess - _offset(zone, guess))
        if begin_of(zone) <= instant < end_of(zone) and instant.date() not in near:
            found.append(instant)
    return sorted(found)
