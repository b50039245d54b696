"""(i) Random reschedules of one automation with kills in between: one schedule, no firing doubled or lost (U1, U3-U5).

The hard thing is knowing what should have fired: the audit chain says when each schedule held, the domain says which
times it names, and the records of firings have to be exactly these.
"""

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psutil
import websockets
from sqlalchemy import select
from temporalio.service import RPCError
from ulid import ULID

from benchmarks.instance import Instance, steward, until
from benchmarks.report import Table, progress
from benchmarks.rpc_client import Json
from domain.automation_firing import count_between, is_nominal
from domain.refusal import accepted
from domain.schedule import Schedule, schedule_of
from store.database import Database, Scope
from store.tables_authority import AuditRow
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_work import AttemptRow, TaskRow

RESCHEDULES = 1_000
KILL_EVERY = 12
SEED = 20
SCOPE = Scope("local", "personal")
DONE = '[[tool:submit_result {"summary":"done"}]]'
ANSWER_S = 10.0
KILLED = ("worker", "worker", "worker", "host", "temporal")
"""Mostly the worker, which decides firings; the host, which relays; now and then the server with the schedule."""


@dataclass(slots=True)
class Found:
    """What is there in the end; everything but the first four has to be as the bar says."""

    reschedules: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    times: int = 0
    runs: int = 0
    schedules: int = 0
    follows_row: bool = False
    lost: int = 0
    doubled: int = 0
    at_once: int = 0
    went_on: bool = False

    @property
    def is_right(self) -> bool:
        """One schedule that is the row's; nothing lost, doubled, or beside another run."""
        wrong = self.lost + self.doubled + self.at_once
        return self.schedules == 1 and self.follows_row and wrong == 0 and self.went_on


async def run(reschedules: int = RESCHEDULES) -> Table:
    """Do it once and say what was found."""
    begun = time.perf_counter()
    found = await measure(reschedules, KILL_EVERY, SEED)
    killed = ", ".join(f"{count} of {name}" for name, count in sorted(found.kills.items()))
    rows = [
        ("reschedules; kills", f"{found.reschedules}; {killed}"),
        ("nominal times; of these ran", f"{found.times}; {found.runs}"),
        ("schedules in Temporal; the row's own", f"{found.schedules}; {'yes' if found.follows_row else 'NO'}"),
        ("times without a record (lost)", str(found.lost)),
        ("times with more than one record or task (doubled)", str(found.doubled)),
        ("runs beside another one", str(found.at_once)),
        ("went on firing afterwards", "yes" if found.went_on else "NO"),
    ]
    notes = [f"Seed {SEED}, {time.perf_counter() - begun:.0f} s. A kill is SIGKILL; the process is started again."]
    return Table(f"(i) {reschedules} random reschedules with kills", ("", "found"), rows, notes)


async def measure(reschedules: int, kill_every: int, seed: int) -> Found:
    """Reschedule so often, kill about once in `kill_every`, then look at everything."""
    dice, found = random.Random(seed), Found()
    async with steward() as instance:
        owner = _Owner(instance)
        automation = await owner.write(
            "create", {"title": "Often", "schedule": _schedule(dice)}, user_input={"text": DONE, "attachment_ids": []}
        )
        for number in range(reschedules):
            if dice.randrange(kill_every) == 0:
                _kill(instance, dice.choice(KILLED), found)
            automation = await owner.change(automation, "reschedule", schedule=_schedule(dice))
            found.reschedules += 1
            await asyncio.sleep(dice.random() * 0.8)
            if number % 100 == 99:
                progress(f"reschedules: {number + 1} of {reschedules}")
        automation = await owner.change(automation, "reschedule", schedule={"every": {"seconds": 2}})
        database = Database(f"sqlite+aiosqlite:///{instance.home}/user-spaces/local/personal/state/steward.sqlite")
        try:
            found.went_on = await _goes_on(database, automation)
            automation = await owner.change(automation, "pause")
            await _look_at_schedules(instance, automation, found)
            await _look_at_rows(database, str(automation["automation_id"]), owner.schedules, found)
        finally:
            await database.close()
    return found


def _schedule(dice: random.Random) -> Json:
    if dice.randrange(4) == 0:
        return {"cron": {"expression": dice.choice(["* * * * *", "*/2 * * * *"])}, "timezone": "Europe/Berlin"}
    seconds = dice.choice([1, 2, 3, 5, 60])
    return {"every": {"seconds": seconds, "offset_s": dice.randrange(seconds)}}


def _kill(instance: Instance, name: str, found: Found) -> None:
    try:
        os.kill(instance.process(name).pid, signal.SIGKILL)
    except (OSError, ValueError, psutil.Error):
        # It is being started again from the kill before.
        return
    found.kills[name] += 1


