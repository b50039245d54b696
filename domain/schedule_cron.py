"""Cron expressions of five fields (U2): what they may say, and the wall times they name.

The hard thing is what cron does not say aloud: two restricted day fields mean either of them, and an expression that
can never fire looks like any other.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Final

from domain.refusal import Detail, Refusal
from domain.visible_text import make_visible

EXPRESSION_CHARACTERS: Final = 200
LAST_YEAR: Final = 9000
"""Wall times after this year are not looked for: nothing is scheduled so far ahead, and calendars end in 9999."""

LONGEST_MONTH: Final = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Days of each month, in a leap year."""

_SHOWN: Final = 24
_NUMBER: Final = re.compile(r"[0-9]{1,2}")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SUNDAY: Final = 7


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five: its name, its range, and the names its numbers may have."""

    name: str
    first: int
    last: int
    names: Mapping[str, int]

    @property
    def size(self) -> int:
        """How many different values there are: 7 is Sunday as 0 is."""
        return 7 if self.name == "weekday" else self.last - self.first + 1


_FIELDS: Final = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of month", 1, 31, {}),
    _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Field("weekday", 0, _SUNDAY, {name: number for number, name in enumerate(_WEEKDAYS)}),
)


@dataclass(frozen=True, slots=True)
class CronFields:
    """A read expression: ascending values of each field; weekdays count from 0, Sunday.

    Attributes:
        by_elapsed_time: the hour is `*` or a step of it, so a change of the offset changes nothing in real time (U2).
        either_day: both day fields are restricted, so a day needs one of them only.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    by_elapsed_time: bool
    either_day: bool

    def fall_on(self, day: date) -> bool:
        """Whether a day is one of the expression's, its month set aside."""
        by_date, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.either_day else by_date and by_weekday


def plain_expression(expression: str) -> str:
    """The expression as it is stored: lower case, one space between fields."""
    return " ".join(expression.lower().split())


@lru_cache(maxsize=1024)
def cron_fields(expression: str) -> CronFields | Refusal:
    """Read an expression; a refusal `invalid_params` says which field, what of it and what is possible."""
    if len(expression) > EXPRESSION_CHARACTERS:
        words = f"a cron expression has at most {EXPRESSION_CHARACTERS} characters; this one has {len(expression)}"
        return _refusal(words, limit=EXPRESSION_CHARACTERS, value=len(expression))
    fields = plain_expression(expression).split()
    if len(fields) != len(_FIELDS):
        words = (
            "a cron expression has 5 fields (minute, hour, day of month, month, weekday), without seconds, years and "
            f"@names; this one has {len(fields)}"
        )
        return _refusal(words, limit=len(_FIELDS), value=len(fields))
    read: list[tuple[int, ...]] = []
    for field, text in zip(_FIELDS, fields, strict=True):
        values = _values(field, text)
        if isinstance(values, Refusal):
            return values
        read.append(values)
    minutes, hours, days, months, weekdays = read
    _, hour, day, _, weekday = fields
    either_day = "*" not in day and "*" not in weekday
    if not either_day and all(days[0] > LONGEST_MONTH[month - 1] for month in months):
        return _refusal(f"no month it names has a day {days[0]}, so it would never run; name another day or month")
    return CronFields(minutes, hours, days, months, weekdays, by_elapsed_time="*" in hour, either_day=either_day)


def wall_times(fields: CronFields, since: datetime) -> Iterator[datetime]:
    """The wall times an expression names, from `since` on, ascending; whether a zone has them is not looked at."""
    for day in _days(fields, since.date()):
        for hour in fields.hours:
            if day == since.date() and hour < since.hour:
                continue
            for minute in fields.minutes:
                wall = datetime.combine(day, time(hour, minute))
                if wall >= since:
                    yield wall


def _days(fields: CronFields, first: date) -> Iterator[date]:
    day = first
    while day.year <= LAST_YEAR:
        if day.month not in fields.months:
            day = date(day.year + day.month // 12, day.month % 12 + 1, 1)
            continue
        if fields.fall_on(day):
            yield day
        day += timedelta(days=1)


def _values(field: _Field, text: str) -> tuple[int, ...] | Refusal:
    found: set[int] = set()
    elements = text.split(",")
    for element in elements:
        if element == "*" and len(elements) > 1:
            return _refusal(
                f"{field.name}: * in a list makes the rest of it meaningless; write * alone or leave it out"
            )
        values = _element(field, element)
        if isinstance(values, Refusal):
            return values
        found.update(values)
    if field.name == "weekday":
        found = {value % _SUNDAY for value in found}
    return tuple(sorted(found))


def _element(field: _Field, element: str) -> range | Refusal:
    span, slash, step_text = element.partition("/")
    step = 1
    if slash:
        if not _NUMBER.fullmatch(step_text) or not 1 <= int(step_text) <= field.size:
            words = f"{field.name}: a step is a number from 1 to {field.size}, not “{_shown(step_text)}”"
            return _refusal(words, limit=field.size)
        step = int(step_text)
    if span == "*":
        # 7 is the Sunday that 0 is: a step starts from 0 and ends before it.
        return range(field.first, field.first + field.size, step)
    first_text, dash, last_text = span.partition("-")
    first = _value(field, first_text)
    last = _value(field, last_text) if dash else first
    if isinstance(first, Refusal):
        return first
    if isinstance(last, Refusal):
        return last
    if slash and not dash:
        return _refusal(f"{field.name}: a step follows * or a range; write “{first}-{field.last}/{step}”")
    if dash and last_text == _WEEKDAYS[0] and first > 0:
        last = _SUNDAY
    if first > last:
        words = f"{field.name}: a range goes upwards, and “{_shown(span)}” does not; write its two parts as a list"
        return _refusal(words, limit=last, value=first)
    return range(first, last + 1, step)


def _value(field: _Field, text: str) -> int | Refusal:
    if text in field.names:
        return field.names[text]
    if _NUMBER.fullmatch(text) and field.first <= int(text) <= field.last:
        return int(text)
    named = f" or a name such as {next(iter(field.names))}" if field.names else ""
    words = f"{field.name}: a number from {field.first} to {field.last}{named} belongs here, not “{_shown(text)}”"
    return _refusal(words, limit=field.last, **({"value": int(text)} if _NUMBER.fullmatch(text) else {}))


def _shown(text: str) -> str:
    return make_visible(text[:_SHOWN], keep="")


def _refusal(words: str, **details: Detail) -> Refusal:
    return Refusal("invalid_params", words, {"field": "cron.expression", **details})
