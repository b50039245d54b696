"""SIGKILL at exact points of a firing (U4, U5) and of a reschedule (U3).

Of a firing: between its decision, the answer, the renewal, and its task's start. Of a reschedule: when its row is
written, before and after its schedule follows.

It is decided by the worker, whom the schedule calls, or by the host, which sees that the schedule brought nothing.
The hard thing is the exactness: the points are milliseconds apart, so the processes themselves strike at an armed point
(mortal/sitecustomize.py). Beforehand the schedule is left with a single instant: what comes after it is there only when
the firing has supplied it.
"""

import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from temporalio.client import Client, ScheduleDescription, ScheduleHandle, ScheduleUpdate, ScheduleUpdateInput
from temporalio.service import RPCError, RPCStatusCode

from tests.blackbox.conftest import StartSteward
from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import Json
from tests.blackbox.scripts import tool
from tests.blackbox.work import LOOK_S, TERMINAL, look

LEAD_S = 10
"""Until the firing: the time in which the schedule is made and left with one instant."""
PERIOD = timedelta(hours=1)
AHEAD = 20
"""Instants that a supplied schedule has (U1)."""
CASES = (
    ("decided", "worker"), ("decided", "temporal"),
    ("before-renewal", "worker"), ("renewed", "worker"),
    ("caught-up", "host"), ("before-task-start", "host"), ("task-started", "host"),
)  # fmt: skip
RESCHEDULES = (("before-following", "host"), ("before-following", "temporal"), ("followed", "host"))


class Mortal:
    """A Steward with points at which it dies."""

    def __init__(self, steward: Instance, points: Path) -> None:
        self.steward = steward
        self.points = points

    def arm(self, point: str, victim: str) -> None:
        """Have a process killed when the point is reached next."""
        made = self.points / f"{point}.making"
        made.write_text(victim, "ascii")
        made.rename(self.points / point)

    async def until_struck(self, point: str) -> int:
        """Wait until the point was reached; the pid that was killed there."""
        struck = self.points / f"{point}.struck"
        await self.steward.until(lambda: struck.exists() and bool(struck.read_text()), f"the point {point} was reached")
        pid = int(struck.read_text("ascii"))
        struck.unlink()
        return pid


@pytest.fixture(scope="module")
async def mortal(start_steward: StartSteward, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Mortal]:
    points = tmp_path_factory.mktemp("points")
    own = {"PYTHONPATH": str(Path(__file__).parent / "mortal"), "MORTAL_POINTS": str(points)}
    async with start_steward("mortal", **own) as steward:
        yield Mortal(steward, points)


def next_whole_second(seconds: int) -> datetime:
    """The whole second that is this far away."""
    return datetime.fromtimestamp(int(time.time()) + seconds, UTC)


async def create(steward: Instance, name: str, at: datetime) -> Json:
    """An automation that fires at this moment and every hour after it."""
    schedule = {"every": {"seconds": 3600, "offset_s": int(at.timestamp()) % 3600}}
    script = tool("submit_result", summary=f"result of {name}")
    return await steward.ask(
        lambda client: client.call(
            "agents.automations.create", {"title": name, "schedule": schedule}, request_id=f"create:{name}",
            user_input={"text": script},
        )
    )  # fmt: skip


def instants(description: ScheduleDescription) -> list[datetime]:
    """The exact instants of a schedule's calendars."""
    return [
        datetime(
            each.year[0].start, each.month[0].start, each.day_of_month[0].start,
            each.hour[0].start, each.minute[0].start, each.second[0].start, tzinfo=UTC,
        )
        for each in description.schedule.spec.calendars
    ]  # fmt: skip


async def instants_of(handle: ScheduleHandle) -> list[datetime]:
    """What the schedule has now, nothing while it is not there or the server is down."""
    try:
        return instants(await handle.describe(rpc_timeout=timedelta(seconds=5)))
    except RPCError as error:
        if error.status not in (RPCStatusCode.NOT_FOUND, RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED):
            raise
        return []


async def leave_one(steward: Instance, handle: ScheduleHandle, at: datetime, *, paused: bool) -> None:
    """Take all instants but the first from the schedule, or that one too, by pausing it as an operator may."""

    async def is_there() -> bool:
        return at in await instants_of(handle)

    await steward.until(is_there, "the automation has its schedule")

    async def shortened(given: ScheduleUpdateInput) -> ScheduleUpdate:
        schedule = given.description.schedule
        schedule.spec.calendars = schedule.spec.calendars[:1]
        schedule.state.paused = paused
        return ScheduleUpdate(schedule)

    await handle.update(shortened)
    assert await instants_of(handle) == [at]


def recorded(steward: Instance, automation_id: str) -> list[tuple[str, str, str | None]]:
    """The stored firings: request id, state and outcome."""
    with closing(sqlite3.connect(f"file:{steward.space / 'state' / 'steward.sqlite'}?mode=ro", uri=True)) as connection:
        query = "SELECT request_id, state, outcome FROM automation_runs WHERE automation_id = ?"
        return list(connection.execute(query, (automation_id,)))


async def firing_workflows(client: Client, automation_id: str) -> set[str]:
    """The ids of the workflows of the automation's firings, with how each stands.

    A host that starts has every open firing followed again: where that had just ended, it is another run of its id.
    """
    query = f"WorkflowId STARTS_WITH 'automation-run:{automation_id}'"
    return {f"{found.id} {found.status.name if found.status else ''}" async for found in client.list_workflows(query)}


