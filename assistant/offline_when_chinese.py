"""Chinese phrases about time (O2, U9): “每个工作日早上八点”, “明天 9 点”, “每隔 15 分钟”. Pure."""

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
from assistant.offline_zones import CHINESE, zone_of
from assistant.prompts import Clock

Groups = Mapping[str, str | None]
Meaning = Callable[[Groups, time | None, Zoned], When | Unclear | None]

_DIGITS: Final = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_UNITS: Final = {"秒": 1, "分": 60, "小时": 3600, "钟头": 3600, "天": 86_400, "周": 7 * 86_400, "星期": 7 * 86_400}
_WEEKDAYS: Final = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}
_NUMBER: Final = r"(?:\d{1,6}|[零〇一二两三四五六七八九十]{1,3})"
_PARTS: Final = {
    "凌晨": Part.SMALL_HOURS, "清晨": Part.MORNING, "早晨": Part.MORNING, "早上": Part.MORNING, "早": Part.MORNING,
    "上午": Part.MORNING, "中午": Part.NOON, "下午": Part.AFTERNOON, "傍晚": Part.EVENING, "晚上": Part.EVENING,
    "夜里": Part.NIGHT, "半夜": Part.NIGHT, "深夜": Part.NIGHT, "晚": Part.EVENING,
}  # fmt: skip
_PART: Final = "|".join(_PARTS)
_TIME: Final = (
    rf"(?:(?P<part>{_PART})\s*)?(?:(?P<hour>{_NUMBER})\s*(?:点钟?|时|[:：])\s*"
    rf"(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<minute>{_NUMBER})\s*分?|整)?|(?P<named>正午|午夜|零点))"
)
_AT: Final = rf"(?:\s*的?\s*(?:在\s*)?{_TIME}|\s*(?P<part_only>{_PART}))?"
_WEEK: Final = r"(?:周|星期|礼拜)"
_DAYS: Final = rf"(?P<days>[一二三四五六日天](?:\s*[和、，,及与]\s*{_WEEK}?[一二三四五六日天])*)"
_N: Final = rf"(?P<count>{_NUMBER})\s*个?"
_ZONE: Final = re.compile(
    rf"\s*[（(]\s*(?P<bracketed>[A-Za-z]+(?:/[A-Za-z_/+-]+)?|{'|'.join(CHINESE)})(?:时间)?\s*[）)]"
    rf"|\s*(?:按照?|在)?\s*(?P<place>{'|'.join(CHINESE)}|[A-Za-z][A-Za-z_/]*)\s*(?:的?当地)?时间\s*的?\s*"
)


def _number(said: str | None) -> int:
    text = said or "1"
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return int("".join(str(_DIGITS[digit]) for digit in text))
    return (_number(tens) if tens else 1) * 10 + (_number(ones) if ones else 0)


def _at(said: Groups) -> time | Unclear | None:
    """The time of day that a phrase names; None for none, or for one that no clock shows."""
    if named := said.get("named"):
        return time(12) if named == "正午" else time(0)
    if (said_hour := said.get("hour")) is None:
        return None
    quarter = {"一": 15, "三": 45}.get(said.get("quarter") or "")
    hour, minute = _number(said_hour), quarter or (30 if said.get("half") else _number(said.get("minute") or "0"))
    # The part may be the end of another word, as in 今晚.
    words = said.get("part") or said.get("near") or ""
    part = next((part for word, part in _PARTS.items() if words.endswith(word)), None)
    return hour_in(part, hour, minute) if part is not None else clock_time(hour, minute, None)


