"""Automations with real schedules (U1, U3-U7, U10): exact instants, firings followed to their end, writes followed."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import ScheduleDescription, ScheduleOverlapPolicy
from temporalio.service import RPCError, RPCStatusCode

from activities.schedule_sync import instants_in
from contracts import names
from contracts.search_attributes import AUTOMATION, STATE
from domain.occurrences import next_instants
from store import grant_proposals, grants
from store.authority import LOCAL_OWNER
from store.automations import automation_row
from store.grants import Issuer
from store.tables_automations import AutomationRunRow
from store.tables_grants import GrantRow
from tests.automation_acts import runs_of, triggered
from tests.automation_owner import edit, made, read, schedule
from tests.control_plane import Plane
from tests.workflows.rig import Rig, steward

SUBMIT = '[[tool:submit_result {"summary": "four"}]]'
NIGHTLY = {"cron": {"expression": "30 2 * * *"}, "timezone": "Europe/Berlin"}


def plane_of(rig: Rig) -> Plane:
    """The rig's user space for the acts of the owner, of times and of tasks' ends."""
    # Its request ids go on from a number that no other plane of this space has used.
    return Plane(rig.parts.database, rig.scope, rig.session_id, requests=time.monotonic_ns())


@pytest.fixture
async def careful(tmp_path: Path, scripted: dict[str, Any]) -> AsyncIterator[Rig]:
    """A Steward whose owner grants nothing by itself."""
    async with steward(tmp_path / "home", granted=False, **scripted) as running:
        yield running


async def granted_for(rig: Rig, automation_id: str) -> GrantRow:
    """What the owner allows an automation: just what its instructions ask for (A11)."""
    model, root = "openai-chat:fake-model", str(rig.parts.files.root)
    async with rig.parts.database.write(rig.scope) as tx:
        row = await automation_row(tx, automation_id)
        proposal = await grant_proposals.propose_for_automation(tx, row, LOCAL_OWNER, model, root)
        request_id = f"grant:{proposal.proposal_id}"
        grant = (await grants.issue(tx, proposal.proposal_id, None, Issuer(), request_id, "owner"))[1]
    rig.pulse.ring()
    return grant


async def described(rig: Rig, automation_id: str) -> ScheduleDescription | None:
    """The schedule as Temporal has it; None for none."""
    try:
        return await rig.client.get_schedule_handle(names.automation_schedule(automation_id)).describe()
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        return None


async def until_schedule(
    rig: Rig, automation_id: str, wanted: Callable[[ScheduleDescription | None], bool]
) -> ScheduleDescription | None:
    """Wait for the schedule to be as wanted."""
    rig.pulse.ring()
    for _ in range(600):
        found = await described(rig, automation_id)
        if wanted(found):
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"the schedule of {automation_id} is {await described(rig, automation_id)}")


async def until_runs(
    rig: Rig, automation_id: str, wanted: Callable[[list[AutomationRunRow]], bool]
) -> list[AutomationRunRow]:
    """Wait for the firings to be as wanted, in order of their times."""
    found: list[AutomationRunRow] = []
    for _ in range(1200):
        found = await runs_of(plane_of(rig), automation_id)
        if wanted(found):
            return found
        await asyncio.sleep(0.05)
    raise AssertionError(f"the firings are {[(run.nominal_time, run.state, run.reason, run.outcome) for run in found]}")


def in_seconds(seconds: int) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=seconds)


def once(at: datetime) -> dict[str, Any]:
    return {"once": {"at": at.isoformat()}}


async def test_a_schedule_has_exact_instants_and_follows_every_write(rig: Rig) -> None:
    """U1, U3, U7, U10: one schedule under one id, supplied, moved, paused, resumed, deleted; revisions are shown."""
    row = await made(plane_of(rig), NIGHTLY)
    found = await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
    assert found is not None
    expected = next_instants(schedule(NIGHTLY), row.created_at, 20)
    assert instants_in(found.schedule.spec) == expected
    assert found.info.next_action_times == expected[:10]
    assert found.schedule.policy.overlap is ScheduleOverlapPolicy.ALLOW_ALL
    assert found.schedule.policy.catchup_window == timedelta(days=365)
    assert await found.memo() == {"automation_id": row.automation_id, "binding_id": row.binding_id}
    assert found.schedule.state.note == "revision 1, schedule revision 1, binding revision 1"
    assert found.typed_search_attributes.get(AUTOMATION) == row.automation_id

    moved = {"cron": {"expression": "0 9 * * 1"}, "timezone": "Asia/Shanghai"}
    await edit(plane_of(rig), "reschedule", row.automation_id, schedule(moved))
    found = await until_schedule(
        rig,
        row.automation_id,
        lambda seen: seen is not None and "schedule revision 2" in (seen.schedule.state.note or ""),
    )
    assert found is not None
    assert instants_in(found.schedule.spec) == next_instants(schedule(moved), row.created_at, 20)
    assert [one.id async for one in await rig.client.list_schedules()] == [names.automation_schedule(row.automation_id)]

    await edit(plane_of(rig), "pause", row.automation_id)
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None and seen.schedule.state.paused)
    await edit(plane_of(rig), "resume", row.automation_id)
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None and not seen.schedule.state.paused)
    await edit(plane_of(rig), "delete", row.automation_id)
    await until_schedule(rig, row.automation_id, lambda seen: seen is None)


async def test_a_firing_makes_a_task_and_is_followed_to_its_end(rig: Rig) -> None:
    """U1, U4, U8, U10: fired at its exact time, supplied again, concluded when the task is; a one-off is done then."""
    at = in_seconds(2)
    row = await made(plane_of(rig), once(at), instructions=SUBMIT)
    rig.pulse.ring()
    [run] = await until_runs(rig, row.automation_id, lambda runs: bool(runs) and runs[0].ended_at is not None)
    assert (run.nominal_time, run.cause, run.state, run.outcome) == (at, "schedule", "ran", "completed")
    [task] = await rig.tasks()
    assert (task["task_id"], task["automation_id"], task["title"]) == (run.task_id, row.automation_id, "Morning")
    await until_schedule(rig, row.automation_id, lambda seen: seen is None)
    handle = rig.client.get_workflow_handle(names.automation_workflow(row.automation_id, at))
    async with asyncio.timeout(30):
        assert await handle.result() == "completed"
    shown = await handle.describe()
    memo = await shown.memo()
    assert (memo["binding_id"], memo["schedule_revision"], memo["binding_revision"]) == (row.binding_id, 1, 1)
    assert shown.typed_search_attributes.get(STATE) == "completed"
    assert (await read(plane_of(rig), row.automation_id)).state == "done"


async def test_a_short_interval_goes_on_by_renewals(rig: Rig) -> None:
    """U1, U4: the schedule never runs dry, every second has its record, and no two runs are at the same time."""
    row = await made(plane_of(rig), {"every": {"seconds": 1}}, instructions=SUBMIT)
    rig.pulse.ring()
    runs = await until_runs(rig, row.automation_id, lambda runs: sum(1 for run in runs if run.ended_at) >= 8)
    await edit(plane_of(rig), "delete", row.automation_id)
    times = [run.nominal_time for run in runs]
    assert times == [times[0] + timedelta(seconds=place) for place in range(len(times))]
    assert {run.state for run in runs} <= {"ran", "skipped"}
    assert {run.reason for run in runs if run.state == "skipped"} <= {"overlap"}
    assert sum(1 for run in runs if run.state == "ran") >= 2


async def test_a_firing_by_hand_is_followed_and_a_buffered_one_runs_after_it(rig: Rig) -> None:
    """U4, U7: what is fired by hand has a workflow of its own; with buffer_one the second waits for the first."""
    row = await made(plane_of(rig), NIGHTLY, instructions="[[delay:300]]" + SUBMIT, overlap="buffer_one")
    for _ in range(3):
        await triggered(plane_of(rig), row.automation_id)
    rig.pulse.ring()
    runs = await until_runs(rig, row.automation_id, lambda runs: len(runs) == 3 and all(run.ended_at for run in runs))
    assert {run.cause for run in runs} == {"manual"}
    assert [(run.state, run.reason, run.outcome) for run in runs] == [
        ("ran", None, "completed"), ("ran", None, "completed"), ("skipped", "overlap", None),
    ]  # fmt: skip
    for run in runs[:2]:
        handle = rig.client.get_workflow_handle(names.automation_workflow(row.automation_id, run.nominal_time))
        async with asyncio.timeout(30):
            assert await handle.result() == "completed"


async def test_a_grant_for_the_automation_lets_its_waiting_task_go_on(careful: Rig) -> None:
    """A10, A15, U6: without one it runs and its first effect waits; the next firing has a narrowing from the start."""
    plane = plane_of(careful)
    script = '[[tool:write_file {"path": "today.md", "content": "sum"}]][[then]]' + SUBMIT
    row = await made(plane, NIGHTLY, instructions=f"write today.md {script}")
    run = await triggered(plane, row.automation_id)
    careful.pulse.ring()
    await careful.until_task(run.task_id or "", "waiting_authorization")
    grant = await granted_for(careful, row.automation_id)
    card = await careful.card(task_id=run.task_id)
    await careful.decide(card, "allow_once")
    await careful.until_task(run.task_id or "", "completed")
    assert (careful.parts.files.root / "today.md").read_text() == "sum"
    await until_runs(careful, row.automation_id, lambda runs: runs[0].outcome == "completed")
    again = await triggered(plane, row.automation_id)
    careful.pulse.ring()
    held = await plane.rows(GrantRow, GrantRow.parent_grant_id == grant.grant_id)
    assert [each.task_id for each in held] == [run.task_id, again.task_id]
