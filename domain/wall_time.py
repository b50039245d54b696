"""Wall time and instants of an IANA zone (U2, N2): the one place that knows what a change of a zone's offset does.

The hard thing is a wall time that does not exist, or exists twice; the zone tables are read as constants, not as I/O.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

ZONE_CHARACTERS: Final = 64

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}", re.ASCII)
# What a system keeps beside the zones: the machine's own, placeholders, and tables that count leap seconds.
_NO_ZONES: Final = frozenset({"localtime", "posixrules", "Factory"})
_NO_FOLDERS: Final = ("posix/", "right/")
# No zone has changed its offset and changed it back within a day since 1970.
_PROBE: Final = timedelta(days=1)


def is_zone(name: str) -> bool:
    """Whether this is the name of an IANA zone, such as Europe/Berlin or UTC."""
    if len(name) > ZONE_CHARACTERS or not _NAME.fullmatch(name) or name in _NO_ZONES or name.startswith(_NO_FOLDERS):
        return False
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def offset_at(zone: ZoneInfo, instant: datetime) -> timedelta:
    """What is added to UTC to get the zone's wall time at an instant."""
    return instant.astimezone(zone).utcoffset() or timedelta(0)


def wall_time(zone: ZoneInfo, instant: datetime) -> datetime:
    """What a clock in the zone shows at an instant, without a zone of its own."""
    return instant.astimezone(zone).replace(tzinfo=None)


def first_instant(zone: ZoneInfo, wall: datetime) -> datetime:
    """The UTC instant of a wall time (U2): the first of a doubled one, the first after the gap of a missing one."""
    by_old_offset = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    by_new_offset = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if by_old_offset > by_new_offset:
        change = first_change(zone, by_new_offset, by_old_offset)
        if change is not None:
            return change
    return by_old_offset


def is_doubled(zone: ZoneInfo, wall: datetime) -> bool:
    """Whether a clock in the zone shows this wall time twice."""
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC) < wall.replace(tzinfo=zone, fold=1).astimezone(UTC)


def first_change(zone: ZoneInfo, since: datetime, until: datetime) -> datetime | None:
    """The first UTC instant in (since, until] at which another offset holds than at `since`; None where none does."""
    offset = offset_at(zone, since)
    known = since
    while known < until:
        probe = min(known + _PROBE, until)
        if offset_at(zone, probe) != offset:
            return _between(zone, offset, int(known.timestamp()), int(probe.timestamp()))
        known = probe
    return None


def _between(zone: ZoneInfo, offset: timedelta, before: int, after: int) -> datetime:
    """Narrow a change down to its second, of which all zones' changes are multiples."""
    while after - before > 1:
        middle = (before + after) // 2
        if offset_at(zone, datetime.fromtimestamp(middle, UTC)) == offset:
            before = middle
        else:
            after = middle
    return datetime.fromtimestamp(after, UTC)
