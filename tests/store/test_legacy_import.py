"""Importing a legacy ledger (E19): what is taken over, into what, and that it counts for nothing but history."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from ulid import ULID

from domain.refusal import Refused
from store import approvals, audit, user_settings
from store.audit_check import check_chain
from store.audit_views import audit_page
from store.database import Scope
from store.legacy_import import LEDGER, import_ledger, target_of
from store.legacy_source import open_source
from store.tables import Table
from store.tables_authority import ApprovalRow, AuditRow, ClaimRow, EffectRow
from store.tables_legacy import LegacyActionRow, LegacyAuditRow, LegacyImportRow, LegacySettingRow
from store.tables_rules import RuleRow
from tests.control_plane import Plane
from tests.legacy_files import COUNTS, build

SOURCE = "/state/personal-review.sqlite"
Import = Callable[..., Any]


@pytest.fixture
def import_into(tmp_path: Path) -> Import:
    """Imports the example, and `more` statements, as a ledger of the plane's own user space."""

    async def run(plane: Plane, *more: str, space: str | None = None) -> LegacyImportRow:
        mine = space or plane.scope.user_space
        moved = [f"UPDATE {table} SET user_space = '{mine}'" for table in ("settings", "rules", "actions")]
        path = build(tmp_path, *moved, *(statement.replace("OWN", mine) for statement in more))
        try:
            with open_source(path) as source:
                async with plane.database.write(plane.scope) as tx:
                    return await import_ledger(tx, source, SOURCE, "owner")
        finally:
            path.unlink()

    return run


@pytest.fixture
def unopened(plane: Plane) -> Plane:
    """A user space in which nobody has chosen anything."""
    return Plane(plane.database, Scope(f"space-{ULID()}", plane.scope.domain), "")


async def test_settings_actions_and_audit_are_taken_over(plane: Plane, import_into: Import) -> None:
    """E19: as they were; claimed without outcome is unknown, pending is expired; rules are counted only."""
    marker = await import_into(plane)
    assert (marker.source_path, marker.counts, marker.principal) == (SOURCE, COUNTS, "owner")
    [setting] = await plane.rows(LegacySettingRow)
    assert (setting.key, setting.value, setting.updated_at) == ("auto_review", "off", "2026-05-02T08:00:00Z")
    actions = {row.action_id: row for row in await plane.rows(LegacyActionRow)}
    assert {key: (row.source_state, row.state) for key, row in actions.items()} == {
        "a1": ("succeeded", "succeeded"), "a2": ("claimed", "unknown"), "a3": ("pending", "expired"),
    }  # fmt: skip
    first = actions["a1"]
    assert (first.kind, first.digest, first.version, first.outcome_json) == ("file", "3f2a", 1, '{"ok":true}')
    assert (first.created_at, first.decided_at) == ("2026-05-02T08:02:00Z", "2026-05-02T08:02:10Z")
    assert [(row.sequence, row.action_id, row.event) for row in await plane.rows(LegacyAuditRow)] == [
        (1, "a1", "approved"), (2, "a1", "succeeded"), (3, "a2", "approved"), (4, "a2", "claimed"),
    ]  # fmt: skip


@pytest.mark.parametrize(("value", "choice"), [("off", False), ("on", True), ("sometimes", False), ("ON", True)])
async def test_the_choice_about_review_goes_on(unopened: Plane, import_into: Import, value: str, choice: bool) -> None:
    """E19, E8: it becomes the person's explicit one; what is no clear yes keeps asking the person."""
    await import_into(unopened, f"UPDATE settings SET value = '{value}'")
    async with unopened.database.read(unopened.scope) as tx:
        assert await user_settings.choices(tx) == {"auto_review": choice}


async def test_a_choice_made_here_stays(unopened: Plane, import_into: Import) -> None:
    """E19, E8: an explicit choice is kept for ever; a ledger without one makes none."""
    async with unopened.database.write(unopened.scope) as tx:
        await user_settings.import_choice(tx, "auto_review", True)
    await import_into(unopened)
    async with unopened.database.read(unopened.scope) as tx:
        assert await user_settings.choices(tx) == {"auto_review": True}


