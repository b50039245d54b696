"""What becomes of a nominal time (U3, U4, U6, U7): tables of decisions, and due times against their own enumeration."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise, product, takewhile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.names import automation_workflow
from domain.automation import AutomationMode, AutomationState, Overlap
from domain.automation_firing import (
    COUNTED,
    ON_TIME,
    ONE_BY_ONE,
    BindingGrant,
    Cause,
    Due,
    FiringState,
    Reason,
    Standing,
    count_between,
    decide,
    due_times,
    failures_after,
    is_nominal,
    nominal_name,
    request_id_of,
)
from domain.automation_notice import notice_choices, notice_words
from domain.occurrences import instants_after
from domain.request import check_named_request_id
from domain.schedule import Schedule

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = 3600


def every(seconds: int, offset_s: int = 0) -> Schedule:
    return Schedule.model_validate({"every": {"seconds": seconds, "offset_s": offset_s}})


def cron(expression: str, zone: str = "Europe/Berlin") -> Schedule:
    return Schedule.model_validate({"cron": {"expression": expression}, "timezone": zone})


def once(at: datetime) -> Schedule:
    return Schedule.model_validate({"once": {"at": at.isoformat()}})


def ago(**delta: float) -> datetime:
    return NOON - timedelta(**delta)


def expected(standing: Standing, cause: Cause) -> tuple[str, str | None]:
    """The rules of U4, U6 and U7 in the words of the specification, the most general no first."""
    if standing.state is AutomationState.DELETED:
        return "skipped", "deleted"
    if cause is not Cause.MANUAL and standing.state is AutomationState.PAUSED:
        return "skipped", "paused"
    if cause is not Cause.MANUAL and standing.state is AutomationState.DONE:
        return "skipped", "schedule_changed"
    if standing.grant is BindingGrant.ENDED:
        return "skipped", "authorization"
    if not standing.active:
        return "ran", None
    if standing.mode is AutomationMode.NEW and standing.overlap is Overlap.ALLOW:
        return "ran", None
    if standing.overlap is Overlap.BUFFER_ONE and not standing.buffered:
        return "buffered", None
    return "skipped", "overlap"


def test_every_standing_has_its_decision() -> None:
    """U4, U6, U7: all combinations; the whole table by a second writing-down of it."""
    for state, mode, overlap, active, buffered, grant, cause in product(
        AutomationState, AutomationMode, Overlap, (False, True), (False, True), BindingGrant, Cause
    ):
        standing = Standing(state, mode, overlap, active, buffered, grant)
        decision = decide(standing, cause)
        reason = None if decision.reason is None else decision.reason.value
        assert (decision.state.value, reason) == expected(standing, cause), (standing, cause)


def test_in_continue_mode_there_is_never_a_second_run_beside_the_first() -> None:
    """U4: a firing on an active task is overlap, whatever the policy."""
    for overlap in Overlap:
        standing = Standing(AutomationState.ACTIVE, AutomationMode.CONTINUE, overlap, active=True)
        assert decide(standing, Cause.SCHEDULE).state is not FiringState.RAN


@pytest.mark.parametrize(
    ("schedule", "after", "catchup_s", "due"),
    [
        (every(HOUR), ago(minutes=30), HOUR, [Due(NOON, Cause.SCHEDULE)]),
        (every(HOUR), NOON, HOUR, []),
        (once(ago(minutes=5)), ago(hours=1), HOUR, [Due(ago(minutes=5), Cause.CATCH_UP)]),
        (once(ago(minutes=5)), ago(hours=1), 60, [Due(ago(minutes=5), Cause.SCHEDULE, Reason.OUTAGE)]),
        (once(ago(seconds=20)), ago(hours=1), 0, [Due(ago(seconds=20), Cause.SCHEDULE)]),
        (
            every(HOUR, 1800), ago(hours=3, minutes=15), HOUR,
            [
                Due(ago(hours=2, minutes=30), Cause.SCHEDULE, Reason.OUTAGE),
                Due(ago(hours=1, minutes=30), Cause.SCHEDULE, Reason.OUTAGE),
                Due(ago(minutes=30), Cause.CATCH_UP),
            ],
        ),
        (
            every(1200), ago(minutes=50), HOUR,
            [
                Due(ago(minutes=40), Cause.SCHEDULE, Reason.SUPERSEDED),
                Due(ago(minutes=20), Cause.SCHEDULE, Reason.SUPERSEDED),
                Due(NOON, Cause.SCHEDULE),
            ],
        ),
    ],
)  # fmt: skip
def test_lateness_alone_decides_as_much(schedule: Schedule, after: datetime, catchup_s: int, due: list[Due]) -> None:
    """U4: on time within half a minute; then the newest is caught up within the window, the others are missed."""
    assert due_times(schedule, after, NOON, NOON, catchup_s) == due


def test_many_missed_times_are_few_records() -> None:
    """U4: a year of minutes is one record more than the newest ten; a year of seconds costs no more."""
    year = timedelta(days=365)
    for schedule, counted in ((cron("* * * * *", "UTC"), COUNTED), (every(1), int(year.total_seconds()) - ONE_BY_ONE)):
        found = due_times(schedule, NOON - year, NOON, NOON, HOUR)
        assert len(found) == ONE_BY_ONE + 1
        assert (found[0].count, found[0].missed) == (counted, Reason.SUPERSEDED)
        assert found[-1].nominal_time == NOON


SCHEDULES = st.one_of(
    st.integers(1, 7200).flatmap(lambda seconds: st.builds(every, st.just(seconds), st.integers(0, seconds - 1))),
    st.sampled_from([cron("*/7 * * * *"), cron("30 2 * * *"), cron("0 8-18 * * 1-5"), cron("15,45 */3 * * *")]),
    st.integers(-10_000, 10_000).map(lambda seconds: once(NOON + timedelta(seconds=seconds))),
)


@given(
    schedule=SCHEDULES, before_s=st.integers(0, 20_000), after_s=st.integers(-100, 20_000),
    catchup_s=st.sampled_from([0, 60, HOUR, 86_400]),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_everything_due_has_one_answer_and_one_run_at_most_is_caught_up(
    schedule: Schedule, before_s: int, after_s: int, catchup_s: int
) -> None:
    """U4, U5: in order, none twice, none left out; what is late runs once at most."""
    after, until = NOON - timedelta(seconds=before_s), NOON + timedelta(seconds=after_s)
    found = due_times(schedule, after, until, until, catchup_s)
    instants = list(takewhile(lambda instant: instant <= until, instants_after(schedule, after)))
    assert sum(due.count for due in found) == len(instants)
    assert all(one.nominal_time < next_one.nominal_time for one, next_one in pairwise(found))
    assert {due.nominal_time for due in found} <= set(instants)
    assert all(due.missed is not None for due in found if due.count > 1)
    runs = [due for due in found if due.missed is None]
    late = [due for due in runs if until - due.nominal_time > ON_TIME]
    assert [due.cause for due in late] == [Cause.CATCH_UP] * len(late)
    assert len(late) <= 1
    assert not late or (runs == late and until - late[0].nominal_time <= timedelta(seconds=catchup_s))
    if instants and until - instants[-1] <= max(ON_TIME, timedelta(seconds=catchup_s)):
        assert runs[-1].nominal_time == instants[-1]


@given(
    schedule=SCHEDULES, before_s=st.integers(0, 20_000), which=st.sets(st.integers(0, 40), max_size=20),
    others=st.sets(st.integers(-30_000, 100), max_size=3),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_what_has_a_record_of_its_own_is_in_no_other(
    schedule: Schedule, before_s: int, which: set[int], others: set[int]
) -> None:
    """U4, U5: the records of a time that was paused, those that there were and those made now, are one for each."""
    after = NOON - timedelta(seconds=before_s)
    instants = list(takewhile(lambda instant: instant <= NOON, instants_after(schedule, after)))
    recorded = {instants[at] for at in which if at < len(instants)}
    # Firings by hand, and those of an earlier schedule, are none of its times.
    foreign = {NOON + timedelta(seconds=second, microseconds=1) for second in others}
    found = due_times(schedule, after, NOON, NOON, HOUR, recorded | foreign)
    new = [due for due in found if due.nominal_time not in recorded]
    assert sum(due.count for due in new) == len(instants) - len(recorded)
    assert {due.nominal_time for due in new} <= set(instants) - recorded
    assert all(due.count == 1 for due in found if due.nominal_time in recorded)
    assert not instants or found[-1].nominal_time == instants[-1], "all of it has been looked at"


@given(schedule=SCHEDULES, before_s=st.integers(0, 20_000), split_s=st.integers(0, 20_000))
@settings(max_examples=100, deadline=None)
def test_counting_goes_by_parts(schedule: Schedule, before_s: int, split_s: int) -> None:
    """U4: what is counted in two parts is what is counted at once."""
    after, middle = NOON - timedelta(seconds=before_s), NOON - timedelta(seconds=min(before_s, split_s))
    parts = count_between(schedule, after, middle) + count_between(schedule, middle, NOON)
    assert parts == count_between(schedule, after, NOON)
    assert is_nominal(schedule, NOON) == (count_between(schedule, NOON - timedelta(microseconds=1), NOON) == 1)


def test_ids_of_a_firing_are_told_from_its_time() -> None:
    """U5: one id for one time, as Temporal writes it; a moment between two seconds is another."""
    berlin = datetime.fromisoformat("2026-11-30T13:00:00+01:00")
    assert request_id_of("automation_1", berlin) == request_id_of("automation_1", NOON)
    assert request_id_of("automation_1", NOON) == "steward:automation:automation_1:2026-11-30T12:00:00Z"
    assert automation_workflow("automation_1", NOON) == "automation-run:automation_1-2026-11-30T12:00:00Z"
    between = NOON + timedelta(microseconds=5)
    assert nominal_name(between) == "2026-11-30T12:00:00.000005Z"
    named: Any = check_named_request_id(request_id_of("automation_01M8PN71K163SSSEWVGRAV4A0Y", between))
    assert isinstance(named, str)


@pytest.mark.parametrize(
    ("before", "outcome", "after"), [(2, "completed", 0), (2, "failed", 3), (2, "stopped", 2), (0, "failed", 1)]
)
def test_only_failures_in_a_row_count(before: int, outcome: str, after: int) -> None:
    """U7: success ends the row; a stop is the person's own doing and changes nothing."""
    assert failures_after(before, outcome) == after


def test_notices_say_why_and_what_can_be_done_in_both_languages() -> None:
    """U6, U7: two different notices, each with choices."""
    ended, failed = notice_words("authorization"), notice_words(None)
    for language in ("en", "zh"):
        assert ended[language] != failed[language]
        assert notice_choices("authorization")[language] != notice_choices(None)[language]
        assert len(notice_choices(None)[language]) >= 2
