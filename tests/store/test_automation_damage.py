"""Damaged rows of automations (U8), on both databases: whatever is left in one, the others are as before."""

import pytest
from sqlalchemy import text
from sqlalchemy import update as sql_update

from domain.automation import Binding
from store import automation_proposals, automation_recovery
from store.automation_proposal_rows import Asked
from store.tables_automations import AutomationRow, AutomationRunRow
from tests.automation_owner import WEEKDAYS, edit, made, page, schedule, shown
from tests.control_plane import Plane
from tests.damage import Damage
from tests.damage import damage as damage


async def test_one_broken_row_blocks_no_other(plane: Plane) -> None:
    """U8: it is listed with its error, and can be given a schedule again."""
    good, broken = await made(plane), await made(plane)
    nonsense = {"cron": {"expression": "often"}, "timezone": "Mars/Base"}
    async with plane.database.write(plane.scope) as tx:
        wanted = AutomationRow.automation_id == broken.automation_id
        await tx.session.execute(sql_update(AutomationRow).where(wanted).values(schedule=nonsense))
    first, second = (await page(plane))["items"]
    assert (first["automation_id"], first["error"]["code"], first["next_times"]) == (
        broken.automation_id, "invalid_params", [],
    )  # fmt: skip
    assert second["automation_id"] == good.automation_id
    assert len(second["next_times"]) == 5
    assert "error" not in second
    assert (await edit(plane, "reschedule", broken.automation_id, schedule(WEEKDAYS))).schedule_revision == 2
    assert "error" not in (await shown(plane, broken.automation_id))


@pytest.mark.parametrize("stored", ["[1", "", '"often"', "[]", "null", "[" * 5000])
async def test_a_row_that_is_no_json_blocks_no_other(plane: Plane, stored: str) -> None:
    """U8: whatever a damaged file holds in one row: it is listed, can be given a schedule again, and deleted."""
    good, broken, gone = await made(plane), await made(plane), await made(plane)
    if not plane.database.sqlite and stored not in ('"often"', "[]", "null"):
        stored = "{}"  # Its server takes nothing else for JSON.
    async with plane.database.write(plane.scope) as tx:
        for row in (broken, gone):
            values = {"stored": stored, "automation_id": row.automation_id}
            for column in ("schedule", "source_seqs"):
                await tx.session.execute(
                    text(f"UPDATE automations SET {column} = :stored WHERE automation_id = :automation_id"), values
                )
    assert [row["automation_id"] for row in (await page(plane))["items"] if "error" not in row] == [good.automation_id]
    assert len((await page(plane))["items"]) == 3
    async with plane.database.read(plane.scope) as tx:
        assert len(await automation_recovery.active_automations(tx)) == 3
    assert (await edit(plane, "reschedule", broken.automation_id, schedule(WEEKDAYS))).schedule_revision == 2
    assert "error" not in (await shown(plane, broken.automation_id))
    assert (await edit(plane, "delete", gone.automation_id)).state == "deleted"


@pytest.mark.parametrize("column", ["decided_until", "created_at", "updated_at"])
async def test_a_row_with_a_time_that_is_none_blocks_no_other(plane: Plane, damage: Damage, column: str) -> None:
    """U8: listed, with its error where it cannot fire any more; it can be given its schedule again, and deleted."""
    good, broken, gone = await made(plane), await made(plane), await made(plane)
    for row in (broken, gone):
        await damage(plane, "automations", column, "automation_id", row.automation_id)
    listed = {item["automation_id"]: item for item in (await page(plane))["items"]}
    assert len(listed) == 3
    assert (len(listed[good.automation_id]["next_times"]), "error" in listed[good.automation_id]) == (5, False)
    item = listed[broken.automation_id]
    if column == "decided_until":
        assert (item["error"]["code"], item["next_times"]) == ("invalid_params", [])
        assert "schedule again" in item["error"]["message"]
    else:
        assert (item[column], "error" in item) == (None, False)
    async with plane.database.read(plane.scope) as tx:
        assert len(await automation_recovery.active_automations(tx)) == 3
    mended = await edit(plane, "reschedule", broken.automation_id, schedule(WEEKDAYS))
    assert (mended.schedule_revision, mended.decided_until) == (2, mended.updated_at)
    assert "error" not in (await shown(plane, broken.automation_id))
    assert (await edit(plane, "delete", gone.automation_id)).state == "deleted"
    assert await plane.rows(AutomationRunRow, AutomationRunRow.automation_id.in_([broken.automation_id])) == []


async def test_a_record_and_a_proposal_with_a_time_that_is_none_block_no_other(plane: Plane, damage: Damage) -> None:
    """U8, U9: they are left out, and what stands beside them is shown."""
    row = await made(plane)
    await edit(plane, "trigger", row.automation_id)
    await edit(plane, "trigger", row.automation_id)
    first, second = await plane.rows(AutomationRunRow, AutomationRunRow.automation_id == row.automation_id)
    async with plane.database.write(plane.scope) as tx:
        binding = Binding("Morning", "summarise notes.txt into today.md")
        asked = [Asked("broken"), Asked("good")]
        proposals = [await automation_proposals.propose_new(tx, binding, schedule(WEEKDAYS), one) for one in asked]
    await damage(plane, "automation_runs", "nominal_time", "run_id", first.run_id)
    await damage(plane, "automation_proposals", "created_at", "proposal_id", proposals[0].proposal_id)
    listed = await page(plane)
    [item] = listed["items"]
    assert [run["task_id"] for run in item["runs"] if "task_id" in run] == [second.task_id] * bool(second.task_id)
    assert len(item["runs"]) == 1
    assert [one["proposal_id"] for one in listed["proposals"]] == [proposals[1].proposal_id]
