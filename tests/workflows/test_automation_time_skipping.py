"""Automations with skipped time (U1-U7): nights over a change of the clocks, outages, waits of a day, a grant's end.

Real Schedules of a real server, whose own time is skipped, fire real workflows over real rows (skipped_time.py).
"""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from temporalio.client import ScheduleDescription, WorkflowHandle

from activities.schedule_sync import instants_in
from contracts import names
from domain.wall_time import first_instant, wall_time
from host.automation_care import AutomationCare
from store import questions
from store.automation_runs import NATIVE_RULES
from store.questions import Settlement
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_work import DeliveryRow
from tests.automation_owner import edit, made, read, schedule
from tests.conftest import Eventually
from tests.workflows.rig import Rig
from tests.workflows.skipped_time import SkippedTime, next_change
from tests.workflows.test_attention import runs as is_running
from tests.workflows.test_automation_workflow import (
    described,
    granted_for,
    once,
    plane_of,
    until_runs,
    until_schedule,
)
from tests.workflows.test_control import ask, open_question

pytestmark = pytest.mark.time_skipping

BERLIN = ZoneInfo("Europe/Berlin")
SUBMIT = '[[tool:submit_result {"summary": "four"}]]'
NIGHTLY = {"cron": {"expression": "30 2 * * *"}, "timezone": "Europe/Berlin"}
HOURLY = {"every": {"seconds": 3600}}
DAILY = {"every": {"seconds": 86400}}
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


class Clockwork:
    """One automation in a Steward whose time is skipped."""

    def __init__(self, rig: Rig, skipped: SkippedTime, row: AutomationRow) -> None:
        self.rig, self.skipped, self.row = rig, skipped, row
        self.automation_id = row.automation_id

    async def schedule(self, wanted: Callable[[ScheduleDescription], bool] = lambda _seen: True) -> list[datetime]:
        """Wait for a schedule as it is wanted; the instants that it has."""
        found = await until_schedule(self.rig, self.automation_id, lambda seen: seen is not None and wanted(seen))
        assert found is not None
        return instants_in(found.schedule.spec)

    async def skip_to(self, moment: datetime) -> bool:
        """Let the schedule's time go on to this moment; whether it is still there."""
        return await self.skipped.skip_schedule_to(self.automation_id, moment)

    async def runs(self, wanted: Callable[[list[AutomationRunRow]], bool]) -> list[AutomationRunRow]:
        """Wait for the firings to be as wanted."""
        return await until_runs(self.rig, self.automation_id, wanted)

    async def decided(self, count: int) -> list[AutomationRunRow]:
        """Wait for this many firings."""
        return await self.runs(lambda runs: len(runs) == count)

    async def ended(self, count: int) -> list[AutomationRunRow]:
        """Wait for this many firings that have all ended."""
        return await self.runs(lambda runs: len(runs) == count and all(run.ended_at is not None for run in runs))

    async def tasks(self) -> list[dict[str, Any]]:
        """Its tasks, newest first."""
        return [task for task in await self.rig.tasks() if task["automation_id"] == self.automation_id]

    def workflow(self, run: AutomationRunRow) -> WorkflowHandle[Any, Any]:
        """The workflow of a firing."""
        return self.rig.client.get_workflow_handle(names.automation_workflow(self.automation_id, run.nominal_time))

    async def follows(self, run: AutomationRunRow) -> str:
        """How the workflow of a firing ends."""
        async with asyncio.timeout(60):
            return str(await self.workflow(run).result())


Make = Callable[..., Any]


def noon_after(moment: datetime) -> datetime:
    """The next noon: far from midnight, at which daily intervals fire."""
    return datetime.combine(moment.date() + DAY, time(12), UTC)


@pytest.fixture
async def make(skipping: tuple[Rig, SkippedTime]) -> Any:
    """Makes an automation whose schedule is there; deleted after the test."""
    rig, skipped = skipping
    works: list[Clockwork] = []

    async def make(given: dict[str, Any], instructions: str = SUBMIT, **choices: Any) -> Clockwork:
        row = await made(plane_of(rig), given, instructions=instructions, **choices)
        works.append(Clockwork(rig, skipped, row))
        await works[-1].schedule()
        return works[-1]

    yield make
    for work in works:
        await edit(plane_of(rig), "delete", work.automation_id)


@pytest.fixture
def clock(skipping: tuple[Rig, SkippedTime]) -> Any:
    """The database's clock."""
    return skipping[1].clock


