"""The schedule as it is asked for and stored: what is one, what is none and why, and one form for equal ones (U2)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.refusal import Refusal
from domain.schedule import Schedule, schedule_of
from domain.schedule_cron import CronFields, cron_fields

BERLIN = "Europe/Berlin"
LONGEST_INTERVAL_S = 316_224_000


def accepted_form(given_form: object) -> dict[str, Any]:
    read = schedule_of(given_form)
    assert isinstance(read, Schedule), read
    return read.stored()


def cron(expression: str) -> dict[str, Any]:
    return {"cron": {"expression": expression}, "timezone": BERLIN}


def once(at: str, zone: str = BERLIN) -> dict[str, Any]:
    return {"once": {"at": at}, "timezone": zone}


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        (cron(" 0  8 * *\tMON-Fri "), cron("0 8 * * mon-fri")),
        ({**cron("0 8 * * *"), "once": None, "every": None}, cron("0 8 * * *")),
        ({"every": {"seconds": 60}}, {"every": {"seconds": 60, "offset_s": 0}, "timezone": "UTC"}),
        (
            {"every": {"seconds": 60, "offset_s": 59}, "timezone": BERLIN},
            {"every": {"seconds": 60, "offset_s": 59}, "timezone": BERLIN},
        ),
        (once("2027-03-01T08:00"), once("2027-03-01T08:00:00")),
        (once("2027-03-01 08:00:30"), once("2027-03-01T08:00:30")),
        (once("2027-03-01T08:00:00.000"), once("2027-03-01T08:00:00")),
        (once("2027-03-01T08:00+01:00"), once("2027-03-01T07:00:00Z")),
        (once("2027-03-01t08:00:00.000z"), once("2027-03-01T08:00:00Z")),
        ({"once": {"at": "2027-03-01T08:00-0530"}}, once("2027-03-01T13:30:00Z", "UTC")),
        (once("2027-03-01T08:00", "Etc/GMT+5"), once("2027-03-01T08:00:00", "Etc/GMT+5")),
        (
            once("2027-03-01T08:00", "America/Argentina/Buenos_Aires"),
            once("2027-03-01T08:00:00", "America/Argentina/Buenos_Aires"),
        ),
    ],
)
def test_what_is_asked_for_has_one_stored_form_that_reads_as_itself(asked: object, stored: dict[str, Any]) -> None:
    """U2: one-off, interval and cron; the zone is UTC where none is needed."""
    assert accepted_form(asked) == stored
    assert accepted_form(stored) == stored


@pytest.mark.parametrize(
    ("asked", "field", "limit", "value", "words"),
    [
        ({}, "schedule", 1, 0, "exactly one"),
        ({**cron("0 8 * * *"), "every": {"seconds": 5}}, "schedule", 1, 2, "exactly one"),
        (None, "schedule", None, None, "dictionary"),
        ([], "schedule", None, None, "dictionary"),
        ({**cron("0 8 * * *"), "seconds": 5}, "schedule.seconds", None, None, "not known"),
        ({"every": {"seconds": 5, "unit": "h"}}, "schedule.every.unit", None, None, "not known"),
        ({"every": {"seconds": 0}}, "schedule.every.seconds", 1, 0, "greater than or equal to 1"),
        ({"every": {"seconds": -5}}, "schedule.every.seconds", 1, -5, "greater than or equal to 1"),
        (
            {"every": {"seconds": LONGEST_INTERVAL_S + 1}}, "schedule.every.seconds", LONGEST_INTERVAL_S,
            LONGEST_INTERVAL_S + 1, "less than or equal",
        ),
        ({"every": {"seconds": 10**40}}, "schedule.every.seconds", LONGEST_INTERVAL_S, None, "less than or equal"),
        ({"every": {"seconds": "5"}}, "schedule.every.seconds", None, None, "valid integer"),
        ({"every": {"seconds": True}}, "schedule.every.seconds", None, None, "valid integer"),
        ({"every": {"seconds": 1.5}}, "schedule.every.seconds", None, None, "valid integer"),
        ({"every": {"seconds": 5, "offset_s": 5}}, "schedule.every", 4, 5, "smaller than seconds (5)"),
        ({"every": {"seconds": 5, "offset_s": -1}}, "schedule.every.offset_s", 0, -1, "greater than or equal to 0"),
        ({"cron": {"expression": "0 8 * * *"}}, "schedule", None, None, "name the IANA time zone"),
        ({"once": {"at": "2027-03-01T08:00"}}, "schedule", None, None, "name the IANA time zone"),
        (once("2027-03-01T08:00", "Berlin"), "schedule.timezone", None, None, "Europe/Berlin"),
        (once("2027-03-01T08:00", ""), "schedule.timezone", 1, 0, "at least 1 character"),
        (once("2027-03-01T08:00", "A" * 65), "schedule.timezone", 64, 65, "at most 64 characters"),
        (once("tomorrow at 8"), "schedule.once.at", None, None, "2027-03-01T08:00"),
        (once("2027-03-01"), "schedule.once.at", None, None, "write it like"),
        (once("08:00"), "schedule.once.at", None, None, "write it like"),
        (once("2027-02-30T08:00"), "schedule.once.at", None, None, "write it like"),
        (once("2027-03-01T24:01"), "schedule.once.at", None, None, "write it like"),
        (once("2027-03-01T08:00:00.5"), "schedule.once.at", None, None, "whole seconds"),
        (once("2027-03-01T08:00+25:00"), "schedule.once.at", None, None, "write it like"),
        (once("2027-03-01T08:00[Europe/Berlin]"), "schedule.once.at", None, None, "write it like"),
        (once("２０２７-03-01T08:00"), "schedule.once.at", None, None, "write it like"),
        (once("1969-12-31T23:59"), "schedule.once.at", 8999, 1969, "1970"),
        (once("1970-01-01T00:00+05:00"), "schedule.once.at", 8999, 1969, "1970"),
        (once("9999-12-31T23:59-10:00"), "schedule.once.at", 8999, 9999, "8999"),
        (once("0001-01-01T00:00+10:00"), "schedule.once.at", 8999, 1, "1970"),
        ({"once": {"at": 5}, "timezone": BERLIN}, "schedule.once.at", None, None, "valid string"),
    ],
)  # fmt: skip
def test_what_is_no_schedule_is_refused_with_its_field_and_limit(
    asked: object, field: str, limit: int | None, value: int | None, words: str
) -> None:
    """U2, api.md: the refusal says where, which limit, by what value, and what to do."""
    refusal = schedule_of(asked)
    assert isinstance(refusal, Refusal), refusal
    assert refusal.code == "invalid_params"
    assert words in refusal.message
    assert refusal.message.startswith(f"{field}: ")
    expected = {"field": field, "limit": limit, "value": value}
    assert dict(refusal.details) == {name: detail for name, detail in expected.items() if detail is not None}


@pytest.mark.parametrize(
    ("expression", "limit", "value", "words"),
    [
        ("", 5, 0, "5 fields"),
        ("0 8 * *", 5, 4, "5 fields"),
        ("0 0 8 * * *", 5, 6, "without seconds"),
        ("@daily", 5, 1, "@names"),
        ("60 8 * * *", 59, 60, "minute: a number from 0 to 59"),
        ("0 24 * * *", 23, 24, "hour: a number from 0 to 23"),
        ("0 8 0 * *", 31, 0, "day of month: a number from 1 to 31"),
        ("0 8 32 * *", 31, 32, "day of month"),
        ("0 8 * 13 *", 12, 13, "month: a number from 1 to 12 or a name such as jan"),
        ("0 8 * * 8", 7, 8, "weekday: a number from 0 to 7 or a name such as sun"),
        ("0 8 * * monday", 7, None, "“monday”"),
        ("0 8 * mon *", 12, None, "“mon”"),
        ("mon 8 * * *", 59, None, "minute"),
        ("0 8 L * *", 31, None, "“l”"),
        ("0 8 15W * *", 31, None, "“15w”"),
        ("0 8 * * 5#2", 7, None, "“5#2”"),
        ("0 8 ? * *", 31, None, "“?”"),
        ("0 8-6 * * *", 6, 8, "a range goes upwards"),
        ("0 8 * * fri-mon", 1, 5, "write its two parts as a list"),
        ("0 8 * * 6-0", 0, 6, "a range goes upwards"),
        ("5/15 * * * *", None, None, "write “5-59/15”"),
        ("*/0 * * * *", 60, None, "a step is a number from 1 to 60"),
        ("*/90 * * * *", 60, None, "a step is a number from 1 to 60"),
        ("*/ * * * *", 60, None, "a step"),
        ("*/5/5 * * * *", 60, None, "a step"),
        ("1,,2 * * * *", 59, None, "“”"),
        ("1- * * * *", 59, None, "“”"),
        ("-1 * * * *", 59, None, "“”"),
        ("1-2-3 * * * *", 59, None, "“2-3”"),
        ("*-5 * * * *", 59, None, "“*”"),
        ("1,* * * * *", None, None, "meaningless"),
        ("+1 * * * *", 59, None, "“+1”"),
        ("٣ * * * *", 59, None, "minute"),
        ("007 * * * *", 59, None, "“007”"),
        ("0 8 * * \u202efri", 7, None, "U+202E"),
        ("30 2 31 2 *", None, None, "no month it names has a day 31"),
        ("30 2 30,31 feb *", None, None, "no month it names has a day 30"),
        ("0 0 31 4,6,9,11 */2", None, None, "would never run"),
        ("0 8 * * " + ",".join(["1"] * 100), 200, 207, "at most 200 characters"),
    ],
)
def test_what_is_no_expression_is_refused_by_its_field(
    expression: str, limit: int | None, value: int | None, words: str
) -> None:
    """U2: five fields and nothing beyond them; one that could never fire is none either."""
    refusal = schedule_of(cron(expression))
    assert isinstance(refusal, Refusal), refusal
    assert words in refusal.message
    expected = {"field": "schedule.cron.expression", "limit": limit, "value": value}
    assert dict(refusal.details) == {name: detail for name, detail in expected.items() if detail is not None}


def fields(expression: str) -> CronFields:
    read = cron_fields(expression)
    assert isinstance(read, CronFields), read
    return read


def test_fields_hold_what_the_expression_says() -> None:
    """U2: lists, ranges, steps, names, and weekday 7 as Sunday."""
    read = fields("5,*/20 08-10/2 1,31 JAN-mar,12 fri-sun")
    assert read.minutes == (0, 5, 20, 40)
    assert read.hours == (8, 10)
    assert read.days == (1, 31)
    assert read.months == (1, 2, 3, 12)
    assert read.weekdays == (0, 5, 6)
    assert fields("* * * * 7").weekdays == fields("* * * * sun").weekdays == (0,)
    assert fields("* * * * sun-tue").weekdays == (0, 1, 2)
    assert fields("* * * * sun-sun").weekdays == (0,)
    assert fields("* * * * 0-7").weekdays == fields("* * * * *").weekdays == (0, 1, 2, 3, 4, 5, 6)
    assert fields("* * * * */7").weekdays == (0,)
    assert fields("0 0 29 2 *").days == (29,)
    assert fields("*/60 */24 */31 */12 *").minutes == (0,)


@pytest.mark.parametrize(
    ("hour", "by_elapsed_time"),
    [("*", True), ("*/2", True), ("*/5,3", True), ("2", False), ("8-18", False), ("0-23", False), ("0-23/2", False),
     ("1,2,3", False)],
)  # fmt: skip
def test_a_star_hour_goes_by_elapsed_time_and_a_named_one_by_the_clock(hour: str, by_elapsed_time: bool) -> None:
    """U2: `*` or a step of it; lists and ranges name their hours."""
    assert fields(f"*/15 {hour} * * *").by_elapsed_time is by_elapsed_time


@pytest.mark.parametrize(
    ("day", "weekday", "either"),
    [("13", "5", True), ("*", "5", False), ("13", "*", False), ("*/2", "5", False), ("13", "*/2", False),
     ("*", "*", False), ("31", "sun", True)],
)  # fmt: skip
def test_two_restricted_day_fields_mean_either(day: str, weekday: str, either: bool) -> None:
    """U2: as in cron; so a day that its month never has is no fault beside a weekday."""
    assert fields(f"0 0 {day} 2 {weekday}").either_day is either


@pytest.mark.parametrize(
    "zone",
    ["localtime", "posixrules", "Factory", "right/UTC", "posix/UTC", "../UTC", "/etc/passwd", "Europe", "Europe/",
     "Europe/Berlin/", "Europe//Berlin", "Europe/Berlin\n", "UTC\0", "tzdata.zi", "Europe/Nowhere", "+01:00", "ＵＴＣ"],
)  # fmt: skip
def test_what_is_no_zone_of_the_table_is_refused(zone: str) -> None:
    """U2: an IANA zone; no path and nothing that is this machine's own."""
    refusal = schedule_of({"every": {"seconds": 5}, "timezone": zone})
    assert isinstance(refusal, Refusal)
    assert refusal.details["field"] == "schedule.timezone"