class _Owner:
    """Writes until it has an answer, under one request id: a host that was killed had taken it or had not."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self.schedules: dict[int, Schedule] = {}

    async def change(self, automation: Json, act: str, **params: Any) -> Json:
        """Write at the newest revision; it may have changed by itself."""
        wanted = {"automation_id": automation["automation_id"], "expected_revision": automation["revision"], **params}
        return await self.write(act, wanted)

    async def write(self, act: str, params: Json, **envelope: Any) -> Json:
        """Call `agents.automations.<act>`; the automation."""
        request_id = f"bench:{ULID()}"
        answered: list[Json] = []

        async def answers() -> bool:
            try:
                async with asyncio.timeout(ANSWER_S), self._instance.client() as client:
                    method = f"agents.automations.{act}"
                    answered.append(await client.call(method, params, request_id=request_id, **envelope))
            except (OSError, TimeoutError, websockets.WebSocketException):
                return False
            return True

        await until(answers)
        automation = answered[-1]
        self.schedules[automation["schedule_revision"]] = accepted(schedule_of(automation["schedule"]))
        return automation


async def _goes_on(database: Database, automation: Json) -> bool:
    """Whether the last schedule fires: three of its times are decided."""
    revision = int(automation["schedule_revision"])

    async def has_fired() -> bool:
        runs = await _runs(database, str(automation["automation_id"]))
        return sum(run.schedule_revision == revision for run in runs) >= 3

    await until(has_fired)
    return True


async def _runs(database: Database, automation_id: str) -> list[AutomationRunRow]:
    query = select(AutomationRunRow).where(AutomationRunRow.automation_id == automation_id)
    async with database.read(SCOPE) as tx:
        return list(await tx.session.scalars(query.order_by(AutomationRunRow.nominal_time)))


async def _look_at_schedules(instance: Instance, automation: Json, found: Found) -> None:
    """Wait until the schedule is the row's, then count the schedules there are."""

    async def follows() -> bool:
        ids = [one.id async for one in await instance.temporal.list_schedules()]
        found.schedules = len(ids)
        if len(ids) != 1:
            return False
        try:
            seen = (await instance.temporal.get_schedule_handle(ids[0]).describe()).schedule
        except RPCError:
            # The server answers one question about a schedule at a time.
            return False
        named = ids[0] == f"automation:{automation['automation_id']}"
        noted = (seen.state.note or "").startswith(f"revision {automation['revision']},")
        found.follows_row = bool(named and seen.state.paused and noted)
        return found.follows_row

    await until(follows)


async def _look_at_rows(
    database: Database, automation_id: str, schedules: Mapping[int, Schedule], found: Found
) -> None:
    """Compare the records of firings with the times of every schedule that held; see that none ran beside another."""
    runs = [run for run in await _runs(database, automation_id) if run.cause != "manual"]
    for revision, (since, until_) in (await _periods(database, automation_id)).items():
        schedule = schedules[revision]
        held = [run for run in runs if run.schedule_revision == revision and since < run.nominal_time <= until_]
        # A time of the schedule before may be started with this one's action: its record has to be a skip.
        own = [run for run in held if is_nominal(schedule, run.nominal_time)]
        found.doubled += sum(run.state != "skipped" for run in held if run not in own)
        expected, counted = count_between(schedule, since, until_), sum(run.count for run in own)
        found.times += expected
        found.lost += max(0, expected - counted)
        found.doubled += max(0, counted - expected)
    ran = [run for run in runs if run.state == "ran"]
    found.runs = len(ran)
    async with database.read(SCOPE) as tx:
        tasks = list(await tx.session.scalars(select(TaskRow.task_id).where(TaskRow.automation_id == automation_id)))
        ends = select(AttemptRow.task_id, AttemptRow.ended_at).where(AttemptRow.task_id.in_(tasks))
        ended = {task_id: ended_at for task_id, ended_at in await tx.session.execute(ends)}
    found.doubled += abs(len(tasks) - len({run.task_id for run in ran}))
    before: datetime | None = None
    for one in sorted(ran, key=lambda run: run.decided_at):
        found.at_once += before is not None and one.decided_at < before
        before = ended.get(one.task_id or "") or before


async def _periods(database: Database, automation_id: str) -> dict[int, tuple[datetime, datetime]]:
    """Since when and until when each revision of the schedule held, by the audit chain; the last until decided."""
    async with database.read(SCOPE) as tx:
        row = await tx.session.get_one(AutomationRow, automation_id)
        changed = select(AuditRow).where(
            AuditRow.subject_id == automation_id, AuditRow.kind.in_(["automation.create", "automation.reschedule"])
        )
        acts = list(await tx.session.scalars(changed.order_by(AuditRow.sequence)))
    until_ = [act.at for act in acts[1:]] + [row.decided_until]
    return {
        act.details["schedule_revision"]: (act.at, end) for act, end in zip(acts, until_, strict=True)
    }  # fmt: skip