@pytest.mark.parametrize(("shorter", "shown"), [(True, "03:00"), (False, "02:30")], ids=["spring", "autumn"])
async def test_every_night_over_a_change_of_the_clocks_fires_once(
    make: Make, clock: Any, shorter: bool, shown: str
) -> None:
    """U1, U2, U5: a time that no clock shows is the next instant, one shown twice is the first; each is one run."""
    change = next_change(BERLIN, clock() + 3 * DAY, shorter=shorter)
    clock.reach(change - 2 * DAY + 12 * HOUR)
    work = await make(NIGHTLY)
    changed = wall_time(BERLIN, change).date()
    nights = [first_instant(BERLIN, datetime.combine(changed + place * DAY, time(2, 30))) for place in (-1, 0, 1, 2)]
    assert [f"{wall_time(BERLIN, night):%H:%M}" for night in nights] == ["02:30", shown, "02:30", "02:30"]
    for place, night in enumerate(nights):
        await work.skip_to(night - 20 * MINUTE)
        assert len(await work.ended(place)) == place
        await work.skip_to(night + MINUTE)
        assert await work.follows((await work.ended(place + 1))[-1]) == "completed"
    runs = await work.ended(len(nights))
    assert [run.nominal_time for run in runs] == nights
    assert {(run.state, run.outcome) for run in runs} == {("ran", "completed")}
    assert len({run.request_id for run in runs}) == len(await work.tasks()) == len(nights)


async def test_an_hourly_schedule_is_supplied_again_before_it_runs_dry(make: Make) -> None:
    """U1: twenty instants are enough for ten more firings, and every firing renews them."""
    work = await make(HOURLY)
    first = await work.schedule()
    for place, instant in enumerate(first[:12]):
        await work.skip_to(instant + MINUTE)
        await work.ended(place + 1)
    supplied = await work.schedule(lambda seen: instants_in(seen.schedule.spec)[-1] > first[-1])
    assert len(supplied) == 20
    assert supplied[0] in first
    runs = await work.ended(12)
    assert [run.nominal_time for run in runs] == first[:12]


@pytest.mark.parametrize(
    ("given", "late", "expected"),
    [
        (HOURLY, 3 * HOUR + 10 * MINUTE, [("missed", "superseded")] * 2 + [("missed", "superseded"), ("ran", None)]),
        (DAILY, 5 * HOUR, [("missed", "outage")]),
    ],
    ids=["within-the-window", "beyond-it"],
)
async def test_after_an_outage_the_newest_runs_once_and_the_rest_is_recorded(
    make: Make, clock: Any, given: dict[str, Any], late: timedelta, expected: list[tuple[str, str | None]]
) -> None:
    """U4, U5: the host's look decides what Temporal never brought; brought afterwards, it is the same answer."""
    work = await make(given)
    first = (await work.schedule())[0]
    clock.reach(first + late)
    await AutomationCare(work.rig.parts.database, work.rig.scope, NATIVE_RULES).look()
    work.rig.pulse.ring()
    runs = await work.ended(len(expected))
    assert runs[0].nominal_time == first
    tasks = len(await work.tasks())
    assert tasks == sum(state == "ran" for state, _ in expected)
    before = [(run.run_id, run.state, run.reason, run.cause) for run in runs]
    await work.skip_to(first + late)
    for run in runs:
        # The server refuses the one whose workflow the relay has started: it is of the same id.
        if run.state == "missed":
            await Eventually()(partial(brought, work, run), "Temporal brings the time as well")
        await work.follows(run)
    after = [(run.run_id, run.state, run.reason, run.cause) for run in await work.ended(len(expected))]
    assert after == before
    assert len(await work.tasks()) == tasks


async def brought(work: Clockwork, run: AutomationRunRow) -> bool:
    """Whether Temporal has started the time of a run."""
    found = await described(work.rig, work.automation_id)
    started = [] if found is None else [action.scheduled_at for action in found.info.recent_actions]
    return run.nominal_time in started


