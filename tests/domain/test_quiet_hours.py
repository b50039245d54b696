"""Quiet hours in zones that change, against a look at every minute's wall time (N2, N8)."""

from datetime import datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.quiet_hours import quiet_until
from tests.domain.schedule_model import MINUTE, SPANS, windows

BERLIN = "Europe/Berlin"
TIMES = st.times().map(lambda at: f"{at:%H:%M}")
NEAR_CHANGES = st.sampled_from(["00:00", "00:30", "01:00", "01:45", "02:00", "02:15", "02:30", "03:00", "22:00"])
CHANGING = tuple((zone, number) for zone in SPANS for number in range(len(windows(zone))))


def until(zone: str, start: str, end: str, now: str) -> str | None:
    """The end as a clock in the zone shows it, with the offset."""
    found = quiet_until(zone, start, end, datetime.fromisoformat(now))
    return None if found is None else f"{found.astimezone(ZoneInfo(zone)):%m-%d %H:%M:%S %z}"


@pytest.mark.parametrize(
    ("start", "end", "now", "expected"),
    [
        ("22:00", "07:00", "2026-12-01T21:59:59.999999+01:00", None),
        ("22:00", "07:00", "2026-12-01T22:00+01:00", "12-02 07:00:00 +0100"),
        ("22:00", "07:00", "2026-12-02T00:00+01:00", "12-02 07:00:00 +0100"),
        ("22:00", "07:00", "2026-12-02T06:59:59.999999+01:00", "12-02 07:00:00 +0100"),
        ("22:00", "07:00", "2026-12-02T07:00+01:00", None),
        ("12:00", "13:30", "2026-12-02T12:00Z", "12-02 13:30:00 +0100"),
        ("12:00", "13:30", "2026-12-02T12:30Z", None),
        ("12:00", "13:30", "2026-12-02T10:59Z", None),
        ("00:00", "23:59", "2026-12-02T12:00Z", "12-02 23:59:00 +0100"),
        ("23:00", "00:00", "2026-12-02T22:30Z", "12-03 00:00:00 +0100"),
        ("00:00", "00:00", "2026-12-02T12:00Z", None),
        ("08:00", "08:00", "2026-12-02T07:00Z", None),
        # The night that has an hour less: its end comes an hour sooner, or right after the gap.
        ("22:00", "07:00", "2026-03-28T23:00Z", "03-29 07:00:00 +0200"),
        ("22:00", "02:30", "2026-03-28T23:00Z", "03-29 03:00:00 +0200"),
        ("22:00", "03:00", "2026-03-28T23:00Z", "03-29 03:00:00 +0200"),
        ("02:15", "02:45", "2026-03-29T01:00Z", None),
        ("02:30", "04:00", "2026-03-29T00:59:59Z", None),
        ("02:30", "04:00", "2026-03-29T01:00Z", "03-29 04:00:00 +0200"),
        # The night that has an hour more: what the clock shows decides, in both passes.
        ("22:00", "07:00", "2026-10-24T22:00Z", "10-25 07:00:00 +0100"),
        ("22:00", "02:30", "2026-10-24T22:00Z", "10-25 02:30:00 +0200"),
        ("22:00", "02:30", "2026-10-25T00:45Z", None),
        ("22:00", "02:30", "2026-10-25T01:15Z", "10-25 02:30:00 +0100"),
        ("02:30", "07:00", "2026-10-25T00:45Z", "10-25 02:00:00 +0100"),
        ("02:30", "07:00", "2026-10-25T01:15Z", None),
        ("02:30", "07:00", "2026-10-25T01:30Z", "10-25 07:00:00 +0100"),
    ],
)
def test_when_it_is_quiet_in_berlin(start: str, end: str, now: str, expected: str | None) -> None:
    """N2: start inclusive, end exclusive, over midnight, through changes; equal times are never quiet."""
    assert until(BERLIN, start, end, now) == expected


def test_a_skipped_day_and_a_missing_midnight() -> None:
    """N2: in Apia the night of 29 December 2011 ended on the 31st; in Sao Paulo a day began at one."""
    assert until("Pacific/Apia", "22:00", "07:00", "2011-12-30T09:00Z") == "12-31 07:00:00 +1400"
    assert until("Pacific/Apia", "22:00", "23:30", "2011-12-30T09:00Z") == "12-29 23:30:00 -1000"
    assert until("Pacific/Apia", "22:00", "00:00", "2011-12-30T09:00Z") == "12-31 00:00:00 +1400"
    assert until("America/Sao_Paulo", "22:00", "00:30", "2018-11-04T02:00Z") == "11-04 01:00:00 -0200"


@cache
def walls(zone: str, number: int) -> tuple[tuple[datetime, time], ...]:
    """The minutes around a change with what a clock shows."""
    pairs = [(minute, wall.time()) for wall, minutes in windows(zone)[number].shown.items() for minute in minutes]
    return tuple(sorted(pairs))


def quiet(wall: time, start: str, end: str) -> bool:
    """Go through the clock's minutes from the start until the end is met."""
    shown, last, now = (int(text[:2]) * 60 + int(text[3:5]) for text in (start, end, wall.isoformat()))
    return (now - shown) % 1440 < (last - shown) % 1440


@settings(max_examples=300)
@given(st.sampled_from(CHANGING), TIMES | NEAR_CHANGES, TIMES | NEAR_CHANGES, st.integers(0, 2 * 1440 - 1))
def test_around_any_change_it_ends_with_the_first_minute_that_is_not_quiet(
    place: tuple[str, int], start: str, end: str, at: int
) -> None:
    """N2, N8: against every minute of the days around each change in eight zones."""
    minutes = walls(*place)
    now, wall = minutes[at]
    found = quiet_until(place[0], start, end, now)
    if not quiet(wall, start, end):
        assert found is None
        return
    loud = [minute for minute, shown in minutes[at:] if not quiet(shown, start, end)]
    assert found is not None
    assert found == (loud[0] if loud else found)
    assert loud or found > minutes[-1][0]
    assert quiet_until(place[0], start, end, found - MINUTE) == found
    assert quiet_until(place[0], start, end, now + timedelta(seconds=59, microseconds=7)) == found
    assert quiet_until(place[0], start, end, found) is None