async def test_a_ledger_without_a_choice_makes_none(unopened: Plane, import_into: Import) -> None:
    """E19, E8, I8: another setting is kept as history, another space's choice is not taken."""
    await import_into(
        unopened,
        "UPDATE settings SET key = 'auto_review_model'",
        "INSERT INTO settings VALUES ('foreign', 'auto_review', 'on', 'x')",
    )
    async with unopened.database.read(unopened.scope) as tx:
        assert await user_settings.choices(tx) == {}


async def test_it_grants_nothing(plane: Plane, import_into: Import) -> None:
    """E19: no rule, card, claim or effect comes of it, and no card can be decided by an imported action's id."""
    await import_into(plane)
    for table in (RuleRow, ApprovalRow, EffectRow):
        assert await plane.rows(table) == []
    assert await plane.rows(ClaimRow, ClaimRow.effect_id.in_(["a1", "a2", "a3"])) == []
    with pytest.raises(Refused, match="not_found"):
        async with plane.database.read(plane.scope) as tx:
            await approvals.approval_row(tx, "a3")


async def test_imported_actions_are_in_the_audit_list_as_imported(plane: Plane, import_into: Import) -> None:
    """E19, A14: behind each other in the chain, which holds, and goes on with what is decided here."""
    marker = await import_into(plane)
    async with plane.database.write(plane.scope) as tx:
        await audit.record(tx, "effect.gate", "effect_1", "allow", principal="owner")
        listed = (await audit_page(tx, 50, None))["items"]
        checked = await check_chain(tx)
    assert (checked.holds, checked.rows) == (True, 9)
    assert [(row["kind"], row["subject_id"], row["verdict"], row["imported"]) for row in reversed(listed)] == [
        ("legacy.import", marker.source_digest, "imported", True),
        ("legacy.action", "a1", "succeeded", True),
        ("legacy.action", "a2", "unknown", True),
        ("legacy.action", "a3", "expired", True),
        ("legacy.audit", "a1", "approved", True),
        ("legacy.audit", "a1", "succeeded", True),
        ("legacy.audit", "a2", "approved", True),
        ("legacy.audit", "a2", "claimed", True),
        ("effect.gate", "effect_1", "allow", False),
    ]
    [unknown] = [row for row in listed if row["verdict"] == "unknown"]
    assert unknown["details"] == {"kind": "command", "source_state": "claimed", "at": "2026-05-04T10:00:00Z"}
    assert unknown["action_digest"] == "77aa"
    assert "publish" not in str(listed)


async def test_another_spaces_rows_stay_outside(plane: Plane, import_into: Import) -> None:
    """I8: they are counted and digested, and never readable here; entries without an action are this space's."""
    marker = await import_into(
        plane,
        "INSERT INTO settings VALUES ('foreign', 'auto_review', 'on', 'x')",
        "INSERT INTO actions SELECT 'b1', 'foreign', kind, digest, version, state, action_json, created_at, decided_at,"
        " outcome_json FROM actions WHERE action_id = 'a1'",
        "INSERT INTO audit (action_id, event, actor, at) VALUES ('b1', 'approved', 'somebody', 'x')",
        "INSERT INTO audit (action_id, event, actor, at) VALUES (NULL, 'started', 'host', 'x')",
        "INSERT INTO audit (action_id, event, actor, at) VALUES ('gone', 'approved', 'owner', 'x')",
    )
    assert marker.counts == {"actions": 4, "audit": 7, "rules": 2, "settings": 2}
    assert [row.value for row in await plane.rows(LegacySettingRow)] == ["off"]
    assert {row.action_id for row in await plane.rows(LegacyActionRow)} == {"a1", "a2", "a3"}
    assert [row.action_id for row in await plane.rows(LegacyAuditRow)] == ["a1", "a1", "a2", "a2", None, "gone"]
    assert "b1" not in {row.subject_id for row in await plane.rows(AuditRow)}


async def test_the_readable_part_of_an_outcome_decides(plane: Plane, import_into: Import) -> None:
    """E19: a claimed action whose outcome says so has ended; what cannot be read says nothing."""
    outcomes = {"c1": '{"ok":true}', "c2": '{"ok":false}', "c3": "{", "c4": "[" * 100_000, "c5": "null"}
    await import_into(
        plane,
        *(
            f"INSERT INTO actions VALUES ('{name}', 'OWN', 'file', 'd', 1, 'claimed', '{{}}', 'x', NULL, '{outcome}')"
            for name, outcome in outcomes.items()
        ),
    )
    states = {row.action_id: row.state for row in await plane.rows(LegacyActionRow)}
    assert {name: states[name] for name in ("c1", "c2", "c3", "c4", "c5")} == {
        "c1": "succeeded", "c2": "failed", "c3": "unknown", "c4": "unknown", "c5": "unknown",
    }  # fmt: skip


