"""Instants of schedules: kinds, changes that people know, and the laws that any schedule keeps (U1, U2, U4)."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise, takewhile
from typing import Any

import pytest
from cronsim import CronSim
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.occurrences import instants_after, is_recurring, latest_between, next_instants
from domain.schedule import Schedule
from domain.schedule_cron import LAST_YEAR

FIELDS = (
    st.sampled_from(["0", "30", "*/15", "*", "5,20,59", "10-50/20", "*/7"]),
    st.sampled_from(["*", "*/2", "*/5", "0", "2", "0-3", "8-18/2", "1,2,3,23"]),
    st.sampled_from(["*", "*", "1-7", "*/2", "25-31", "29,30"]),
    st.sampled_from(["*", "*", "mar,apr", "9-12", "*/3"]),
    st.sampled_from(["*", "*", "sun", "0,6", "5-7", "1-5", "*/3", "fri-sun"]),
)
CRON = st.tuples(*FIELDS).map(" ".join)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia"])
YEARS = (datetime.fromisoformat("2009-01-01"), datetime.fromisoformat("2031-01-01"))
WHEN = st.datetimes(*YEARS, timezones=st.just(UTC))


def schedule(**kind: Any) -> Schedule:
    return Schedule.model_validate(kind)


def cron(expression: str, zone: str = "UTC") -> Schedule:
    return schedule(cron={"expression": expression}, timezone=zone)


@st.composite
def intervals(draw: st.DrawFn) -> Schedule:
    seconds = draw(st.sampled_from([1, 7, 60, 3600, 86400, 86400 * 400]) | st.integers(1, 10**8))
    return schedule(every={"seconds": seconds, "offset_s": draw(st.integers(0, seconds - 1))})


ONE_TIMES = st.builds(
    lambda at, zone: schedule(once={"at": at.strftime("%Y-%m-%dT%H:%M:%S")}, timezone=zone),
    st.datetimes(*YEARS), ZONES,
)  # fmt: skip
RECURRING = st.builds(cron, CRON, ZONES) | intervals()
ANY = RECURRING | ONE_TIMES


def local(zone: str, expression: str, after: str, count: int) -> list[str]:
    """The next times as a clock in the zone shows them, with the offset."""
    one = cron(expression, zone)
    found = next_instants(one, datetime.fromisoformat(after), count)
    return [instant.astimezone(one.zone).strftime("%m-%d %H:%M %z") for instant in found]


@pytest.mark.parametrize(
    ("zone", "expression", "after", "expected"),
    [
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00Z", ["03-29 03:00 +0200", "03-30 02:30 +0200"]),
        ("Europe/Berlin", "*/20 2 * * *", "2026-03-28T12:00Z", ["03-29 03:00 +0200", "03-30 02:00 +0200"]),
        ("Europe/Berlin", "0 2,3 * * *", "2026-03-28T12:00Z", ["03-29 03:00 +0200", "03-30 02:00 +0200"]),
        ("Europe/Berlin", "30 2 * * *", "2026-10-24T12:00Z", ["10-25 02:30 +0200", "10-26 02:30 +0100"]),
        ("Europe/Berlin", "30 1-3 * * *", "2026-10-25T00:00Z",
         ["10-25 02:30 +0200", "10-25 03:30 +0100", "10-26 01:30 +0100"]),
        ("Europe/Berlin", "30 0-23 * * *", "2026-10-25T00:00Z", ["10-25 02:30 +0200", "10-25 03:30 +0100"]),
        ("Europe/Berlin", "30 * * * *", "2026-10-25T00:00Z",
         ["10-25 02:30 +0200", "10-25 02:30 +0100", "10-25 03:30 +0100"]),
        ("Europe/Berlin", "0 */2 * * *", "2026-10-24T21:30Z",
         ["10-25 00:00 +0200", "10-25 02:00 +0200", "10-25 02:00 +0100", "10-25 04:00 +0100"]),
        ("Europe/Berlin", "0 */2 * * *", "2026-03-28T22:30Z", ["03-29 00:00 +0100", "03-29 04:00 +0200"]),
        ("Europe/Berlin", "30 * * * *", "2026-03-29T00:00Z", ["03-29 01:30 +0100", "03-29 03:30 +0200"]),
        ("America/New_York", "30 1 * * *", "2026-10-31T12:00Z", ["11-01 01:30 -0400", "11-02 01:30 -0500"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2026-10-03T00:00Z", ["10-04 02:30 +1100", "10-05 02:15 +1100"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2026-04-04T00:00Z", ["04-05 01:45 +1100", "04-06 01:45 +1030"]),
        ("America/Sao_Paulo", "0 0 * * *", "2018-11-03T12:00Z", ["11-04 01:00 -0200", "11-05 00:00 -0200"]),
        ("Pacific/Apia", "0 8 * * *", "2011-12-29T12:00Z", ["12-29 08:00 -1000", "12-31 00:00 +1400"]),
        ("Pacific/Apia", "0 8 30 12 *", "2011-12-29T12:00Z", ["12-31 00:00 +1400", "12-30 08:00 +1400"]),
        ("Pacific/Apia", "0 * 30 12 *", "2011-12-29T12:00Z", ["12-30 00:00 +1400"]),
        ("Asia/Shanghai", "0 8 * * 1-5", "2026-12-04T12:00Z", ["12-07 08:00 +0800", "12-08 08:00 +0800"]),
        ("Asia/Kathmandu", "0 0 * * *", "2026-12-04T12:00Z", ["12-05 00:00 +0545", "12-06 00:00 +0545"]),
    ],
)  # fmt: skip
def test_the_changes_that_people_know(zone: str, expression: str, after: str, expected: list[str]) -> None:
    """U2: gaps, doubled hours, half-hour changes, a missing midnight and a missing day."""
    assert local(zone, expression, after, len(expected)) == expected


def test_two_restricted_day_fields_mean_either_but_a_star_means_both() -> None:
    """U2: day of month and weekday, as cron reads them."""
    either = next_instants(cron("0 9 13 * fri"), datetime(2026, 11, 1, tzinfo=UTC), 4)
    both = next_instants(cron("0 9 */2 * fri"), datetime(2026, 11, 1, tzinfo=UTC), 3)
    assert [one.day for one in either] == [6, 13, 20, 27]
    assert [(one.month, one.day) for one in both] == [(11, 13), (11, 27), (12, 11)]


def test_an_interval_is_counted_from_the_epoch_and_knows_no_zone() -> None:
    """U2: fixed interval with offset, elapsed time through a change."""
    two_hours = schedule(every={"seconds": 7200, "offset_s": 300}, timezone="Europe/Berlin")
    found = next_instants(two_hours, datetime(2026, 3, 28, 23, 0, tzinfo=UTC), 3)
    assert [one.isoformat() for one in found] == [
        "2026-03-29T00:05:00+00:00", "2026-03-29T02:05:00+00:00", "2026-03-29T04:05:00+00:00",
    ]  # fmt: skip
    assert next_instants(two_hours, found[0], 1) == [found[1]]
    assert next_instants(two_hours, found[0] - timedelta(microseconds=1), 1) == [found[0]]


@pytest.mark.parametrize(
    ("at", "zone", "instant"),
    [
        ("2026-12-01T08:00", "Europe/Berlin", "2026-12-01T07:00:00+00:00"),
        ("2026-12-01T08:00-05:00", "Europe/Berlin", "2026-12-01T13:00:00+00:00"),
        ("2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:00:00+00:00"),
        ("2026-10-25T02:30:10", "Europe/Berlin", "2026-10-25T00:30:10+00:00"),
        ("2026-10-25T01:30Z", "Europe/Berlin", "2026-10-25T01:30:00+00:00"),
        ("2011-12-30T17:45", "Pacific/Apia", "2011-12-30T10:00:00+00:00"),
    ],
)
def test_one_time_is_one_instant_and_then_nothing(at: str, zone: str, instant: str) -> None:
    """U2: an offset decides, else the zone: after the gap, or the first of two."""
    once = schedule(once={"at": at}, timezone=zone)
    due = datetime.fromisoformat(instant)
    assert next_instants(once, due - timedelta(seconds=1), 5) == [due]
    assert next_instants(once, due, 5) == []
    assert latest_between(once, due - timedelta(seconds=1), due, 5) == [due]
    assert latest_between(once, due, due + timedelta(days=1), 5) == []
    assert not is_recurring(once)


@settings(max_examples=150)
@given(CRON, WHEN)
def test_without_changes_an_expression_means_what_cronsim_says(expression: str, after: datetime) -> None:
    """U2: fields, names, ranges, steps, lists and the rule of the two day fields, against another program."""
    expected = list(islice(CronSim(expression.replace("fri-sun", "5-7"), after), 20))
    assert next_instants(cron(expression), after, 20) == expected


@given(ANY, WHEN, st.integers(0, 12), st.integers(0, 12))
def test_instants_ascend_and_go_on_wherever_one_looks(one: Schedule, after: datetime, first: int, then: int) -> None:
    """U1: the next instants do not depend on when they were asked for."""
    found = next_instants(one, after, first + then)
    assert all(earlier < later for earlier, later in pairwise([after, *found]))
    assert all(instant.tzinfo is UTC and instant.microsecond == 0 for instant in found)
    beginning = found[:first]
    assert next_instants(one, after, first) == beginning
    assert next_instants(one, beginning[-1] if beginning else after, then) == found[first:]
    assert len(found) == first + then or not is_recurring(one)


@given(ANY, WHEN, st.integers(0, 15))
def test_looking_from_between_two_instants_finds_the_later_one(one: Schedule, after: datetime, share: int) -> None:
    """U1: any moment before an instant and not before the one before it leads to it."""
    found = next_instants(one, after, 2)
    if len(found) == 2:
        between = found[0] + (found[1] - found[0]) * share / 16
        assert next_instants(one, between, 1) == [found[1]]


@given(
    ANY, WHEN, st.timedeltas(timedelta(0), timedelta(days=3)) | st.timedeltas(timedelta(0), timedelta(days=800)),
    st.integers(0, 40),
)  # fmt: skip
def test_what_was_missed_is_the_end_of_all_that_was_due(
    one: Schedule, after: datetime, length: timedelta, limit: int
) -> None:
    """U4: everything due in (after, until] is found, the latest first when there is a limit."""
    if one.every is not None and length > one.every.seconds * timedelta(seconds=5000):
        length = one.every.seconds * timedelta(seconds=5000)
    if one.cron is not None and one.cron.expression.startswith("*"):
        length = min(length, timedelta(days=10))
    due = list(takewhile(lambda instant: instant <= after + length, instants_after(one, after)))
    assert latest_between(one, after, after + length, limit) == due[max(len(due) - limit, 0) :]


@pytest.mark.parametrize("expression", ["* * * 1 *", "* 0-23 * 1 *", "*/5 * 1 1 *"])
def test_a_dense_part_long_ago_is_found_without_going_through_it(expression: str) -> None:
    """U4: after an outage of years the last times are those before the pause, however dense they were."""
    until = datetime(2026, 11, 30, tzinfo=UTC)
    found = latest_between(cron(expression), datetime(2016, 1, 1, tzinfo=UTC), until, 5)
    last = found[-1]
    assert len(found) == 5
    assert (last.year, last.month, last.hour) == (2026, 1, 23)
    assert next_instants(cron(expression), last, 1)[0].year == 2027


def test_there_is_an_end_of_calendars() -> None:
    """U2: nothing is looked for beyond them, and nothing breaks there."""
    late = datetime(LAST_YEAR + 1, 6, 1, tzinfo=UTC)
    for one in (cron("0 0 * * *", "Pacific/Apia"), cron("0 * * * *"), schedule(every={"seconds": 3600})):
        assert next_instants(one, late, 3) == []
        assert next_instants(one, datetime(2026, 1, 1, tzinfo=UTC), -1) == []
        assert latest_between(one, late, late - timedelta(days=1), 3) == []
