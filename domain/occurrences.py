"""The instants at which a schedule fires (U1, U2): those to come, and those that were missed.

The hard thing is a change of the zone's offset: cron times with fixed hours run once for each wall time, those by
elapsed time run at each real minute whose wall time they name.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Final
from zoneinfo import ZoneInfo

from domain.schedule import Every, Schedule
from domain.schedule_cron import LAST_YEAR, CronFields, wall_times
from domain.wall_time import first_change, first_instant, offset_at, wall_time

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_END: Final = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)
_LEAST_SPACING: Final = timedelta(minutes=1)


def is_recurring(schedule: Schedule) -> bool:
    """Whether it fires again and again: every kind but one time."""
    return schedule.once is None


def next_instants(schedule: Schedule, after: datetime, count: int) -> list[datetime]:
    """The next UTC instants strictly after `after`, ascending and each once.

    They are `count`, but for one time, which has one instant or, once that has passed, none. Cron costs microseconds
    for each; the rarest expression (a certain weekday on 29 February) searches decades in tens of milliseconds.
    """
    return list(islice(instants_after(schedule, after), max(count, 0)))


def latest_between(schedule: Schedule, after: datetime, until: datetime, limit: int) -> list[datetime]:
    """The last UTC instants in (after, until], ascending, at most `limit`: what was due while nobody fired (U4).

    Its cost goes by `limit`, not by how many there are: it looks back by parts, longer ones where little is due.
    """
    if limit < 1 or until <= after:
        return []
    if schedule.every is not None:
        seconds = timedelta(seconds=schedule.every.seconds)
        last = until - (until.astimezone(UTC) - _EPOCH - timedelta(seconds=schedule.every.offset_s)) % seconds
        most = min(limit, -((after - last) // seconds))
        return [last.astimezone(UTC) - seconds * back for back in reversed(range(most))]
    found: list[datetime] = []
    length = _LEAST_SPACING * limit
    while until > after and len(found) < limit:
        begin = until - min(length, until - after)
        part = _between(schedule, begin, until, 2 * limit + 1)
        if len(part) > 2 * limit and length > _LEAST_SPACING * limit:
            length //= 2
            continue
        found = [*part, *found][-limit:]
        until, length = begin, length * 2
    return found


def _between(schedule: Schedule, after: datetime, until: datetime, limit: int) -> list[datetime]:
    return list(islice(takewhile(lambda instant: instant <= until, instants_after(schedule, after)), limit))


def instants_after(schedule: Schedule, after: datetime) -> Iterator[datetime]:
    """All UTC instants strictly after `after`, ascending and each once; endless for recurring schedules."""
    after = after.astimezone(UTC)
    if schedule.cron is not None:
        fields = schedule.cron.fields
        by_kind = _by_elapsed_time if fields.by_elapsed_time else _by_wall_time
        return by_kind(fields, schedule.zone, after)
    if schedule.every is not None:
        return _intervals(schedule.every, after)
    at = schedule.one_time
    return iter([at] if at is not None and at > after else [])


def _intervals(every: Every, after: datetime) -> Iterator[datetime]:
    seconds, first = timedelta(seconds=every.seconds), _EPOCH + timedelta(seconds=every.offset_s)
    instant = first + ((after - first) // seconds + 1) * seconds
    while instant < _END:
        yield instant
        instant += seconds


def _by_wall_time(fields: CronFields, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    # A wall time before that of `after` has its first instant before it too: none is left out.
    for wall in wall_times(fields, wall_time(zone, after)):
        instant = first_instant(zone, wall)
        # All wall times of a gap have one instant, which may be a wall time's own as well.
        if instant > after:
            yield instant
            after = instant


def _by_elapsed_time(fields: CronFields, zone: ZoneInfo, after: datetime) -> Iterator[datetime]:
    since: datetime | None = after
    while since is not None:
        offset, change = offset_at(zone, since), None
        for wall in wall_times(fields, wall_time(zone, since)):
            instant = wall.replace(tzinfo=UTC) - offset
            change = first_change(zone, since, instant)
            if change is not None:
                break
            if instant > after:
                yield instant
            since = instant
        since = change
