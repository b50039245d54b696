"""Schedules that no automation stands behind (U1, O12): found, taken away, and none that is wanted."""

import pytest
from sqlalchemy import delete
from temporalio.client import Client

from contracts import names
from host.automation_care import remove_orphaned_schedules
from host.cli import checks_schedules
from host.temporal_link import TemporalLink
from runtime.assembly import orphan_remover
from runtime.orphaned_schedules import orphaned_schedules
from store.tables_automations import AutomationRow
from tests.automation_acts import set_columns
from tests.automation_owner import edit, made
from tests.conftest import Eventually
from tests.workflows.rig import Rig
from tests.workflows.test_automation_workflow import NIGHTLY, described, plane_of, until_schedule


async def test_a_schedule_whose_row_is_lost_is_taken_away_at_the_start(
    rig: Rig, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U1, O12, O5: SQL was restored from before it; doctor shows it, and those of other automations stay."""
    plane = plane_of(rig)
    kept, paused, lost, ended = [await made(plane, NIGHTLY) for _ in range(4)]
    for row in (kept, paused, lost, ended):
        await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
    await edit(plane, "pause", paused.automation_id)
    async with rig.parts.database.write(rig.scope) as tx:
        await tx.session.execute(delete(AutomationRow).where(AutomationRow.automation_id == lost.automation_id))
    await set_columns(plane, ended.automation_id, state="deleted")
    expected = {lost.automation_id: False, ended.automation_id: True}

    async def listed() -> bool:
        return await orphaned_schedules(rig.client, rig.parts.database, rig.scope) == expected

    await eventually(listed, "Temporal lists both")

    async def connected(*_: object) -> Client:
        return rig.client

    monkeypatch.setattr(checks_schedules, "connect", connected)
    [finding] = await checks_schedules.check_schedules(rig.parts.settings)
    assert (finding.state, finding.found.split()[0]) == ("warning", "2")
    link = TemporalLink(rig.parts.settings, connected)
    await link.run()
    await remove_orphaned_schedules(link, orphan_remover(rig.parts))
    assert await described(rig, lost.automation_id) is None
    assert await described(rig, ended.automation_id) is None
    assert await described(rig, kept.automation_id) is not None
    assert await described(rig, paused.automation_id) is not None
    # The list may be late: what is gone already is no failure.
    assert await orphan_remover(rig.parts)(rig.client) >= 0


async def test_a_foreign_schedule_is_left_alone(rig: Rig, eventually: Eventually) -> None:
    """I8: neither another user space's, nor one that somebody made by hand."""
    row = await made(plane_of(rig), NIGHTLY)
    await until_schedule(rig, row.automation_id, lambda seen: seen is not None)
    other = type(rig.scope)(f"{rig.scope.user_space}-2", rig.scope.domain)

    async def in_list() -> bool:
        return names.automation_schedule(row.automation_id) in [
            one.id async for one in await rig.client.list_schedules()
        ]  # fmt: skip

    await eventually(in_list, "Temporal lists it")
    assert await orphaned_schedules(rig.client, rig.parts.database, other) == {}
