"""Times and automations as the offline model understands them (O2, U9), in whole sentences of two languages."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.offline_grammar import parse
from assistant.offline_schedule_grammar import Order, Scheduled, understand
from assistant.offline_when import Unclear, When
from assistant.offline_zones import zone_of
from assistant.prompts import Clock
from domain.refusal import Refusal
from domain.schedule import Schedule, schedule_of

MONDAY = Clock(datetime(2026, 11, 30, 16, 5), "Asia/Shanghai")  # noqa: DTZ001 - it is wall time
HOME = "Asia/Shanghai"
WORK = "summarise notes.txt into today.md"
ZH_WORK = "总结 notes.txt 到 today.md"


def cron(expression: str, timezone: str = HOME) -> dict[str, Any]:
    return {"cron": {"expression": expression}, "timezone": timezone}


def once(at: str, timezone: str = HOME) -> dict[str, Any]:
    return {"once": {"at": at}} if at.endswith("Z") else {"once": {"at": at}, "timezone": timezone}


def every(seconds: int) -> dict[str, Any]:
    return {"every": {"seconds": seconds}}


ENGLISH = [
    ("every weekday at 8 in Berlin", cron("0 8 * * 1-5", "Europe/Berlin")),
    ("every day at 18:30", cron("30 18 * * *")),
    ("every monday and friday at 9", cron("0 9 * * 1,5")),
    ("every Monday, Wednesday and Friday at 9am", cron("0 9 * * 1,3,5")),
    ("on mondays at 9", cron("0 9 * * 1")),
    ("every 15 minutes", every(900)),
    ("every ten seconds", every(10)),
    ("every hour", every(3600)),
    ("hourly", every(3600)),
    ("every half hour", every(1800)),
    ("on the first of every month at 7", cron("0 7 1 * *")),
    ("every month on the 15th at noon", cron("0 12 15 * *")),
    ("daily at 7 pm", cron("0 19 * * *")),
    ("every evening at 6", cron("0 18 * * *")),
    ("every morning at 8.15", cron("15 8 * * *")),
    ("weekdays at 8 in the morning in New York", cron("0 8 * * 1-5", "America/New_York")),
    ("from monday to friday at 9", cron("0 9 * * 1-5")),
    ("every weekend at 10", cron("0 10 * * 0,6")),
    ("every day at midnight UTC", cron("0 0 * * *", "UTC")),
    ("every day at 9 (Asia/Kathmandu)", cron("0 9 * * *", "Asia/Kathmandu")),
    ("every day at 9 Tokyo time", cron("0 9 * * *", "Asia/Tokyo")),
    ("tomorrow at 9", once("2026-12-01T09:00")),
    ("tomorrow at 9 in Los Angeles", once("2026-12-01T09:00", "America/Los_Angeles")),
    ("at noon tomorrow", once("2026-12-01T12:00")),
    ("tonight at 8", once("2026-11-30T20:00")),
    ("at 2026-12-24 18:00", once("2026-12-24T18:00")),
    ("on 2026-12-24 at 6 pm", once("2026-12-24T18:00")),
    ("on friday at 9", once("2026-12-04T09:00")),
    ("next monday at 17:00", once("2026-12-07T17:00")),
    ("at 17:00", once("2026-11-30T17:00")),
    ("at 9", once("2026-12-01T09:00")),
    ("in 20 minutes", once("2026-11-30T08:25:00Z")),
    ("in half an hour", once("2026-11-30T08:35:00Z")),
    ("in two days", once("2026-12-02T08:05:00Z")),
]
CHINESE = [
    ("每天早上八点", cron("0 8 * * *")),
    ("每天晚上十点半", cron("30 22 * * *")),
    ("每晚九点", cron("0 21 * * *")),
    ("每周一早上 9 点", cron("0 9 * * 1")),
    ("每周一和周五上午九点", cron("0 9 * * 1,5")),
    ("每个工作日 8 点", cron("0 8 * * 1-5")),
    ("周一至周五 18:30", cron("30 18 * * 1-5")),
    ("每周末 10 点", cron("0 10 * * 0,6")),
    ("每月一号七点", cron("0 7 1 * *")),
    ("每个月 15 号 18:30", cron("30 18 15 * *")),
    ("每天柏林时间早上八点", cron("0 8 * * *", "Europe/Berlin")),
    ("每天早上八点（America/Sao_Paulo）", cron("0 8 * * *", "America/Sao_Paulo")),
    ("每隔 15 分钟", every(900)),
    ("每小时", every(3600)),
    ("每半小时", every(1800)),
    ("明天 9 点", once("2026-12-01T09:00")),
    ("在明天 9 点", once("2026-12-01T09:00")),
    ("后天下午三点一刻", once("2026-12-02T15:15")),
    ("今晚八点", once("2026-11-30T20:00")),
    ("下周一 9 点", once("2026-12-07T09:00")),
    ("2026年12月24日18点", once("2026-12-24T18:00")),
    ("20 分钟后", once("2026-11-30T08:25:00Z")),
]


@pytest.mark.parametrize(("phrase", "schedule"), ENGLISH, ids=[phrase for phrase, _ in ENGLISH])
@pytest.mark.parametrize("shape", ["{when}, {work}", "{work} {when}", "Please {work} {when}, thanks!"])
def test_english_times_with_their_work(shape: str, phrase: str, schedule: dict[str, Any]) -> None:
    """O2, U9: before or behind the work, each comes to exactly one schedule that the domain accepts."""
    found = understand(shape.format(when=phrase, work=WORK), MONDAY)
    assert isinstance(found, Scheduled)
    assert found.schedule == When(schedule)
    assert parse(found.text) == found.work == parse(WORK)
    assert isinstance(schedule_of(schedule), Schedule)


@pytest.mark.parametrize(("phrase", "schedule"), CHINESE, ids=[phrase for phrase, _ in CHINESE])
@pytest.mark.parametrize("shape", ["{when}{work}", "{when}，请{work}。", "请{work}，{when}"])
def test_chinese_times_with_their_work(shape: str, phrase: str, schedule: dict[str, Any]) -> None:
    """O2, U9: the same, without blanks between words."""
    found = understand(shape.format(when=phrase, work=ZH_WORK), MONDAY)
    assert isinstance(found, Scheduled)
    assert found.schedule == When(schedule)
    assert found.work == parse(ZH_WORK)
    assert isinstance(schedule_of(schedule), Schedule)


@pytest.mark.parametrize(
    "text",
    [
        "summarise every file", "summarise notes.txt", "summarise notes.txt on every page", "hello", "see you tomorrow",
        "write 'see you tomorrow at 9' to note.txt", "append 'every day at 8' to plan.txt", "delete notes.txt",
        "move a.txt to b.txt", "show task every day at 8", "stop the task tomorrow at 9", "on monday we met",
        "copy monday.txt to friday.txt", "read tomorrow.txt", "list files", "which tasks run every day", "tasks",
        "every man for himself", "daily.txt", "总结每个文件", "总结 每天.txt", "把 a.txt 改到 b.txt", "明天见",
        "读取 明天.txt", "任务列表", "你好", "停止任务 每天早上八点", "", "at", "every", "在",
    ],
)  # fmt: skip
def test_what_is_no_schedule(text: str) -> None:
    """O2: words about time inside of names, texts and titles schedule nothing."""
    assert understand(text, MONDAY) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"every day, {WORK}", "no_time"),
        (f"every morning, {WORK}", "no_time"),
        (f"tomorrow, {WORK}", "no_time"),
        (f"{WORK} daily", "no_time"),
        (f"每天{ZH_WORK}", "no_time"),
        (f"at 25:00, {WORK}", "no_such_time"),
        (f"every day at 8:75, {WORK}", "no_such_time"),
        (f"每天25点{ZH_WORK}", "no_such_time"),
        (f"on 2027-02-30 at 9, {WORK}", "no_such_day"),
        (f"on the 32nd of every month at 9, {WORK}", "no_such_day"),
        (f"2月30日9点{ZH_WORK}", "no_such_day"),
        (f"today at 9, {WORK}", "past"),
        (f"at 2020-01-01 08:00, {WORK}", "past"),
        (f"今天9点{ZH_WORK}", "past"),
        (f"every day at 9 in Atlantis, {WORK}", "unknown_place"),
        (f"every other day at 9, {WORK}", "unsupported"),
        (f"every 2 days, {WORK}", "unsupported"),
        (f"on the last day of every month at 7, {WORK}", "unsupported"),
        (f"every second tuesday at 9, {WORK}", "unsupported"),
        (f"每隔两天 9 点{ZH_WORK}", "unsupported"),
        (f"每个月最后一天 8 点{ZH_WORK}", "unsupported"),
        ("every day at 8", "no_work"),
        ("tomorrow at 9", "no_work"),
        ("每天早上八点", "no_work"),
        ("every day at 8, tell me a joke", "other_work"),
        ("remind me tomorrow at 9", "other_work"),
        ("move morning to 26:00", "no_such_time"),
        ("move morning to every other day at 9", "unsupported"),
    ],
)
def test_what_is_unclear_is_asked_about(text: str, why: str) -> None:
    """O2, U9: nothing is guessed."""
    found = understand(text, MONDAY)
    assert isinstance(found, Unclear)
    assert found.why == why


@pytest.mark.parametrize(
    ("text", "verb", "name"),
    [
        ("list automations", "list", ""), ("Show me my automations.", "list", ""), ("what is scheduled?", "list", ""),
        ("自动化列表", "list", ""), ("列出所有定时任务", "list", ""), ("有哪些自动化？", "list", ""),
        ("pause automation Morning", "pause", "Morning"), ("pause the morning summary", "pause", "morning summary"),
        ("暂停自动化 早报", "pause", "早报"), ("暂停“早报”", "pause", "早报"),
        ("delete automation Summarise a.txt into b.txt", "delete", "Summarise a.txt into b.txt"),
        ("delete the “Morning” automation", "delete", "Morning"), ("删除定时任务 早报", "delete", "早报"),
    ],
)  # fmt: skip
def test_orders(text: str, verb: str, name: str) -> None:
    """O2, U7: what is done to an automation that exists."""
    assert understand(text, MONDAY) == Order(verb, name)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "name", "when"),
    [
        ("move Summarise a.txt into b.txt to 9", "Summarise a.txt into b.txt", "09:00:00"),
        ("move Copy a.txt to b.txt to 9:30 pm", "Copy a.txt to b.txt", "21:30:00"),
        ("reschedule “Morning” to every monday at 9", "Morning", cron("0 9 * * 1")),
        ("change automation Morning to tomorrow at 10", "Morning", once("2026-12-01T10:00")),
        ("把早报改到9点", "早报", "09:00:00"),
        ("把自动化早报改到每周一 9 点", "早报", cron("0 9 * * 1")),
    ],
)
def test_moves(text: str, name: str, when: object) -> None:
    """O2, U3: to another time of the day, or to a whole other schedule."""
    found = understand(text, MONDAY)
    assert isinstance(found, Order)
    assert (found.verb, found.name) == ("move", name)
    assert when == (found.when.schedule if isinstance(found.when, When) else str(found.when))


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ("Berlin", "Europe/Berlin"), ("new york", "America/New_York"), ("New_York", "America/New_York"),
        ("São Paulo", "America/Sao_Paulo"), ("Lord Howe", "Australia/Lord_Howe"), ("europe/berlin", "Europe/Berlin"),
        ("Beijing", "Asia/Shanghai"), ("柏林", "Europe/Berlin"), ("北京", "Asia/Shanghai"), ("gmt", "UTC"),
        ("Buenos Aires", "America/Buenos_Aires"), ("Atlantis", None), ("../etc", None), ("", None), ("火星", None),
    ],
)  # fmt: skip
def test_places(place: str, zone: str | None) -> None:
    """O2: by the zone tables' own names."""
    assert zone_of(place) == zone


