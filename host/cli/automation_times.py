"""Times of an automation as a terminal shows them: in its own zone, which is named, whatever the terminal's is (U8).

The hard thing is a wall time that its zone shows twice: then the offset stands beside it.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from domain.wall_time import is_doubled, is_zone, wall_time

Json = Mapping[str, Any]
FALLBACK = "UTC"


def zone_of(automation: Json) -> str:
    """The IANA zone of a schedule, preview, proposal or automation; UTC where it names none that is known here."""
    schedule = automation.get("schedule")
    named = schedule.get("timezone") if isinstance(schedule, Mapping) else None
    return named if isinstance(named, str) and is_zone(named) else FALLBACK


def time_in(zone: str, wire: str | None) -> str | None:
    """A time of the wire by the clock of a zone, to the second."""
    if wire is None:
        return None
    there = datetime.fromisoformat(wire).astimezone(ZoneInfo(zone))
    wall = wall_time(ZoneInfo(zone), there)
    offset = f" ({there.replace(microsecond=0).isoformat()[19:]})" if is_doubled(ZoneInfo(zone), wall) else ""
    return f"{wall:%Y-%m-%d %H:%M:%S}{offset}"


def named_time(automation: Json, wire: str | None) -> str | None:
    """A time of the wire by the automation's own clock, with the name of its zone."""
    zone = zone_of(automation)
    time = time_in(zone, wire)
    return None if time is None else f"{time} {zone}"
