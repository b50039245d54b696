"""Old records of firings (U8), on both databases: a bounded number is kept, and none goes that is still needed."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import insert, update

from domain.automation_history import KEPT, KEPT_ALWAYS, KEPT_AT_LEAST, KEPT_FOR
from domain.delivery import DeliveryKind, DeliveryState
from host.housekeeping import forget_firings
from store import automation_pruning, deliveries, outbox
from store.database import utc_now
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_host import OutboxRow
from store.tables_work import DeliveryRow
from tests.automation_acts import fired, runs_of
from tests.automation_owner import edit, made
from tests.control_plane import Plane
from tests.damage import Damage
from tests.damage import damage as damage
from tests.store.test_automation_runs import at_once

LONG_AGO = KEPT_FOR + timedelta(days=1)


async def records(plane: Plane, row: AutomationRow, count: int, newest: datetime, **columns: Any) -> list[str]:
    """Records of skipped times, a minute apart; their ids, oldest first."""
    times = [newest - timedelta(minutes=back) for back in reversed(range(count))]
    values = [
        {
            "run_id": f"run_{row.automation_id}_{time.timestamp()}", "automation_id": row.automation_id,
            "nominal_time": time, "request_id": str(time.timestamp()), "cause": "schedule", "state": "skipped",
            "reason": "overlap", "count": 1, "schedule_revision": 1, "binding_revision": 1, "decided_at": time,
            "ended_at": time, **columns,
        }
        for time in times
    ]  # fmt: skip
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(insert(AutomationRunRow), values)
    return [str(value["run_id"]) for value in values]


async def kept(plane: Plane, row: AutomationRow, at_once: int = 100) -> list[str]:
    """What is left after the host has kept house."""
    await forget_firings(plane.database, plane.scope, at_once)
    return [run.run_id for run in await runs_of(plane, row.automation_id)]


async def test_an_automation_keeps_its_newest_records(plane: Plane, other: Plane) -> None:
    """U8: those beyond the newest thousand go, in as many transactions as it takes; nobody else's do."""
    row, others = await made(plane), await made(other)
    ids = await records(plane, row, KEPT + 250, utc_now() - 2 * KEPT_AT_LEAST)
    foreign = await records(other, others, KEPT + 1, utc_now() - 2 * KEPT_AT_LEAST)
    assert await kept(plane, row) == ids[250:]
    assert await kept(plane, row) == ids[250:]
    assert [run.run_id for run in await runs_of(other, others.automation_id)] == foreign


async def test_a_schedule_of_seconds_keeps_a_day(plane: Plane) -> None:
    """U5: however many there are, none goes that a firing may still ask for."""
    row = await made(plane)
    ids = await records(plane, row, KEPT + 10, utc_now())
    assert await kept(plane, row) == ids


@pytest.mark.parametrize(("act", "left"), [(None, KEPT_ALWAYS), ("delete", 0)])
async def test_of_what_is_old_the_last_ones_stay(plane: Plane, act: str | None, left: int) -> None:
    """U8: a rare automation goes on showing its last runs; one that is deleted shows nothing."""
    row = await made(plane)
    ids = await records(plane, row, KEPT_ALWAYS + 5, utc_now() - LONG_AGO)
    if act is not None:
        await edit(plane, act, row.automation_id)
    assert await kept(plane, row) == ids[len(ids) - left :]


async def test_nothing_goes_that_is_still_needed(plane: Plane) -> None:
    """I1, U6: what has not ended, what a notice is about, whose result is on its way, what Temporal is to be told."""
    row = await made(plane)
    running, noticed, result, told, gone = await records(plane, row, 5, utc_now() - LONG_AGO)
    await edit(plane, "delete", row.automation_id)
    delivery = await plane.succeed(await plane.attempt())
    changes: dict[str, dict[str, Any]] = {
        running: {"ended_at": None, "state": "ran"},
        result: {"task_id": delivery.owner_id, "requirement_version": 1, "state": "ran"},
    }
    async with plane.database.write(plane.scope) as tx:
        for run_id, values in changes.items():
            changed = update(AutomationRunRow).where(AutomationRunRow.run_id == run_id)
            await tx.session.execute(changed.values(**values))
        await deliveries.open_notice(tx, row.automation_id, 1, noticed)
        outbox.post(tx, outbox.AUTOMATION_FOLLOW, told)
    assert await kept(plane, row) == [running, noticed, result, told]
    assert gone not in await kept(plane, row)
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(
            update(DeliveryRow).where(DeliveryRow.kind == DeliveryKind.RESULT).values(state=DeliveryState.DELIVERED)
        )
        await tx.session.execute(update(OutboxRow).values(done_at=tx.now))
    assert await kept(plane, row) == [running, noticed]


async def test_what_is_needed_meanwhile_is_not_forgotten(plane: Plane) -> None:
    """I1: between the look and the write a notice may be opened; the write looks again."""
    row = await made(plane)
    await records(plane, row, 3, utc_now() - LONG_AGO)
    await edit(plane, "delete", row.automation_id)
    async with plane.database.read(plane.scope) as tx:
        assert await automation_pruning.grown(tx) == [row.automation_id]
        found = await automation_pruning.forgettable(tx, row.automation_id, 10)
    async with plane.database.write(plane.scope) as tx:
        await deliveries.open_notice(tx, row.automation_id, 1, found[1])
    async with plane.database.write(plane.scope) as tx:
        await automation_pruning.forget(tx, found)
    assert [run.run_id for run in await runs_of(plane, row.automation_id)] == [found[1]]


async def test_a_forgotten_time_does_not_run_again(plane: Plane) -> None:
    """U5, I2: Temporal may bring it a year later; it is left out, and its task is the one it had."""
    row, nominal = await at_once(plane)
    run = await fired(plane, row, nominal)
    async with plane.database.write(plane.scope) as tx:
        await tx.session.delete(await tx.session.get_one(AutomationRunRow, run.run_id))
    again = await fired(plane, row, nominal)
    assert (again.state, again.task_id) == ("skipped", None)


@pytest.mark.parametrize("column", ["nominal_time", "decided_at", "ended_at"])
async def test_a_damaged_record_holds_up_no_housekeeping(plane: Plane, damage: Damage, column: str) -> None:
    """U8: a time that is none is not in the way of the others."""
    row = await made(plane)
    ids = await records(plane, row, KEPT_ALWAYS + 5, utc_now() - LONG_AGO)
    await damage(plane, "automation_runs", column, "run_id", ids[0])
    left = await kept(plane, row)
    # It may stand among the newest, where text is later than any time.
    assert set(ids[6:]) <= set(left)
    assert not set(ids[1:5]) & set(left)
