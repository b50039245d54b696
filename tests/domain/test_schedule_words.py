"""Schedules in words: what people read on cards and in lists, in both languages (U9)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.occurrences import next_instants
from domain.schedule import Schedule, schedule_of
from domain.schedule_words import schedule_words
from tests.domain.schedule_model import begin_of

BERLIN = "Europe/Berlin"


def words(given_form: dict[str, Any]) -> dict[str, str]:
    read = schedule_of(given_form)
    assert isinstance(read, Schedule), read
    return schedule_words(read)


@pytest.mark.parametrize(
    ("expression", "english", "chinese"),
    [
        ("0 8 * * 1-5", "every weekday at 08:00", "每个工作日 08:00"),
        ("0 8 * * mon,tue,wed,thu,fri", "every weekday at 08:00", "每个工作日 08:00"),
        ("0 8 * * *", "every day at 08:00", "每天 08:00"),
        ("30 8,18 * * mon,thu", "every Monday and Thursday at 08:30 and 18:30", "每周一、周四 08:30、18:30"),
        ("0 9 * * 0,6", "every Saturday and Sunday at 09:00", "每周六、周日 09:00"),
        ("0 9 * * 7", "every Sunday at 09:00", "每周日 09:00"),
        ("0 */6 * * *", "every day at 00:00, 06:00, 12:00 and 18:00", "每天 00:00、06:00、12:00、18:00"),
        ("*/30 9 * * *", "every day at 09:00 and 09:30", "每天 09:00、09:30"),
        ("* * * * *", "every minute", "每分钟"),
        ("*/1 * * * *", "every minute", "每分钟"),
        ("*/15 * * * *", "every 15 minutes", "每 15 分钟"),
        ("0-59/15 * * * *", "every 15 minutes", "每 15 分钟"),
        ("0 * * * *", "every hour at minute 0", "每小时第 0 分"),
        ("*/25 * * * *", "every hour at minutes 0, 25 and 50", "每小时第 0、25、50 分"),
        ("15 * * * 6", "every hour at minute 15, every Saturday", "每周六 每小时第 15 分"),
        ("0 0-23 * * *", "every hour from 00:00 to 23:00, every day", "每天 00:00 至 23:00 每小时"),
        ("0 */2 * * *", "every 2 hours from 00:00 to 22:00, every day", "每天 00:00 至 22:00 每 2 小时"),
        ("5 8-18 * * *", "every hour from 08:05 to 18:05, every day", "每天 08:05 至 18:05 每小时"),
        ("*/15 8-18 * * 1-5", "every 15 minutes from 08:00 to 18:45, every weekday",
         "每个工作日 08:00 至 18:45 每 15 分钟"),
        ("*/5 9 * * *", "every 5 minutes from 09:00 to 09:55, every day", "每天 09:00 至 09:55 每 5 分钟"),
        ("0 9 1 * *", "on day 1 of every month at 09:00", "每月 1 日 09:00"),
        ("0 9 1,15 * *", "on days 1 and 15 of every month at 09:00", "每月 1、15 日 09:00"),
        ("0 9 28 * *", "on day 28 of every month at 09:00", "每月 28 日 09:00"),
        ("0 9 29 * *", "on day 29 of every month where it exists at 09:00", "每月 29 日（有该日时） 09:00"),
        ("0 9 31 1,3 *", "on day 31 of January and March at 09:00", "每年 1、3 月 31 日 09:00"),
        ("0 9 15,31 3,4 *", "on days 15 and 31 of March and April where they exist at 09:00",
         "每年 3、4 月 15、31 日（有该日时） 09:00"),
        ("0 9 24 12 *", "every year on 24 December at 09:00", "每年 12 月 24 日 09:00"),
        ("0 9 29 2 *", "every year on 29 February where it exists at 09:00", "每年 2 月 29 日（有该日时） 09:00"),
        ("0 9 * 1,7 *", "every day in January and July at 09:00", "每年 1、7 月的每天 09:00"),
        ("0 9 * 3 1-5", "every weekday in March at 09:00", "每年 3 月的每个工作日 09:00"),
        ("0 9 13 * 5", "on day 13 of every month, and also every Friday, at 09:00", "每月 13 日以及每周五 09:00"),
        ("*/20 * 13 * 5", "every 20 minutes, on day 13 of every month, and also every Friday",
         "每月 13 日以及每周五 每 20 分钟"),
        ("*/7 9 * * *",
         "cron “*/7 9 * * *”: minute 0, 7, 14, 21, 28, 35, 42, 49, 56; hour 9; day of month any; month any; "
         "weekday (0 is Sunday) any",
         "cron “*/7 9 * * *”：分 0, 7, 14, 21, 28, 35, 42, 49, 56；时 9；日 任意；月 任意；周（0 为周日） 任意"),
        ("0 9 1-7 jan,feb MON",
         "cron “0 9 1-7 jan,feb mon”: minute 0; hour 9; day of month 1-7; month 1-2; weekday (0 is Sunday) 1; "
         "either of the two days is enough",
         "cron “0 9 1-7 jan,feb mon”：分 0；时 9；日 1-7；月 1-2；周（0 为周日） 1；日与周满足其一即可"),
        ("* 9 */15 * 1",
         "cron “* 9 */15 * 1”: minute any; hour 9; day of month 1, 16, 31; month any; weekday (0 is Sunday) 1; "
         "both days have to fit",
         "cron “* 9 */15 * 1”：分 任意；时 9；日 1, 16, 31；月 任意；周（0 为周日） 1；日与周须同时满足"),
        ("*/25 0-23 * * *",
         "cron “*/25 0-23 * * *”: minute 0, 25, 50; hour any; day of month any; month any; "
         "weekday (0 is Sunday) any",
         "cron “*/25 0-23 * * *”：分 0, 25, 50；时 任意；日 任意；月 任意；周（0 为周日） 任意"),
    ],
)  # fmt: skip
def test_cron_in_words(expression: str, english: str, chinese: str) -> None:
    """U9: common schedules have a sentence; an odd one is its expression with the fields spelled out."""
    said = words({"cron": {"expression": expression}, "timezone": BERLIN})
    assert said == {"en": f"{english}, Europe/Berlin", "zh": f"{chinese}（Europe/Berlin）"}


@pytest.mark.parametrize(
    ("seconds", "offset", "english", "chinese"),
    [
        (1, 0, "every second", "每秒"),
        (60, 0, "every minute, counted from 00:00 UTC", "每分钟（从 00:00 UTC 算起）"),
        (90, 30, "every 90 seconds, counted from 00:00:30 UTC", "每 90 秒（从 00:00:30 UTC 算起）"),
        (3600, 300, "every hour, counted from 00:05 UTC", "每小时（从 00:05 UTC 算起）"),
        (5400, 0, "every 90 minutes, counted from 00:00 UTC", "每 90 分钟（从 00:00 UTC 算起）"),
        (86400, 28800, "every 24 hours, at 08:00 UTC", "每 24 小时（08:00 UTC）"),
        (172800, 90000, "every 48 hours, counted from 1970-01-02 01:00 UTC",
         "每 48 小时（从 1970-01-02 01:00 UTC 算起）"),
        (7, 3, "every 7 seconds, counted from 1970-01-01 00:00:03 UTC", "每 7 秒（从 1970-01-01 00:00:03 UTC 算起）"),
    ],
)  # fmt: skip
def test_intervals_in_words(seconds: int, offset: int, english: str, chinese: str) -> None:
    """U9: from when an interval is counted is said, and that zones do not matter to it."""
    said = words({"every": {"seconds": seconds, "offset_s": offset}, "timezone": BERLIN})
    assert said == {"en": english, "zh": chinese}


@pytest.mark.parametrize(
    ("at", "zone", "moment", "place"),
    [
        ("2026-12-01T08:00", BERLIN, ("2026-12-01", "08:00"), "Europe/Berlin"),
        ("2026-12-01T08:00:05+08:00", BERLIN, ("2026-12-01", "01:00:05"), "Europe/Berlin"),
        ("2026-03-29T02:30", BERLIN, ("2026-03-29", "03:00"), "Europe/Berlin"),
        ("2026-10-25T02:30", BERLIN, ("2026-10-25", "02:30"), "Europe/Berlin, UTC+02:00"),
        ("2026-10-25T01:30Z", BERLIN, ("2026-10-25", "02:30"), "Europe/Berlin, UTC+01:00"),
        ("2026-11-01T06:30Z", "America/New_York", ("2026-11-01", "01:30"), "America/New_York, UTC-05:00"),
        ("2011-12-30T09:00", "Pacific/Apia", ("2011-12-31", "00:00"), "Pacific/Apia"),
    ],
)
def test_one_time_in_words_is_the_time_at_which_it_runs(
    at: str, zone: str, moment: tuple[str, str], place: str
) -> None:
    """U2, U9: a missing time is shown as it will run, a doubled one with the offset that tells which."""
    day, clock = moment
    said = words({"once": {"at": at}, "timezone": zone})
    assert said == {"en": f"once, on {day} at {clock}, {place}", "zh": f"仅一次：{day} {clock}（{place}）"}


FEW = st.lists(st.integers(0, 23), min_size=1, max_size=3, unique=True)


@given(FEW, st.integers(0, 59), st.lists(st.integers(0, 6), min_size=1, max_size=6, unique=True))
def test_the_clock_times_that_are_said_are_those_that_run(hours: list[int], minute: int, days: list[int]) -> None:
    """U9: the sentence of a plain schedule names each of its times, and no other."""
    expression = f"{minute} {','.join(map(str, hours))} * * {','.join(map(str, days))}"
    read = Schedule.model_validate({"cron": {"expression": expression}, "timezone": "Asia/Kathmandu"})
    runs = [one.astimezone(read.zone) for one in next_instants(read, begin_of("Asia/Kathmandu"), 21)]
    english, chinese = schedule_words(read).values()
    clocks = {f"{run:%H:%M}" for run in runs}
    assert clocks == {word.strip(",（") for word in english.replace(",", " ").split() if ":" in word}
    assert all(clock in chinese for clock in clocks)
    weekdays = {f"{run:%A}" for run in runs}
    assert "every weekday" in english or all(day in english for day in weekdays)
    assert english.count("day") == (1 if "every weekday" in english else len(weekdays))
