"""An automation through any order of firings, edits, outages and ends (U3-U5): every nominal time has one record.

The hard thing is who comes when, so the world is random: its own clock, a schedule that is changed, Temporal's firings
that come late, twice, for an older schedule or not at all, and a host that looks now and then.
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain.automation_firing import count_between
from domain.occurrences import latest_between
from domain.schedule import Schedule
from store import schema
from store.database import Database
from store.tables_automations import AutomationRow
from tests.automation_acts import active_tasks, caught_up, concluded, end_task, fired, runs_of, triggered
from tests.automation_owner import edit, made, read, schedule
from tests.control_plane import Plane, open_plane

STEPS = 60
SCHEDULES: tuple[dict[str, Any], ...] = (
    {"every": {"seconds": 60}},
    {"every": {"seconds": 7}},
    {"every": {"seconds": 3600, "offset_s": 30}},
    {"cron": {"expression": "*/5 * * * *"}, "timezone": "Europe/Berlin"},
)


@dataclass
class Clock:
    """The time of this world."""

    now: datetime

    def read(self) -> datetime:
        """Now."""
        return self.now


@dataclass
class Period:
    """The times of one revision of the schedule: after `since`, and up to `until` once it was replaced."""

    schedule: Schedule
    since: datetime
    until: datetime | None = None


@dataclass
class World:
    """One automation, and what has to be true of it at any moment."""

    plane: Plane
    clock: Clock
    dice: random.Random
    row: AutomationRow
    periods: dict[int, Period] = field(default_factory=dict)

    @property
    def automation_id(self) -> str:
        """The automation."""
        return self.row.automation_id

    async def act(self) -> None:
        """Do one thing, and see that no two runs are at the same time."""
        acts = (self.pass_time, self.pass_time, self.fire, self.fire, self.look, self.end, self.end, self.trigger)
        await self.dice.choice((*acts, self.dice.choice((self.move, self.pause, self.resume))))()
        assert len(await active_tasks(self.plane, self.automation_id)) <= 1

    async def pass_time(self) -> None:
        """Time passes: mostly little, now and then an outage."""
        self.clock.now += timedelta(seconds=self.dice.choice([1, 5, 20, 40, 90, 600, 5000]) + self.dice.random())

    async def fire(self) -> None:
        """Temporal starts some firings of a revision, in any order, some of them again."""
        revision = self.dice.choice(list(self.periods))
        period = self.periods[revision]
        back = self.clock.now - timedelta(seconds=self.dice.choice([10, 100, 4000]))
        times = latest_between(period.schedule, max(period.since, back), self.clock.now, 3)
        self.dice.shuffle(times)
        stale = AutomationRow(automation_id=self.automation_id, schedule_revision=revision)
        for nominal in times:
            first = await fired(self.plane, stale, nominal)
            assert (await fired(self.plane, stale, nominal)).run_id == first.run_id

    async def look(self) -> None:
        """The host looks for what was passed over."""
        await caught_up(self.plane)

    async def end(self) -> None:
        """The running task ends, and its firing looks at it, maybe twice."""
        running = {task.task_id for task in await active_tasks(self.plane, self.automation_id)}
        for run in await runs_of(self.plane, self.automation_id):
            if run.task_id in running and run.ended_at is None:
                await end_task(self.plane, run, self.dice.choice(["completed", "completed", "failed", "stopped"]))
                for _ in range(self.dice.choice([1, 2])):
                    await concluded(self.plane, run)

    async def trigger(self) -> None:
        """The owner fires by hand."""
        await triggered(self.plane, self.automation_id)

    async def move(self) -> None:
        """The owner changes the schedule."""
        given = schedule(self.dice.choice(SCHEDULES))
        revision = (await edit(self.plane, "reschedule", self.automation_id, given)).schedule_revision
        self.periods[revision - 1].until = self.clock.now
        self.periods[revision] = Period(given, self.clock.now)

    async def pause(self) -> None:
        """The owner pauses it."""
        await edit(self.plane, "pause", self.automation_id)

    async def resume(self) -> None:
        """The owner resumes it."""
        await edit(self.plane, "resume", self.automation_id)

    async def settle(self) -> None:
        """In the end everything is decided: resumed, a while later, and looked at."""
        await self.resume()
        self.clock.now += timedelta(seconds=10)
        await self.look()

    async def check(self) -> None:
        """Every time of every revision has exactly one record, or is one of those that a record counts."""
        now = (await read(self.plane, self.automation_id)).decided_until
        runs = [run for run in await runs_of(self.plane, self.automation_id) if run.cause != "manual"]
        assert len({run.nominal_time for run in runs}) == len(runs)
        for revision, period in self.periods.items():
            until = period.until or now
            counted = sum(
                run.count for run in runs if run.schedule_revision == revision and run.nominal_time <= until
            )  # fmt: skip
            assert counted == count_between(period.schedule, period.since, until), (revision, period)
        ended = [run for run in runs if run.state in ("skipped", "missed")]
        assert all(run.ended_at is not None and run.task_id is None for run in ended)


@pytest.fixture
async def database(tmp_path: Path) -> Any:
    """A database of its own, whose clock the test sets: SQLite, since PostgreSQL brings its own time."""
    clock = Clock(datetime(2026, 10, 24, 22, 0, tzinfo=UTC))
    opened = Database(f"sqlite+aiosqlite:///{tmp_path}/steward.sqlite", clock=clock.read)
    await schema.prepare(opened)
    yield opened, clock
    await opened.close()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("overlap", ["skip", "buffer_one"])
async def test_every_time_has_one_record_in_any_order(
    database: tuple[Database, Clock], overlap: str, seed: int
) -> None:
    """U3, U4, U5: through a change of summer time, edits, outages and repeated firings; never two runs at once."""
    opened, clock = database
    dice = random.Random(f"{overlap}{seed}")
    given = dice.choice(SCHEDULES)
    plane = await open_plane(opened)
    catchup_s = dice.choice([0, 300, 3600])
    row = await made(plane, given, overlap=overlap, mode=dice.choice(["new", "continue"]), catchup_s=catchup_s)
    world = World(plane, clock, dice, row, {1: Period(schedule(given), clock.now)})
    for _ in range(STEPS):
        await world.act()
    await world.settle()
    await world.check()
