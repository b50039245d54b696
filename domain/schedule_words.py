"""What a schedule says to a person (U9), in both languages.

The hard thing is honesty: an interval knows no days, and a wall time that comes twice needs its offset beside it.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from domain.schedule import Every, Schedule
from domain.schedule_cron_words import cron_words
from domain.wall_time import is_doubled, wall_time

_DAY_S: Final = 24 * 3600
_UNITS: Final = ((3600, "hour", "小时"), (60, "minute", "分钟"), (1, "second", "秒"))


def schedule_words(schedule: Schedule) -> dict[str, str]:
    """Say when a schedule fires, by language: `en` and `zh`."""
    if schedule.every is not None:
        return _interval(schedule.every)
    if schedule.cron is not None:
        words = cron_words(schedule.cron)
        return {"en": f"{words['en']}, {schedule.timezone}", "zh": f"{words['zh']}（{schedule.timezone}）"}
    return _one_time(schedule)


def _one_time(schedule: Schedule) -> dict[str, str]:
    instant = schedule.one_time
    assert instant is not None
    wall = wall_time(schedule.zone, instant)
    day, clock = wall.date().isoformat(), _clock(wall)
    zone = schedule.timezone
    if is_doubled(schedule.zone, wall):
        zone = f"{zone}, {_offset(wall - instant.replace(tzinfo=None))}"
    return {"en": f"once, on {day} at {clock}, {zone}", "zh": f"仅一次：{day} {clock}（{zone}）"}


def _clock(wall: datetime) -> str:
    return wall.strftime("%H:%M:%S" if wall.second else "%H:%M")


def _offset(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    return f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def _interval(every: Every) -> dict[str, str]:
    size, unit, unit_zh = next(one for one in _UNITS if every.seconds % one[0] == 0)
    count = every.seconds // size
    english = f"every {unit}" if count == 1 else f"every {count} {unit}s"
    chinese = f"每{unit_zh}" if count == 1 else f"每 {count} {unit_zh}"
    if every.seconds == 1:
        return {"en": english, "zh": chinese}
    first = datetime.fromtimestamp(every.offset_s, UTC)
    if every.seconds == _DAY_S:
        return {"en": f"{english}, at {_clock(first)} UTC", "zh": f"{chinese}（{_clock(first)} UTC）"}
    since = _clock(first) if _DAY_S % every.seconds == 0 else f"{first.date().isoformat()} {_clock(first)}"
    return {"en": f"{english}, counted from {since} UTC", "zh": f"{chinese}（从 {since} UTC 算起）"}