async def test_a_large_ledger_is_taken_over_whole(plane: Plane, import_into: Import) -> None:
    """E19: more rows than one statement takes, each once and in order."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1201) "
    await import_into(
        plane,
        f"{numbers}INSERT INTO actions SELECT printf('n%05d', i), 'OWN', 'file', 'd', i, 'denied', '{{}}', 'x', NULL, "
        "NULL FROM n",
        f"{numbers}INSERT INTO audit (action_id, event, actor, at) SELECT printf('n%05d', i), 'denied', 'owner', 'x' "
        "FROM n",
    )
    assert len(await plane.rows(LegacyActionRow)) == 1204
    assert [row.sequence for row in await plane.rows(LegacyAuditRow)] == list(range(1, 1206))
    async with plane.database.read(plane.scope) as tx:
        checked = await check_chain(tx)
    assert (checked.holds, checked.rows) == (True, 1 + 1204 + 1205)


async def test_a_second_import_is_refused_and_changes_nothing(plane: Plane, import_into: Import) -> None:
    """E19: never overwritten, never merged, also when the source is the same."""
    await import_into(plane)
    before = len(await plane.rows(AuditRow))
    with pytest.raises(Refused, match="maintenance_not_permitted"):
        await import_into(plane)
    assert len(await plane.rows(AuditRow)) == before
    assert len(await plane.rows(LegacyImportRow)) == 1


def _decision(plane: Plane, now: datetime) -> Table:
    return AuditRow(
        user_space=plane.scope.user_space, domain=plane.scope.domain, sequence=1, at=now, kind="approval",
        subject_id="approval_1", principal="owner", verdict="deny", details={}, previous_hash="", hash="",
    )  # fmt: skip


def _rule(plane: Plane, now: datetime) -> Table:
    return RuleRow(
        user_space=plane.scope.user_space, domain=plane.scope.domain, rule_id=f"rule_{plane.scope.user_space}",
        kind="file", scope={}, scope_digest="", match_key="", words={}, mode="ask", created_by="owner",
        created_at=now, updated_at=now,
    )  # fmt: skip


def _kept_setting(plane: Plane, _now: datetime) -> Table:
    return LegacySettingRow(
        user_space=plane.scope.user_space, domain=plane.scope.domain, key="auto_review", value="on", updated_at="x"
    )


@pytest.mark.parametrize("row", [_decision, _rule, _kept_setting])
async def test_a_target_that_is_not_empty_is_refused(
    plane: Plane, other: Plane, import_into: Import, row: Callable[[Plane, datetime], Table]
) -> None:
    """E19, I8: any row of this space's ledger is one too many; another space's is not."""
    for space in (other, plane):
        assert (await target_of(plane.database, plane.scope)).empty
        async with space.database.write(space.scope) as tx:
            tx.session.add(row(space, tx.now))
    assert not (await target_of(plane.database, plane.scope)).empty
    with pytest.raises(Refused) as refused:
        await import_into(plane)
    assert refused.value.refusal.details["reason"] == "target_not_empty"
    assert await plane.rows(LegacyImportRow) == []
    assert await plane.rows(LegacyActionRow) == []


async def test_a_conversation_is_no_obstacle(plane: Plane, import_into: Import) -> None:
    """E19: the ledger has to be empty, not the space."""
    await plane.turn()
    assert (await import_into(plane)).counts == COUNTS


async def test_the_target_says_who_else_is_there(plane: Plane, other: Plane) -> None:
    """E19: a store with other spaces in it may be shared."""
    assert (await target_of(plane.database, plane.scope)).other_scopes >= 1
    unopened = Scope("nobody", plane.scope.domain)
    assert (await target_of(plane.database, unopened)).other_scopes >= 2


def test_the_tables_of_a_ledger_exist() -> None:
    """E19: a table that was renamed must not drop out of what "empty" means."""
    assert set(Table.metadata.tables) >= LEDGER
    for name in LEDGER:
        assert {"user_space", "domain"} <= set(Table.metadata.tables[name].columns.keys())
