"""Schedules that follow rows while rows change (U1, U3): whoever writes last, it ends as the newest row says."""

import asyncio
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from temporalio.client import ScheduleHandle
from temporalio.service import RPCError, RPCStatusCode

from activities.schedule_sync import AutomationSchedules, instants_in
from contracts import names
from domain.occurrences import next_instants
from store import automation_plans
from store.automation_plans import Plan
from store.automation_runs import FiringRules
from store.database import Transaction, utc_now
from store.tables_work import DeliveryRow
from tests.automation_acts import set_columns, triggered
from tests.automation_owner import edit, made, read, schedule
from tests.workflows.rig import Rig
from tests.workflows.test_automation_workflow import NIGHTLY, described, plane_of, until_runs, until_schedule

WEEKLY = {"cron": {"expression": "0 9 * * 1"}, "timezone": "Asia/Shanghai"}


def schedules_of(rig: Rig) -> AutomationSchedules:
    """What relay and firings use."""
    return AutomationSchedules(rig.parts.database, rig.client, FiringRules())


async def test_a_stale_sync_never_has_the_last_word(rig: Rig) -> None:
    """U3: one that read the row before an edit and writes after that edit's own sync reads again and puts it right."""
    row = await made(plane_of(rig), NIGHTLY)
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
    read_row, edited = asyncio.Event(), asyncio.Event()
    plan_of = automation_plans.plan_of

    async def slowly(tx: Transaction, automation_id: str) -> Plan:
        plan = await plan_of(tx, automation_id)
        if not read_row.is_set():
            read_row.set()
            await edited.wait()
        return plan

    # The stale one writes whatever is there: the look at the revision that is there has been passed before.
    with (
        mock.patch.object(automation_plans, "plan_of", slowly),
        mock.patch("activities.schedule_sync._wants_update", return_value=True),
    ):
        stale = asyncio.create_task(schedules_of(rig).sync(rig.scope, row.automation_id))
        await read_row.wait()
        moved = await edit(plane_of(rig), "reschedule", row.automation_id, schedule(WEEKLY))
        await schedules_of(rig).sync(rig.scope, row.automation_id)
        edited.set()
        await stale
    found = await described(rig, row.automation_id)
    assert found is not None
    assert instants_in(found.schedule.spec) == next_instants(schedule(WEEKLY), moved.decided_until, 20)
    assert "schedule revision 2" in (found.schedule.state.note or "")


async def test_syncs_at_once_make_one_schedule_and_repeated_ones_change_nothing(rig: Rig) -> None:
    """U1, U3: harmless when repeated, from wherever; nothing is sent where nothing changed."""
    row = await made(plane_of(rig), NIGHTLY)
    await asyncio.gather(*(schedules_of(rig).sync(rig.scope, row.automation_id) for _ in range(4)))
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
    assert [one.id async for one in await rig.client.list_schedules()] in (
        [names.automation_schedule(row.automation_id)], [],
    )  # fmt: skip
    assert await schedules_of(rig).sync(rig.scope, row.automation_id) == "nothing"
    handle: ScheduleHandle = rig.client.get_schedule_handle(names.automation_schedule(row.automation_id))
    await handle.delete()
    assert await schedules_of(rig).sync(rig.scope, row.automation_id) == "created"
    await edit(plane_of(rig), "delete", row.automation_id)
    await schedules_of(rig).sync(rig.scope, row.automation_id)
    assert await described(rig, row.automation_id) is None


async def test_a_schedule_that_was_away_is_caught_up_by_the_host(rig: Rig) -> None:
    """U4: a time that Temporal never heard of runs within its window, and the schedule is supplied again."""
    row = await made(plane_of(rig), {"every": {"seconds": 7200}}, instructions="[[hang:60]]")
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
    await rig.client.get_schedule_handle(names.automation_schedule(row.automation_id)).delete()
    missed = utc_now().replace(microsecond=0) - timedelta(minutes=10)
    await set_columns(
        plane_of(rig), row.automation_id, decided_until=missed - timedelta(seconds=1),
        schedule={"every": {"seconds": 7200, "offset_s": int(missed.timestamp()) % 7200}, "timezone": "UTC"},
    )  # fmt: skip
    [run] = await until_runs(rig, row.automation_id, lambda runs: len(runs) == 1)
    assert (run.nominal_time, run.cause, run.state) == (missed, "catch_up", "ran")
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None)