PIECES = st.sampled_from(
    [
        *(
            "every",
            "day",
            "at",
            "8",
            "in",
            "Berlin",
            "tomorrow",
            ",",
            "summarise",
            "notes.txt",
            "into",
            "today.md",
            "and",
        ),
        *(
            "monday",
            "每天",
            "早上",
            "八点",
            "明天",
            "总结",
            "to",
            "9",
            ":",
            "“x”",
            "minutes",
            "20",
            "the",
            "first",
            "of",
        ),
        *("month", "move", "automation", "改到", "25:00", "十", "二三", "时间"),
    ]
)


@given(st.lists(PIECES, max_size=14).map(" ".join) | st.text(max_size=60))
def test_any_words_are_understood_exactly_or_not(text: str) -> None:
    """O2, O19: whatever is said, a schedule that comes of it is one, and its work reads as it was said."""
    found = understand(text, MONDAY)
    if isinstance(found, Scheduled):
        assert not isinstance(schedule_of(found.schedule.schedule), Refusal)
        assert parse(found.text) == found.work


def test_long_texts_are_no_requests() -> None:
    """O19: the grammar's work is bounded."""
    assert understand("every day at 8, " * 400, MONDAY) is None
    assert understand("x" + " " * 60 + "every day at 8", MONDAY) is None


