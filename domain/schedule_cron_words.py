"""What a cron expression says to a person (U9), in both languages, without its zone.

The hard thing is honesty: nothing is said that is true for most days only; what has no plain sentence is shown as its
expression with every field spelled out.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from domain.schedule import Cron
from domain.schedule_cron import LONGEST_MONTH, CronFields

Words = dict[str, str]

_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_WEEKDAYS_ZH: Final = ("周日", "周一", "周二", "周三", "周四", "周五", "周六")
_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_WORK_WEEK: Final = (1, 2, 3, 4, 5)
_LISTED: Final = 6
_MINUTES: Final = 60
_HOURS: Final = 24
_DAYS: Final = 31
_FEBRUARY: Final = 2
_COMMON_FEBRUARY: Final = 28
_EVERY_DAY: Final = {"en": "every day", "zh": "每天"}


def cron_words(cron: Cron) -> Words:
    """Say what an expression names, by language: `en` and `zh`."""
    fields = cron.fields
    days = _days(fields)
    if days is not None and len(fields.minutes) * len(fields.hours) <= _LISTED:
        clocks = [_clock(hour, minute) for hour in fields.hours for minute in fields.minutes]
        return {"en": f"{days['en']} at {_and(clocks)}", "zh": f"{days['zh']} {'、'.join(clocks)}"}
    rhythm = _rhythm(fields)
    if days is None or rhythm is None:
        return _spelled_out(cron)
    if days == _EVERY_DAY and _at_all_hours(fields):
        return rhythm
    return {"en": f"{rhythm['en']}, {days['en'].rstrip(',')}", "zh": f"{days['zh']} {rhythm['zh']}"}


def _rhythm(fields: CronFields) -> Words | None:
    """What comes again within a day; None where it does not come evenly."""
    minutes, hours = fields.minutes, fields.hours
    through_the_hour = minutes[0] == 0 and (_step(minutes) or 0) * len(minutes) == _MINUTES
    if _at_all_hours(fields):
        return _every(_step(minutes), "minute", "分钟") if through_the_hour else _hourly(minutes)
    if through_the_hour and _step(hours) in (None, 1):
        every = _every(_step(minutes), "minute", "分钟")
    elif len(minutes) == 1 and _step(hours) is not None:
        every = _every(_step(hours), "hour", "小时")
    else:
        return None
    first, last = _clock(hours[0], minutes[0]), _clock(hours[-1], minutes[-1])
    return {"en": f"{every['en']} from {first} to {last}", "zh": f"{first} 至 {last} {every['zh']}"}


def _at_all_hours(fields: CronFields) -> bool:
    # The range of all hours runs once in a doubled hour, so it is shown as the range it is.
    return fields.by_elapsed_time and len(fields.hours) == _HOURS


def _hourly(minutes: Sequence[int]) -> Words | None:
    if len(minutes) > _LISTED:
        return None
    numbers = [str(minute) for minute in minutes]
    plural = "s" if len(numbers) > 1 else ""
    return {"en": f"every hour at minute{plural} {_and(numbers)}", "zh": f"每小时第 {'、'.join(numbers)} 分"}


def _days(fields: CronFields) -> Words | None:
    """The days, with their months; None where they are too many to name or both day fields have to fit."""
    any_date, any_weekday = len(fields.days) == _DAYS, len(fields.weekdays) == len(_WEEKDAYS)
    if any_date and any_weekday:
        return _in_months(_EVERY_DAY, fields.months)
    if any_date:
        return _in_months(_weekdays(fields.weekdays), fields.months)
    if len(fields.days) > _LISTED or not (any_weekday or fields.either_day):
        return None
    dates = _dates(fields.days, fields.months)
    if any_weekday:
        return dates
    weekdays = _in_months(_weekdays(fields.weekdays), fields.months)
    return {"en": f"{dates['en']}, and also {weekdays['en']},", "zh": f"{dates['zh']}以及{weekdays['zh']}"}


def _weekdays(weekdays: Sequence[int]) -> Words:
    if tuple(weekdays) == _WORK_WEEK:
        return {"en": "every weekday", "zh": "每个工作日"}
    # Sunday comes last, as in a list that a person writes.
    ordered = sorted(weekdays, key=lambda day: day or len(_WEEKDAYS))
    chinese = "、".join(_WEEKDAYS_ZH[day] for day in ordered)
    return {"en": f"every {_and([_WEEKDAYS[day] for day in ordered])}", "zh": f"每{chinese}"}


def _dates(days: Sequence[int], months: Sequence[int]) -> Words:
    everywhere = all(
        days[-1] <= (_COMMON_FEBRUARY if month == _FEBRUARY else LONGEST_MONTH[month - 1]) for month in months
    )
    missing, missing_zh = (
        ("", "") if everywhere else (f" where {'they exist' if len(days) > 1 else 'it exists'}", "（有该日时）")
    )
    if len(days) == len(months) == 1:
        day, month = days[0], months[0]
        return {
            "en": f"every year on {day} {_MONTHS[month - 1]}{missing}",
            "zh": f"每年 {month} 月 {day} 日{missing_zh}",
        }
    numbers = [str(day) for day in days]
    plural = "s" if len(numbers) > 1 else ""
    english, chinese = f"on day{plural} {_and(numbers)}", f"{'、'.join(numbers)} 日"
    if len(months) == len(_MONTHS):
        return {"en": f"{english} of every month{missing}", "zh": f"每月 {chinese}{missing_zh}"}
    return {
        "en": f"{english} of {_and([_MONTHS[month - 1] for month in months])}{missing}",
        "zh": f"每年 {_months_zh(months)} {chinese}{missing_zh}",
    }


def _in_months(days: Words, months: Sequence[int]) -> Words:
    if len(months) == len(_MONTHS):
        return days
    named = _and([_MONTHS[month - 1] for month in months])
    return {"en": f"{days['en']} in {named}", "zh": f"每年 {_months_zh(months)}的{days['zh']}"}


def _spelled_out(cron: Cron) -> Words:
    fields = cron.fields
    parts = (
        ("minute", "分", _runs(fields.minutes, _MINUTES)),
        ("hour", "时", _runs(fields.hours, _HOURS)),
        ("day of month", "日", _runs(fields.days, _DAYS)),
        ("month", "月", _runs(fields.months, len(_MONTHS))),
        ("weekday (0 is Sunday)", "周（0 为周日）", _runs(fields.weekdays, len(_WEEKDAYS))),
    )
    english = "; ".join(f"{name} {values or 'any'}" for name, _, values in parts)
    chinese = "；".join(f"{name} {values or '任意'}" for _, name, values in parts)
    restricted = len(fields.days) < _DAYS and len(fields.weekdays) < len(_WEEKDAYS)
    if restricted and fields.either_day:
        english, chinese = f"{english}; either of the two days is enough", f"{chinese}；日与周满足其一即可"
    elif restricted:
        english, chinese = f"{english}; both days have to fit", f"{chinese}；日与周须同时满足"
    return {"en": f"cron “{cron.expression}”: {english}", "zh": f"cron “{cron.expression}”：{chinese}"}


def _runs(values: Sequence[int], size: int) -> str:
    """The values with neighbours as ranges; nothing where they are all there are."""
    if len(values) == size:
        return ""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _step(values: Sequence[int]) -> int | None:
    """The one distance between neighbours; None for a single value and for uneven ones."""
    steps = {later - earlier for earlier, later in pairwise(values)}
    return steps.pop() if len(steps) == 1 else None


def _every(count: int | None, unit: str, unit_zh: str) -> Words:
    return {
        "en": f"every {unit}" if count == 1 else f"every {count} {unit}s",
        "zh": f"每{unit_zh if count == 1 else f' {count} {unit_zh}'}",
    }


def _months_zh(months: Sequence[int]) -> str:
    return f"{'、'.join(map(str, months))} 月"


def _clock(hour: int, minute: int) -> str:
    return f"{hour:02}:{minute:02}"


def _and(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