@pytest.mark.parametrize(("overlap", "hours"), [("skip", 12), ("buffer_one", 1)], ids=["skip", "buffer_one"])
async def test_a_run_that_waits_for_a_person_for_days_is_seen_by_every_time_meanwhile(
    make: Make, overlap: str, hours: int
) -> None:
    """U4, U5: its workflow reads the task again and again until it is terminal; then what was buffered runs."""
    work = await make(DAILY, ask("Which month?") + "[[then]]" + SUBMIT, overlap=overlap)
    times = (await work.schedule())[:3]
    await work.skip_to(times[0] + MINUTE)
    question = await open_question(work.rig)
    [run] = await work.decided(1)
    assert await work.skipped.skip(work.workflow(run), hours * HOUR)
    assert hours * 12 < len((await work.workflow(run).fetch_history()).events) < 4_000
    for place, instant in enumerate(times[1:], start=2):
        await work.skip_to(instant + MINUTE)
        await work.decided(place)
    found = await work.decided(3)
    later = {"skip": ["skipped", "skipped"], "buffer_one": ["buffered", "skipped"]}[overlap]
    assert [run.state for run in found] == ["ran", *later]
    assert {run.reason for run in found if run.state == "skipped"} == {"overlap"}
    assert [task["state"] for task in await work.tasks()] == ["waiting_user"]
    await answered(work, question)
    if overlap == "buffer_one":
        await work.runs(lambda found: found[1].state == "ran")
        await answered(work, await open_question(work.rig))
    found = await work.ended(3)
    assert [run.outcome for run in found if run.state == "ran"] == ["completed"] * len(await work.tasks())
    assert [run.state for run in found] == ["ran", "ran" if overlap == "buffer_one" else "skipped", "skipped"]
    assert await work.follows(found[0]) == "completed"
    assert len({run.request_id for run in found}) == 3


async def answered(work: Clockwork, question: dict[str, Any]) -> None:
    """The owner answers."""
    said = Settlement(question["question_id"], question["revision"], plane_of(work.rig).request_id(), text="March")
    async with work.rig.parts.database.write(work.rig.scope) as tx:
        await questions.settle(tx, said, "owner")
    work.rig.pulse.ring()


async def test_a_grant_of_a_day_lets_one_night_run_and_the_end_is_told_once(make: Make, clock: Any) -> None:
    """A8, U6: its workflow ends it on time; the nights after it are recorded skips, and one notice says so."""
    clock.reach(noon_after(clock()))
    work = await make(DAILY)
    times = (await work.schedule())[:4]
    grant = await granted_for(work.rig, work.automation_id)
    await work.skip_to(times[0] + MINUTE)
    await work.ended(1)
    waiting = work.rig.client.get_workflow_handle(names.grant_workflow(grant.grant_id))
    await Eventually()(lambda: is_running(waiting), "the grant's workflow is there")
    assert await work.skipped.skip_to(waiting, grant.expires_at - HOUR)
    assert (await waiting.query("state"))["state"] == "active"
    await work.skipped.skip_to(waiting, grant.expires_at + MINUTE)
    async with asyncio.timeout(60):
        assert await waiting.result() == "expired"
    for place, instant in enumerate(times[1:], start=2):
        await work.skip_to(instant + MINUTE)
        await work.ended(place)
    found = await work.ended(4)
    assert [(run.state, run.reason) for run in found] == [("ran", None), *[("skipped", "authorization")] * 3]
    assert len(await work.tasks()) == 1
    notices = await plane_of(work.rig).rows(
        DeliveryRow, DeliveryRow.kind == "notice", DeliveryRow.owner_id == work.automation_id
    )
    assert len(notices) == 1


async def test_a_time_moved_an_hour_before_it_comes_fires_only_where_it_was_moved_to(make: Make, clock: Any) -> None:
    """U3: the same schedule and binding; the old time passes without a firing, the new one has the new revision."""
    clock.reach(noon_after(clock()))
    work = await make(DAILY)
    old = (await work.schedule())[0]
    await work.skip_to(old - HOUR)
    clock.reach(old - HOUR)
    moved = {"every": {"seconds": 86400, "offset_s": 3600}}
    row = await edit(plane_of(work.rig), "reschedule", work.automation_id, schedule(moved))
    assert (row.binding_id, row.schedule_revision) == (work.row.binding_id, 2)
    work.rig.pulse.ring()
    await work.schedule(lambda seen: "schedule revision 2" in (seen.schedule.state.note or ""))
    await work.skip_to(old + 30 * MINUTE)
    assert len(await work.ended(0)) == 0
    await work.skip_to(old + HOUR + MINUTE)
    [run] = await work.ended(1)
    assert (run.nominal_time, run.schedule_revision, run.outcome) == (old + HOUR, 2, "completed")


async def test_a_single_time_next_year_fires_and_is_done(make: Make, clock: Any) -> None:
    """U1, U8: months of waiting are one run; nothing of it stays in Temporal, and it stays listed as done."""
    at = (clock() + 400 * DAY).replace(microsecond=0)
    work = await make(once(at))
    await work.skip_to(at - DAY)
    assert len(await work.ended(0)) == 0
    await work.skip_to(at + MINUTE)
    [run] = await work.ended(1)
    assert (run.nominal_time, run.state, run.outcome) == (at, "ran", "completed")
    await until_schedule(work.rig, work.automation_id, lambda seen: seen is None)
    assert (await read(plane_of(work.rig), work.automation_id)).state == "done"