@pytest.mark.parametrize(
    ("phrase", "expression"),
    [
        ("每天凌晨十二点", "0 0 * * *"), ("每天凌晨三点", "0 3 * * *"), ("每天中午一点", "0 13 * * *"),
        ("每天中午十二点", "0 12 * * *"), ("每天下午三点", "0 15 * * *"), ("每晚 20 点", "0 20 * * *"),
        ("每天深夜十一点", "0 23 * * *"), ("every night at 11", "0 23 * * *"), ("every evening at 6", "0 18 * * *"),
        ("every night at 2 am", "0 2 * * *"), ("every afternoon at 12", "0 12 * * *"),
    ],
)  # fmt: skip
def test_a_part_of_the_day_chooses_its_hour(phrase: str, expression: str) -> None:
    """U9: the exact hour that people mean by it."""
    found = understand(f"{phrase}{'，' if phrase[0] == '每' else ', '}{WORK}", MONDAY)
    assert isinstance(found, Scheduled)
    assert found.schedule == When(cron(expression))


@pytest.mark.parametrize(
    "phrase",
    [
        "每天晚上十二点", "每晚十二点半", "今晚 12 点", "每周一晚上 12 点", "每天夜里两点", "每天晚上 1 点", "明晚两点",
        "every night at 12", "every night at 2", "tonight at 12", "tomorrow night at 1", "every evening at 12",
        "every day at 12 at night", "every morning at 12", "every day at 12 in the morning",
    ],
)  # fmt: skip
def test_an_hour_that_could_be_another_is_asked_about(phrase: str) -> None:
    """U9: noon is never taken for midnight, and two in the night not for two in the afternoon."""
    found = understand(f"{phrase}{'，' if not phrase.isascii() else ', '}{WORK}", MONDAY)
    assert found == Unclear("which_hour")


@pytest.mark.parametrize("phrase", ["每天凌晨 13 点", "每天早上 20 点", "每天中午五点", "every morning at 13"])
def test_an_hour_outside_of_its_part_of_the_day_is_refused(phrase: str) -> None:
    """U9: what contradicts itself becomes no schedule."""
    found = understand(f"{phrase}{'，' if not phrase.isascii() else ', '}{WORK}", MONDAY)
    assert found == Unclear("no_such_time")