@pytest.mark.parametrize(("point", "victim"), CASES, ids=[f"{point}-{victim}" for point, victim in CASES])
async def test_a_kill_within_a_firing_leaves_one_run_one_delivery_and_the_next_plan(
    mortal: Mortal, point: str, victim: str
) -> None:
    """U1, U4, U5, I1, I2, I5, D1: decided once under one request id, run once, told once, and supplied again."""
    steward, name = mortal.steward, f"{point}.{victim}"
    at = next_whole_second(LEAD_S)
    automation_id = (await create(steward, name, at))["automation_id"]
    handle = (await steward.temporal()).get_schedule_handle(f"automation:{automation_id}")
    await leave_one(steward, handle, at, paused=point == "caught-up")
    mortal.arm(point, victim)
    killed = await mortal.until_struck(point)
    await steward.until(lambda: steward.pid(victim) not in (None, killed), f"another {victim} runs")

    async def has_run() -> bool:
        run = (await detail(steward, automation_id))["runs"][0]
        return bool(run.get("outcome") == "completed" and run["delivery"]["state"] == "delivered")

    await steward.until(has_run, "the firing has run and its result is delivered", every_s=LOOK_S)

    async def is_supplied() -> bool:
        return await instants_of(handle) == [at + number * PERIOD for number in range(1, AHEAD + 1)]

    await steward.until(is_supplied, "the schedule has the next instants", every_s=LOOK_S)
    shown = await detail(steward, automation_id)
    [run] = shown["runs"]
    assert (run["state"], datetime.fromisoformat(run["nominal_time"])) == ("ran", at)
    assert [datetime.fromisoformat(each) for each in shown["next_times"]] == [at + k * PERIOD for k in range(1, 6)]
    [(request_id, state, outcome)] = recorded(steward, automation_id)
    assert (request_id.endswith(f"{automation_id}:{at:%Y-%m-%dT%H:%M:%SZ}"), state, outcome) == (
        True,
        "ran",
        "completed",
    )
    seen = await steward.ask(look)
    [task] = [task for task in seen.tasks if task["automation_id"] == automation_id]
    assert (task["task_id"], task["state"], task["requirement_version"]) == (run["task_id"], TERMINAL[0], 1)
    assert [delivery["kind"] for delivery in task["deliveries"]] == ["result"]
    assert [message["text"] for message in seen.messages].count(f"echo: result of {name}") == 1

    async def is_over() -> bool:
        workflows = await firing_workflows(await steward.temporal(), automation_id)
        return workflows == {f"automation-run:{automation_id}-{at:%Y-%m-%dT%H:%M:%SZ} COMPLETED"}

    await steward.until(is_over, "one workflow followed the firing to its end", every_s=LOOK_S)
    assert (await create(steward, name, at))["automation_id"] == automation_id, "I2"


@pytest.mark.parametrize(("point", "victim"), RESCHEDULES, ids=[f"{point}-{victim}" for point, victim in RESCHEDULES])
async def test_a_kill_within_a_reschedule_leaves_one_schedule_at_the_new_times(
    mortal: Mortal, point: str, victim: str
) -> None:
    """U3, I1, I2: the same automation with one schedule, revised once, and nothing fired at the old times or twice."""
    steward, name = mortal.steward, f"reschedule.{point}.{victim}"
    old = next_whole_second(1800)
    new = old + timedelta(seconds=600)
    created = await create(steward, name, old)
    automation_id = created["automation_id"]
    client = await steward.temporal()
    handle = client.get_schedule_handle(f"automation:{automation_id}")

    async def has(first: datetime) -> bool:
        return await instants_of(handle) == [first + number * PERIOD for number in range(AHEAD)]

    await steward.until(lambda: has(old), "the automation has its schedule", every_s=LOOK_S)
    wanted = {
        "automation_id": automation_id,
        "expected_revision": created["revision"],
        "schedule": {"every": {"seconds": 3600, "offset_s": int(new.timestamp()) % 3600}},
    }

    async def reschedule() -> Json:
        return await steward.ask(
            lambda line: line.call("agents.automations.reschedule", wanted, request_id=f"move:{name}")
        )

    mortal.arm(point, victim)
    await reschedule()
    killed = await mortal.until_struck(point)
    await steward.until(lambda: steward.pid(victim) not in (None, killed), f"another {victim} runs")
    again = await reschedule()
    await steward.until(lambda: has(new), "the schedule has the new times", every_s=LOOK_S)
    shown = await detail(steward, automation_id)
    assert [datetime.fromisoformat(each) for each in shown["next_times"]] == [new + k * PERIOD for k in range(5)]
    for key in ("revision", "schedule_revision"):
        assert shown[key] == again[key] == created[key] + 1
    assert (shown["binding_revision"], shown["runs"]) == (created["binding_revision"], [])
    found = [one.id async for one in await client.list_schedules() if automation_id in one.id]
    assert found == [f"automation:{automation_id}"]
    assert await firing_workflows(client, automation_id) == set()


async def detail(steward: Instance, automation_id: str) -> Json:
    """The automation as the wire shows it."""
    return await steward.ask(lambda client: client.call("agents.automations.get", {"automation_id": automation_id}))
