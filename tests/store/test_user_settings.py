"""The person's settings as a row (api.md `agents.settings`, E8), on both databases: changed when something changes."""

from typing import Any

import pytest

from domain.refusal import Refused
from domain.user_settings import SettingChanges
from store import user_settings
from store.tables_authority import AuditRow
from store.tables_host import ChangeRow, ReceiptRow
from tests.control_plane import Plane


async def update(
    plane: Plane, revision: int, changes: dict[str, Any], added: tuple[tuple[str, str, str], ...] = ()
) -> dict[str, Any]:
    wanted = SettingChanges.model_validate(changes)
    async with plane.database.write(plane.scope) as tx:
        await user_settings.update(tx, revision, wanted, plane.request_id(), "owner", added)
        return await user_settings.settings_view(tx)


async def told(plane: Plane) -> tuple[int, int]:
    """How often clients were told of the settings, and how many decisions about them are in the audit."""
    notices = await plane.rows(ChangeRow, ChangeRow.topic == "settings")
    return len(notices), len(await plane.rows(AuditRow, AuditRow.kind == "settings.update"))


async def revision_of(plane: Plane) -> int:
    async with plane.database.read(plane.scope) as tx:
        return int((await user_settings.settings_view(tx))["revision"])


async def test_what_says_nothing_new_changes_nothing(plane: Plane) -> None:
    """api.md: no revision, no notice, no decision; only its receipt. A wrong revision is told all the same."""
    first = await revision_of(plane)
    quiet = {"quiet_hours": {"enabled": True, "timezone": "Europe/Berlin", "start": "22:30"}}
    before = await update(plane, first, {**quiet, "notifications": {"agents": {"twin": False}}})
    assert before["revision"] == first + 1
    heard = await told(plane)
    receipts = len(await plane.rows(ReceiptRow))
    same: list[dict[str, Any]] = [
        {}, quiet, {"quiet_hours": {}}, {"notifications": {}}, {"notifications": {"agents": {}}},
        {"notifications": {"agents": {"twin": False}}}, {"channels": []},
    ]  # fmt: skip
    for changes in same:
        assert await update(plane, first + 1, changes) == before, changes
    assert await told(plane) == heard
    assert len(await plane.rows(ReceiptRow)) == receipts + len(same)
    with pytest.raises(Refused, match="revision_conflict"):
        await update(plane, first, {})
    assert (await update(plane, first + 1, {"notifications": {"agents": {"twin": None}}}))["revision"] == first + 2
    assert (await update(plane, first + 2, {"notifications": {"agents": {"twin": None}}}))["revision"] == first + 2


async def test_a_choice_of_the_default_is_kept_and_changes_nothing_for_anybody(plane: Plane) -> None:
    """E8: what the person chose explicitly outlasts another default; clients see the same settings as before."""
    first = await revision_of(plane)
    heard = await told(plane)
    view = await update(plane, first, {"language": "en"})
    assert (view["revision"], view["language"]) == (first, "en")
    async with plane.database.read(plane.scope) as tx:
        assert (await user_settings.choices(tx))["language"] == "en"
    assert await told(plane) == (heard[0], heard[1] + 1), "it is a decision of the owner"
    await update(plane, first, {"language": "en"})
    assert await told(plane) == (heard[0], heard[1] + 1)


async def test_channels_that_stay_are_no_change(plane: Plane) -> None:
    """N9: one that is added or removed is."""
    first = await revision_of(plane)
    new = {"channels": [{"kind": "apprise", "url": "json://x"}]}
    view = await update(plane, first, new, (("channel_1", "apprise", "json://…"),))
    assert view["revision"] == first + 1
    stays = {"channels": [{"channel_id": "channel_1"}]}
    assert (await update(plane, first + 1, stays))["revision"] == first + 1
    assert (await update(plane, first + 1, {"channels": []}))["revision"] == first + 2
