"""English phrases about time (O2, U9): “every weekday at 8 in Berlin”, “tomorrow at 9”, “in 20 minutes”. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from typing import Final

from assistant.offline_parts_of_day import Part, hour_in
from assistant.offline_when import (
    WEEKEND,
    WORK_WEEK,
    Unclear,
    When,
    Zoned,
    after,
    clock_time,
    each_month,
    every,
    in_days,
    in_zone,
    next_time,
    on_date,
    on_days,
    on_weekday,
)
from assistant.offline_zones import zone_of
from assistant.prompts import Clock

_NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty-five": 45, "sixty": 60,
}  # fmt: skip
_UNITS: Final = {"second": 1, "minute": 60, "min": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_ORDINALS: Final = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "tenth": 10, "fifteenth": 15, "twentieth": 20,
}  # fmt: skip
_PARTS: Final = {
    "morning": Part.MORNING, "afternoon": Part.AFTERNOON, "evening": Part.EVENING, "tonight": Part.EVENING,
    "night": Part.NIGHT,
}  # fmt: skip
_N: Final = rf"(?P<count>\d{{1,6}}|{'|'.join(_NUMBERS)})"
_TIME: Final = (
    r"(?:(?P<named>noon|midnight)|(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?"
    r"(?: ?(?P<half>am|pm|a\.m\.?|p\.m\.?)| ?(?:o'clock|o’clock|h))?"
    r"(?: in the (?P<part>morning|afternoon|evening)| at (?P<late>night))?)"
)
_AT: Final = rf"(?:,? ?(?:at |@ ?)?{_TIME})?"
_DAY: Final = (
    r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
_LIST: Final = rf"(?P<days>{_DAY}s?(?:(?:, and |, | and | & ){_DAY}s?)*)"
_SPAN: Final = rf"(?P<since>{_DAY})s?(?: to | through | until |-){_DAY.replace('(?:', '(?P<until>', 1)}s?"

_ZONE: Final = re.compile(
    r"(?P<rest>.+?)(?:,? (?:in|for) (?!the )(?P<place>[^\W\d][\w/.'-]*(?: [^\W\d][\w.'-]*){0,2}?)(?: time)?"
    r"|,? \(?(?P<name>[A-Za-z]+/[A-Za-z_/+-]+|UTC|GMT)\)?|,? (?P<local>[^\W\d][\w.'-]*(?: [^\W\d][\w.'-]*)?) time)",
    re.IGNORECASE,
)
Groups = Mapping[str, str | None]
Meaning = Callable[[Groups, time | None, Zoned], When | Unclear | None]


def _at(said: Groups) -> time | Unclear | None:
    """The time of day that a phrase names; None for none, or for one that no clock shows."""
    if named := said.get("named"):
        return time(12) if named.lower() == "noon" else time(0)
    if (digits := said.get("hour")) is None:
        return None
    hour, minute, half = int(digits), int(said.get("minute") or 0), said.get("half")
    if half is not None:
        return clock_time(hour, minute, half[0].lower() + "m")
    # “Every evening at 6” and “tonight at 8” mean the later half of the day.
    part = _PARTS.get((said.get("part") or said.get("late") or said.get("of_day") or said.get("day") or "").lower())
    return hour_in(part, hour, minute) if part is not None else clock_time(hour, minute, None)


def _count(said: Groups) -> int:
    count = said.get("count")
    if count is None:
        return 1
    return int(count) if count.isdigit() else _NUMBERS[count.lower()]


def _unit(said: Groups) -> int:
    return _UNITS[(said.get("unit") or "").lower()]


def _day(name: str | None) -> int:
    return next(at for at, day in enumerate(_DAYS) if day.startswith((name or "").lower()[:3]))


def _span(said: Groups, at: time | None, now: Zoned) -> When | Unclear:
    since, until = _day(said.get("since")), _day(said.get("until"))
    days = [(day + 1) % 7 for day in range(since, until + 1 if until >= since else until + 8)]
    return on_days(WORK_WEEK if days == [1, 2, 3, 4, 5] else ",".join(map(str, sorted(days))), at, now)


def _weekly(said: Groups, at: time | None, now: Zoned) -> When | Unclear:
    names = re.split(r", and |, | and | & ", (said.get("days") or "").lower())
    if said.get("on") and not all(name.endswith("days") for name in names):
        # “On Monday” is one Monday, “on Mondays” are all.
        return on_weekday(_day(names[0]), at, now) if len(names) == 1 else Unclear("unsupported")
    return on_days(",".join(map(str, sorted({(_day(name) + 1) % 7 for name in names}))), at, now)


def _monthly(said: Groups, at: time | None, now: Zoned) -> When | Unclear | None:
    day = (said.get("day") or "").lower()
    digits = re.match(r"\d+", day)
    if day == "last":
        return Unclear("unsupported")
    if digits is None and day not in _ORDINALS:
        return None
    return each_month(int(digits[0]) if digits else _ORDINALS[day], at, now)


def _near(said: Groups, at: time | None, now: Zoned) -> When | Unclear:
    return in_days({"tomorrow": 1, "the day after tomorrow": 2}.get((said.get("day") or "").lower(), 0), at, now)


def _next_weekday(said: Groups, at: time | None, now: Zoned) -> When | Unclear:
    return on_weekday(_day(said.get("day")), at, now, not_today=said.get("next") is not None)


def _later(said: Groups, _at: time | None, now: Zoned) -> When | Unclear:
    return after(1, _unit(said) // 2, now) if said.get("halved") else after(_count(said), _unit(said), now)


def _date(said: Groups, at: time | None, now: Zoned) -> When | Unclear:
    try:
        day = date.fromisoformat(said.get("date") or "")
    except ValueError:
        return Unclear("no_such_day")
    return on_date(day, at, now)


_OF_DAY: Final = r"(?P<of_day>day|morning|afternoon|evening|night)"
_OF_DAYS: Final = r"(?P<of_day>morning|afternoon|evening|night)"
_NTH: Final = r"(?P<day>last|\d{1,2}(?:st|nd|rd|th)?|[a-z]+)(?: day)?"
_NEAR: Final = r"(?P<day>today|tonight|tomorrow|the day after tomorrow)"
_DATE: Final = r"(?:at |on )?(?P<date>\d{4}-\d{2}-\d{2})"
_UNIT: Final = r"(?P<unit>second|minute|min|hour)s?"
_RULES: Final[Sequence[tuple[str, Meaning]]] = (
    (rf"(?:every|each) (?:{_N} )?{_UNIT}", lambda said, _at, _now: every(_count(said), _unit(said))),
    (r"(?:every|each) half(?: an | |-)hour", lambda _said, _at, _now: every(30, 60)),
    (r"hourly|once an hour", lambda _said, _at, _now: every(1, 3600)),
    (rf"(?:(?:every|each) {_OF_DAY}|daily|once a day){_AT}", lambda _said, at, now: on_days("*", at, now)),
    (
        rf"(?:(?:every|each) (?:weekday|work(?:ing)? ?day)|(?:on )?(?:weekdays|work(?:ing)? ?days)){_AT}",
        lambda _said, at, now: on_days(WORK_WEEK, at, now),
    ),
    (rf"(?:(?:every|each) weekend|(?:on )?weekends){_AT}", lambda _said, at, now: on_days(WEEKEND, at, now)),
    (rf"(?:every |each |on )?(?:week |day )?(?:from )?{_SPAN}{_AT}", _span),
    (rf"(?:(?:every|each)(?: week)?(?: on)?|weekly on|(?P<on>on)) {_LIST}(?: {_OF_DAYS}s?)?{_AT}", _weekly),
    (rf"(?:on )?the {_NTH} (?:of|in) (?:every|each|the|a) month{_AT}", _monthly),
    (rf"(?:every month|each month|monthly),? on the {_NTH}{_AT}", _monthly),
    (rf"{_NEAR}(?: {_OF_DAYS})?{_AT}", _near),
    (rf"at {_TIME},? {_NEAR}", _near),
    (rf"(?:(?P<next>next)|on|this|on the next) (?P<day>{_DAY}){_AT}", _next_weekday),
    (rf"{_DATE}(?:,? | at |T)(?:at )?{_TIME}", _date),
    (_DATE, _date),
    (rf"in (?:{_N}|(?P<halved>half an)) (?P<unit>second|minute|min|hour|day|week)s?(?: from now)?", _later),
    (rf"(?:at|@) {_TIME}", lambda _said, at, now: next_time(at, now) if at is not None else None),
    (
        rf"(?:(?:every|each) (?:other|{_N}|second|third|last|year|week|month|quarter)"
        rf"(?: (?:{_DAY}|day|week|month|year)s?)*|yearly|weekly|monthly|fortnightly){_AT}",
        lambda _said, _at, _now: Unclear("unsupported"),
    ),
)
_COMPILED: Final = tuple((re.compile(pattern, re.IGNORECASE), meaning) for pattern, meaning in _RULES)


def english_when(phrase: str, clock: Clock) -> When | Unclear | None:
    """What a phrase means that was said at that moment; None when it is no phrase about time."""
    plain = " ".join(phrase.split()).strip(" ,;:")
    if (found := _in(plain, Zoned(clock.wall, clock.zone))) is not None:
        return found
    zoned = _ZONE.fullmatch(plain)
    if zoned is None:
        return None
    place = zoned["place"] or zoned["name"] or zoned["local"]
    zone = zone_of(place)
    found = _in(zoned["rest"], in_zone(clock, zone or clock.zone))
    return found if zone is not None or found is None else Unclear("unknown_place", place)


def english_time(phrase: str) -> time | None:
    """A time of day alone, as in “move it to 9”."""
    found = re.fullmatch(rf"(?:at )?{_TIME}", " ".join(phrase.split()), re.IGNORECASE)
    at = _at(found.groupdict()) if found else None
    return at if isinstance(at, time) else None


def _in(phrase: str, now: Zoned) -> When | Unclear | None:
    for pattern, meaning in _COMPILED:
        if (found := pattern.fullmatch(phrase)) is not None:
            said = found.groupdict()
            at = _at(said)
            if isinstance(at, Unclear):
                return at
            if at is None and (said.get("hour") or said.get("named")):
                return Unclear("no_such_time")
            return meaning(said, at, now)
    return None
