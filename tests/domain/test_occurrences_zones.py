"""Cron times in nine zones over ten years, against a computation that shares no code with the product (U2)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise, takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.occurrences import instants_after
from domain.schedule import Schedule
from tests.domain.schedule_model import SPANS, Window, all_instants, begin_of, end_of, named_between, windows

SECOND = timedelta(seconds=1)
FIXED = (
    "30 2 * * *",
    "0 0 * * *",
    "15 1,2,3 * * *",
    "59 23 * * sat,sun",
    "45 0-4 * 3,4,10,11 *",
    "0 8 * * mon-fri",
    "0 3 13 * fri",
    "30 2 29 2 *",
    "*/30 1-3 * * 0",
    "0 2 */2 * sun",
)
ELAPSED = ("*/15 * * * *", "0 */2 * * *", "30 * * * sun", "7 */5 * * *", "20,40 */1 * 3,10 *")
CHANGING = tuple(zone for zone in SPANS if windows(zone))

FIELDS = (
    st.sampled_from(["0", "30", "*/15", "*", "5,20,59", "10-50/20", "*/7"]),
    st.sampled_from(["*", "*/2", "*/5", "0", "1", "2", "0-3", "1-3/2", "1,2,3,23", "0-23", "22,0"]),
    st.sampled_from(["*", "*", "1-7", "*/2", "25-31", "29,30"]),
    st.sampled_from(["*", "*", "mar,apr", "9-12", "*/3"]),
    st.sampled_from(["*", "*", "sun", "0,6", "5-7", "1-5", "*/3"]),
)


def schedule(expression: str, zone: str) -> Schedule:
    return Schedule.model_validate({"cron": {"expression": expression}, "timezone": zone})


def instants(expression: str, zone: str, begin: datetime, end: datetime) -> list[datetime]:
    """The product's instants in [begin, end)."""
    return list(takewhile(lambda one: one < end, instants_after(schedule(expression, zone), begin - SECOND)))


def named_in(window: Window, expression: str) -> list[datetime]:
    slack = timedelta(days=1)
    return named_between(expression, window.begin - slack, window.end + slack)


def test_the_zones_change_as_often_as_they_are_known_to() -> None:
    """The bar of U2 would be empty without changes: these are in the tables that are used."""
    changes = {zone: len(windows(zone)) for zone in SPANS}
    assert changes["Europe/Berlin"] == changes["America/New_York"] == changes["Australia/Lord_Howe"] == 20
    assert changes["Africa/Casablanca"] >= 10
    assert changes["America/Sao_Paulo"] >= 18
    assert changes["Asia/Shanghai"] == 12
    assert changes["Asia/Kathmandu"] <= 1
    assert changes["Pacific/Apia"] >= 4


@pytest.mark.parametrize("zone", SPANS)
def test_fixed_hours_run_once_for_each_wall_time_through_ten_years(zone: str) -> None:
    """U2: a missing wall time runs at the first instant after the gap, a doubled one the first time only."""
    for expression in FIXED:
        expected = all_instants(expression, zone)
        assert expected
        assert instants(expression, zone, begin_of(zone), end_of(zone)) == expected, expression


@pytest.mark.parametrize("zone", CHANGING)
def test_hours_by_elapsed_time_run_at_each_real_minute_around_changes(zone: str) -> None:
    """U2: an hour `*` or a step runs in both passes of a doubled hour, and a gap takes nothing out of real time."""
    for expression in ELAPSED:
        for window in windows(zone):
            expected = window.by_elapsed_time(named_in(window, expression))
            assert instants(expression, zone, window.begin, window.end) == expected, (expression, window.begin)


@pytest.mark.parametrize("zone", CHANGING)
def test_quarters_of_an_hour_are_a_quarter_of_an_hour_apart(zone: str) -> None:
    """U2: each real quarter hour once, through a gap, ordinary days and a doubled hour."""
    begin, length = windows(zone)[0].begin, timedelta(days=220)
    found = instants("*/15 * * * *", zone, begin, begin + length)
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(minutes=15)}
    assert len(found) == length // timedelta(minutes=15)


def places() -> Iterator[tuple[str, int]]:
    return ((zone, number) for zone in CHANGING for number in range(len(windows(zone))))


@settings(max_examples=200)
@given(st.tuples(*FIELDS).map(" ".join), st.sampled_from(list(places())))
def test_any_expression_agrees_with_the_minutes_around_any_change(expression: str, place: tuple[str, int]) -> None:
    """U2: lists, ranges, steps and both day fields, in every zone that changes."""
    zone, number = place
    window = windows(zone)[number]
    named = named_in(window, expression)
    by_elapsed_time = expression.split()[1].startswith("*")
    expected = window.by_elapsed_time(named) if by_elapsed_time else window.by_wall_time(named)
    assert instants(expression, zone, window.begin, window.end) == expected