async def test_a_schedule_that_has_enough_is_not_asked_again(rig: Rig) -> None:
    """U1: firings after an outage ask the server once; another row, or half of the instants gone, is asked about."""
    row = await made(plane_of(rig), NIGHTLY)
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
    schedules = schedules_of(rig)
    asked = 0
    update = ScheduleHandle.update

    async def counted(handle: ScheduleHandle, *given: Any, **options: Any) -> None:
        nonlocal asked
        asked += 1
        await update(handle, *given, **options)

    with mock.patch.object(ScheduleHandle, "update", counted):
        await asyncio.gather(*(schedules.renew(rig.scope, row.automation_id) for _ in range(20)))
        assert asked == 1
        await set_columns(plane_of(rig), row.automation_id, decided_until=utc_now() + timedelta(days=12))
        assert await schedules.renew(rig.scope, row.automation_id) == "updated"
        assert asked == 2
        await set_columns(plane_of(rig), row.automation_id, revision=2)
        assert await schedules.renew(rig.scope, row.automation_id) == "updated"


async def test_firings_do_not_wait_for_a_renewal_that_hangs(rig: Rig) -> None:
    """U1: hundreds of firings after an outage hold no slot of the worker while one of them asks a slow server."""
    row = await made(plane_of(rig), NIGHTLY)
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
    schedules, asked, answered = schedules_of(rig), asyncio.Event(), asyncio.Event()
    update = ScheduleHandle.update

    async def slowly(handle: ScheduleHandle, *given: Any, **options: Any) -> None:
        asked.set()
        await answered.wait()
        await update(handle, *given, **options)

    with mock.patch.object(ScheduleHandle, "update", slowly):
        first = asyncio.create_task(schedules.renew(rig.scope, row.automation_id))
        await asked.wait()
        async with asyncio.timeout(20):
            others = await asyncio.gather(*(schedules.renew(rig.scope, row.automation_id) for _ in range(50)))
        assert not first.done()
        answered.set()
        assert {await first, *others} == {"nothing"}


async def test_a_server_that_does_not_answer_is_not_asked_by_every_firing(rig: Rig) -> None:
    """U1: one failed renewal is enough for all firings of that while; afterwards one of them asks again."""
    row = await made(plane_of(rig), NIGHTLY)
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
    schedules, asked = schedules_of(rig), 0

    async def refused(_handle: ScheduleHandle, *_given: Any, **_options: Any) -> None:
        nonlocal asked
        asked += 1
        raise RPCError("busy", RPCStatusCode.CANCELLED, b"")

    with mock.patch.object(ScheduleHandle, "update", refused):
        with pytest.raises(RPCError):
            await schedules.renew(rig.scope, row.automation_id)
        for _ in range(20):
            assert await schedules.renew(rig.scope, row.automation_id) == "nothing"
    assert asked == 1
    with mock.patch("activities.schedule_sync.REST_S", 0.0):
        rested = schedules_of(rig)
        with mock.patch.object(ScheduleHandle, "update", refused), pytest.raises(RPCError):
            await rested.renew(rig.scope, row.automation_id)
        await set_columns(plane_of(rig), row.automation_id, revision=2)
        assert await rested.renew(rig.scope, row.automation_id) == "updated"


async def until_notice(rig: Rig) -> dict[str, Any]:
    """Wait for a notice among the messages; the failure of the task is one of its own."""
    for _ in range(1200):
        for message in await rig.messages():
            if message.get("delivery", {}).get("kind") == "notice":
                return message
        await asyncio.sleep(0.05)
    raise AssertionError(f"no notice; there are {await rig.messages()}")


async def test_a_pause_of_its_own_is_told_in_the_conversation(rig: Rig) -> None:
    """U7, D1, D2: the notice is a message of the automation, in the language of its title; its schedule is paused."""
    plane = plane_of(rig)
    row = await made(plane, NIGHTLY, title="早晨总结", instructions="[[error:400 no]]")
    await set_columns(plane, row.automation_id, failures=2)
    await triggered(plane, row.automation_id)
    rig.pulse.ring()
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None and seen.schedule.state.paused)
    message = await until_notice(rig)
    assert message["delivery"]["automation_id"] == row.automation_id
    assert "task_id" not in message["delivery"]
    assert "连续多次失败" in message["text"]
    assert (await read(plane, row.automation_id)).reason == "failures"
    [notice] = await plane.rows(DeliveryRow, DeliveryRow.kind == "notice")
    assert notice.state == "delivered"


async def test_times_that_temporal_cannot_name_are_left_to_the_host(rig: Rig) -> None:
    """U1: twenty leap days ahead, or a one-off in two hundred years, do not keep a schedule from being made."""
    leap = await made(plane_of(rig), {"cron": {"expression": "0 0 29 2 *"}, "timezone": "UTC"})
    far = await made(plane_of(rig), {"once": {"at": "2226-01-01T00:00:00Z"}})
    for row, fewest in ((leap, 10), (far, 0)):
        found = await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
        assert found is not None
        instants = instants_in(found.schedule.spec)
        assert len(instants) >= fewest
        assert all(instant.year <= 2100 for instant in instants)
