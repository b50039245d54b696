"""Quiet hours (N2, N8): whether an instant is in them, and when they end; wall time alone decides.

The hard thing is a change of the zone's offset inside of them: what a clock on the wall shows is quiet, however often
it shows it, and an end that no clock shows is the first instant after the gap.
"""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from domain.wall_time import first_change, offset_at, wall_time


def quiet_until(zone: str, start: str, end: str, now: datetime) -> datetime | None:
    """The UTC instant at which the quiet hours that hold at `now` end; None when it is not quiet.

    Args:
        zone: an IANA zone that has been checked (`domain.wall_time.is_zone`).
        start: wall time HH:MM, inclusive; when it is after `end`, the hours span midnight.
        end: wall time HH:MM, exclusive; equal to `start` it is never quiet.
        now: an aware instant.
    """
    table, first, last = ZoneInfo(zone), _clock_time(start), _clock_time(end)
    if not _is_quiet(wall_time(table, now).time(), first, last):
        return None
    since = now.astimezone(UTC)
    while True:
        wall = wall_time(table, since)
        ending = datetime.combine(wall.date(), last)
        if ending <= wall:
            ending += timedelta(days=1)
        instant = ending.replace(tzinfo=UTC) - offset_at(table, since)
        change = first_change(table, since, instant)
        if change is None:
            return instant
        if not _is_quiet(wall_time(table, change).time(), first, last):
            return change
        since = change


def _is_quiet(wall: time, start: time, end: time) -> bool:
    if start <= end:
        return start <= wall < end
    return wall >= start or wall < end


def _clock_time(text: str) -> time:
    hour, minute = text.split(":")
    return time(int(hour), int(minute))