def _interval(said: Groups, _at: time | None, _now: Zoned) -> When | Unclear:
    unit_s = _UNITS[said.get("unit") or ""]
    return every(1, unit_s // 2) if said.get("halved") else every(_number(said.get("count")), unit_s)


def _weekly(said: Groups, at: time | None, now: Zoned) -> When | Unclear:
    days = {(_WEEKDAYS[day] + 1) % 7 for day in said.get("days") or "" if day in _WEEKDAYS}
    return on_days(",".join(map(str, sorted(days))), at, now)


def _near(said: Groups, at: time | None, now: Zoned) -> When | Unclear:
    return in_days({"明": 1, "后": 2, "大": 3}.get((said.get("near") or "")[0], 0), at, now)


def _next_weekday(said: Groups, at: time | None, now: Zoned) -> When | Unclear:
    day = _WEEKDAYS[said.get("day") or ""]
    if not said.get("next"):
        return on_weekday(day, at, now)
    # 下周 is the week after this one, which begins on Monday.
    return in_days(7 - now.wall.weekday() + day, at, now)


def _later(said: Groups, _at: time | None, now: Zoned) -> When | Unclear:
    unit_s = _UNITS[said.get("unit") or ""]
    return after(1, unit_s // 2, now) if said.get("halved") else after(_number(said.get("count")), unit_s, now)


def _date(said: Groups, at: time | None, now: Zoned) -> When | Unclear:
    year, month, day = said.get("year"), _number(said.get("month")), _number(said.get("day"))
    try:
        wanted = date(int(year) if year else now.wall.year, month, day)
        if year is None and wanted < now.wall.date():
            wanted = date(now.wall.year + 1, month, day)
    except ValueError:
        return Unclear("no_such_day")
    return on_date(wanted, at, now)


_RULES: Final[Sequence[tuple[str, Meaning]]] = (
    (rf"每隔?\s*(?:{_N})?\s*(?P<unit>小时|钟头|分|秒)钟?(?:一次)?", _interval),
    (r"每隔?\s*(?P<halved>半)\s*个?\s*(?P<unit>小时|钟头)(?:一次)?", _interval),
    (rf"(?:每天|每日|天天|每一天|每(?P<near>早|晚)){_AT}", lambda _said, at, now: on_days("*", at, now)),
    (
        rf"(?:每个?工作日|工作日|(?:每|从)?{_WEEK}一\s*(?:到|至|-)\s*{_WEEK}?五){_AT}",
        lambda _said, at, now: on_days(WORK_WEEK, at, now),
    ),
    (rf"(?:每个?|每逢)周末{_AT}", lambda _said, at, now: on_days(WEEKEND, at, now)),
    (rf"每个?{_WEEK}{_DAYS}{_AT}", _weekly),
    (
        rf"每个?月的?\s*(?P<day>{_NUMBER})\s*[号日]{_AT}",
        lambda said, at, now: each_month(_number(said.get("day")), at, now),
    ),
    (rf"(?P<near>今天|今日|今晚|今早|明天|明日|明早|明晚|后天|大后天){_AT}", _near),
    (rf"(?P<next>下个?)?(?:这个?|本)?{_WEEK}(?P<day>[一二三四五六日天]){_AT}", _next_weekday),
    (rf"(?P<year>\d{{4}})-(?P<month>\d{{2}})-(?P<day>\d{{2}})(?:\s+|T|\s*的?\s*)?{_AT}", _date),
    (rf"(?:(?P<year>\d{{4}})\s*年\s*)?(?P<month>{_NUMBER})\s*月\s*(?P<day>{_NUMBER})\s*[日号]{_AT}", _date),
    (rf"(?:过\s*)?(?:{_N}\s*(?P<unit>小时|钟头|分|秒|天|星期|周)钟?)\s*(?:之后|以后|后)", _later),
    (r"(?:过\s*)?(?P<halved>半)\s*个?\s*(?P<unit>小时|钟头)\s*(?:之后|以后|后)", _later),
    (_TIME, lambda _said, at, now: next_time(at, now) if at is not None else None),
    (
        rf"每隔?\s*(?:{_N})?\s*(?:天|日|周|星期|礼拜|个?月|年|季度)(?:一次)?(?:的?最后一天)?{_AT}",
        lambda _said, _at, _now: Unclear("unsupported"),
    ),
    (rf"每个?月的?(?:最后一天|月底){_AT}", lambda _said, _at, _now: Unclear("unsupported")),
)
_COMPILED: Final = tuple((re.compile(pattern), meaning) for pattern, meaning in _RULES)


def chinese_when(phrase: str, clock: Clock) -> When | Unclear | None:
    """What a phrase means that was said at that moment; None when it is no phrase about time."""
    plain = phrase.strip(" ,;:，；：、。\t\n").removeprefix("在").lstrip()
    if (zoned := _ZONE.search(plain)) is None:
        return _in(plain, Zoned(clock.wall, clock.zone))
    place = zoned["bracketed"] or zoned["place"]
    zone = zone_of(place)
    found = _in(plain[: zoned.start()] + plain[zoned.end() :], in_zone(clock, zone or clock.zone))
    return found if zone is not None or found is None else Unclear("unknown_place", place)


def chinese_time(phrase: str) -> time | None:
    """A time of day alone, as in “改到九点”."""
    found = re.fullmatch(_TIME, phrase.strip())
    at = _at(found.groupdict()) if found else None
    return at if isinstance(at, time) else None


def _in(phrase: str, now: Zoned) -> When | Unclear | None:
    for pattern, meaning in _COMPILED:
        if (found := pattern.fullmatch(phrase)) is not None:
            said = found.groupdict()
            at = _at(said)
            if isinstance(at, Unclear):
                return at
            if at is None and said.get("hour"):
                return Unclear("no_such_time")
            return meaning(said, at, now)
    return None