NUMBERS = st.integers(0, 70).map(str) | st.sampled_from(["mon", "sun", "jan", "DEC", "L", ""])
ELEMENTS = st.one_of(
    st.just("*"), NUMBERS, st.tuples(NUMBERS, NUMBERS).map("-".join), st.tuples(st.just("*"), NUMBERS).map("/".join)
)
EXPRESSIONS = st.lists(st.lists(ELEMENTS, min_size=1, max_size=3).map(",".join), min_size=5, max_size=5).map(" ".join)
KINDS = st.fixed_dictionaries(
    {},
    optional={
        "once": st.fixed_dictionaries(
            {"at": st.datetimes().map(lambda at: at.isoformat()[:19]) | st.text(max_size=30)}
        ),
        "every": st.fixed_dictionaries(
            {"seconds": st.integers(-5, 10**10)}, optional={"offset_s": st.integers(-5, 10**6)}
        ),
        "cron": st.fixed_dictionaries({"expression": EXPRESSIONS | st.text(max_size=30)}),
        "timezone": st.sampled_from(["UTC", BERLIN, "Pacific/Apia"]) | st.text(max_size=10),
    },
)


@given(KINDS)
def test_anything_is_either_refused_or_reads_back_as_itself(asked: dict[str, Any]) -> None:
    """U2: no third outcome, and the stored form is a fixed point."""
    read = schedule_of(asked)
    if isinstance(read, Refusal):
        assert read.code == "invalid_params"
        assert str(read.details["field"]).startswith("schedule")
    else:
        assert schedule_of(read.stored()) == read
        assert accepted_form(read.stored()) == read.stored()
