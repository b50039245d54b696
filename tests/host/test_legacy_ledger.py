"""`steward state migrate-personal-review` from the inside (E19): who may, on what, and what is said of it."""

import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import func, select

from domain.refusal import Refused
from host.legacy_copy import FOLDER
from host.legacy_ledger import apply_ledger, inspect_ledger
from runtime.instance_lock import exclusive_lock
from runtime.settings import Settings
from store import audit, schema, spaces
from store.database import Database, Scope, Transaction
from store.legacy_import import import_ledger
from store.tables_legacy import LegacyActionRow, LegacyImportRow
from tests.legacy_files import COUNTS, FILE_NAME, build, build_with_wal

Json = dict[str, Any]
SCOPE = Scope("local", "personal")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of a home with a state folder and nothing in it."""
    made = Settings(home=tmp_path / "home", composition_profile="personal")
    made.state_dir.mkdir(parents=True)
    return made


@asynccontextmanager
async def control_plane(settings: Settings) -> AsyncIterator[Database]:
    """The control plane with its schema."""
    database = Database(settings.effective_database_url)
    try:
        await schema.prepare(database)
        yield database
    finally:
        await database.close()


async def imported(settings: Settings) -> int:
    """How many actions were imported; none without a database."""
    if not (settings.state_dir / "steward.sqlite").exists():
        return 0
    async with control_plane(settings) as database, database.read(SCOPE) as tx:
        return int(await tx.session.scalar(select(func.count()).select_from(LegacyActionRow)) or 0)


async def refused(doing: Awaitable[Json]) -> tuple[str, object]:
    with pytest.raises(Refused) as caught:
        await doing
    return caught.value.refusal.code, caught.value.refusal.details.get("reason")


def change(settings: Settings) -> None:
    with closing(sqlite3.connect(settings.state_dir / FILE_NAME, isolation_level=None)) as connection:
        connection.execute("UPDATE settings SET value = 'on'")


async def test_inspecting_says_what_is_there_and_does_nothing(settings: Settings) -> None:
    """E19: no row, no marker, not even a database; the digest is the same every time."""
    build_with_wal(settings.state_dir)
    report = await inspect_ledger(settings)
    assert json.loads(json.dumps(report)) == {
        "status": "migration-required",
        "provider": "session.domain",
        "source_path": str((settings.state_dir / FILE_NAME).resolve()),
        "source_digest": report["source_digest"],
        "counts": COUNTS,
        "marker": None,
        "obstacle": None,
    }
    assert len(report["source_digest"]) == 64
    assert await inspect_ledger(settings) == report
    assert {path.name for path in settings.state_dir.iterdir()} == {FILE_NAME, f"{FILE_NAME}-wal", "host.lock"}


async def test_an_import_is_made_once_and_told_ever_after(settings: Settings) -> None:
    """E19: migrated, then already-migrated, by inspection and by another apply, also once the source was moved away."""
    source = build_with_wal(settings.state_dir)
    before = source.read_bytes()
    digest = (await inspect_ledger(settings))["source_digest"]
    done = await apply_ledger(settings, digest)
    assert (done["status"], done["marker"]["source_digest"], done["marker"]["counts"]) == ("migrated", digest, COUNTS)
    assert done["marker"]["source_path"] == done["source_path"]
    again = await apply_ledger(settings, digest)
    assert again == done | {"status": "already-migrated"}
    assert await inspect_ledger(settings) == again
    assert source.read_bytes() == before
    assert await imported(settings) == 3
    for path in settings.state_dir.glob(f"{FILE_NAME}*"):
        path.unlink()
    for gone in (await inspect_ledger(settings), await apply_ledger(settings, digest)):
        assert (gone["status"], gone["marker"], gone["source_path"]) == ("already-migrated", again["marker"], None)
    assert (await refused(apply_ledger(settings, "0" * 64)))[0] == "not_found"


async def test_a_changed_source_is_not_imported(settings: Settings) -> None:
    """E19: what was inspected is what is imported, or nothing."""
    build_with_wal(settings.state_dir)
    digest = (await inspect_ledger(settings))["source_digest"]
    change(settings)
    assert await refused(apply_ledger(settings, digest)) == ("precondition_changed", "source_changed")
    assert await refused(apply_ledger(settings, "wrong")) == ("precondition_changed", "source_changed")
    assert await imported(settings) == 0
    now = (await inspect_ledger(settings))["source_digest"]
    assert now != digest
    assert (await apply_ledger(settings, now))["status"] == "migrated"


async def test_a_source_that_changes_during_the_import_is_taken_back(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E19: rows and marker of a state that is past are not committed."""
    build(settings.state_dir)
    digest = (await inspect_ledger(settings))["source_digest"]
    real = import_ledger

    async def import_and_change(tx: Transaction, *given: Any) -> LegacyImportRow:
        marker = await real(tx, *given)
        change(settings)
        return marker

    monkeypatch.setattr("host.legacy_ledger.import_ledger", import_and_change)
    assert await refused(apply_ledger(settings, digest)) == ("precondition_changed", "source_changed")
    assert await imported(settings) == 0
    assert (await inspect_ledger(settings))["marker"] is None


async def test_a_source_that_changes_after_the_import_is_an_obstacle(settings: Settings) -> None:
    """E19: it is shown beside the marker, and neither digest imports it."""
    build(settings.state_dir)
    digest = (await inspect_ledger(settings))["source_digest"]
    await apply_ledger(settings, digest)
    change(settings)
    report = await inspect_ledger(settings)
    assert (report["status"], report["obstacle"]) == ("migration-required", "source_changed")
    assert report["marker"]["source_digest"] == digest != report["source_digest"]
    for expected in (digest, report["source_digest"]):
        assert await refused(apply_ledger(settings, expected)) == ("precondition_changed", "source_changed")
    assert await imported(settings) == 3


async def test_the_marker_is_bound_to_the_place(settings: Settings, tmp_path: Path) -> None:
    """E19: the same content at another path was not imported; an operator has to look."""
    build(settings.state_dir)
    digest = (await inspect_ledger(settings))["source_digest"]
    await apply_ledger(settings, digest)
    moved = Settings(home=tmp_path / "moved", composition_profile="personal")
    settings.home.rename(moved.home)
    assert (await inspect_ledger(moved))["obstacle"] == "source_changed"
    assert await refused(apply_ledger(moved, digest)) == ("precondition_changed", "source_changed")


async def test_a_target_that_is_not_empty_is_an_obstacle(settings: Settings) -> None:
    """E19: it is shown by the inspection, and nothing is merged or overwritten."""
    build(settings.state_dir)
    async with control_plane(settings) as database, database.write(SCOPE) as tx:
        await audit.record(tx, "approval", "approval_1", "deny", principal="owner")
    report = await inspect_ledger(settings)
    assert (report["status"], report["obstacle"]) == ("migration-required", "target_not_empty")
    refusal = await refused(apply_ledger(settings, report["source_digest"]))
    assert refusal == ("maintenance_not_permitted", "target_not_empty")
    assert await imported(settings) == 0


async def _foreign_store(settings: Settings) -> Settings:
    return Settings(
        home=settings.home, composition_profile="personal", database_url=SecretStr("postgresql://nobody:x@127.0.0.1:1/none")
    )


async def _file_elsewhere(settings: Settings) -> Settings:
    return Settings(
        home=settings.home,
        composition_profile="personal",
        database_url=SecretStr(f"sqlite:///{settings.home}/shared.sqlite"),
    )


async def _another_space(settings: Settings) -> Settings:
    async with control_plane(settings) as database, database.write(Scope("another", "personal")) as tx:
        await spaces.open_space(tx, "test")
    return settings


@pytest.mark.parametrize("share", [_foreign_store, _file_elsewhere, _another_space])
async def test_a_store_that_may_be_shared_is_refused(
    settings: Settings, share: Callable[[Settings], Awaitable[Settings]]
) -> None:
    """E19, H22: this host's lock says nothing about the other hosts of a server, a file elsewhere or another space."""
    build(settings.state_dir)
    digest = (await inspect_ledger(settings))["source_digest"]
    shared = await share(settings)
    for doing in (inspect_ledger(shared), apply_ledger(shared, digest)):
        assert await refused(doing) == ("maintenance_not_permitted", "store_is_shared")
    assert not (settings.home / "shared.sqlite").exists()


@pytest.mark.parametrize("choice", [{"composition_profile": None}, {"product_domain": "coding"}])
async def test_without_the_provider_nothing_is_done(tmp_path: Path, choice: Json) -> None:
    """E19, H7: a binding alone selects no ledger, and another product has none."""
    made = Settings(**{"home": tmp_path, "composition_profile": "personal", **choice})
    made.state_dir.mkdir(parents=True)
    build(made.state_dir)
    assert await refused(inspect_ledger(made)) == ("service_not_available", "provider_missing")
    assert await refused(apply_ledger(made, "x")) == ("service_not_available", "provider_missing")


async def test_only_the_local_owner_may(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """E19: another user is refused before anything is touched, whatever that user could read."""
    build(settings.state_dir)
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    assert await refused(inspect_ledger(settings)) == ("maintenance_not_permitted", "not_the_local_owner")
    assert await refused(apply_ledger(settings, "x")) == ("maintenance_not_permitted", "not_the_local_owner")
    assert [path.name for path in settings.state_dir.glob("host.lock")] == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
async def test_a_credential_that_others_can_read_proves_no_owner(settings: Settings, mode: int) -> None:
    """E19, H19: the owner's credential is the owner's alone, and a regular file."""
    build(settings.state_dir)
    token = settings.state_dir / "owner.token"
    token.write_text("t" * 43)
    token.chmod(0o600)
    await inspect_ledger(settings)
    token.chmod(mode)
    assert await refused(inspect_ledger(settings)) == ("maintenance_not_permitted", "not_the_local_owner")
    token.rename(settings.home / "elsewhere")
    (settings.home / "elsewhere").chmod(0o600)
    token.symlink_to(settings.home / "elsewhere")
    assert await refused(inspect_ledger(settings)) == ("maintenance_not_permitted", "not_the_local_owner")


async def test_unverified_isolation_is_refused_first(tmp_path: Path) -> None:
    """H3: before any private state is made."""
    asked = Settings(home=tmp_path / "home", composition_profile="personal", isolation_mode="verified_host")
    assert (await refused(inspect_ledger(asked)))[0] == "user_host_isolation_required"
    assert not asked.home.exists()


async def test_a_running_host_bars_it(settings: Settings) -> None:
    """E19, H4: the lock is the host's; nothing is read or copied while somebody holds it."""
    build(settings.state_dir)
    with exclusive_lock(settings.state_dir / "host.lock", "a host"):
        assert (await refused(inspect_ledger(settings)))[0] == "host_locked"
        assert (await refused(apply_ledger(settings, "x")))[0] == "host_locked"
    assert not (settings.state_dir / FOLDER).exists()
    assert (await inspect_ledger(settings))["status"] == "migration-required"


async def test_no_space_and_no_ledger(settings: Settings, tmp_path: Path) -> None:
    """E19: a mistyped user space makes no folder."""
    assert (await refused(inspect_ledger(settings)))[0] == "not_found"
    nobody = Settings(home=tmp_path / "home", user_space="nobody", composition_profile="personal")
    assert (await refused(inspect_ledger(nobody)))[0] == "not_found"
    assert not nobody.space_dir.exists()


async def test_an_unusable_ledger_is_refused_and_kept(settings: Settings) -> None:
    """E19: damage and foreign schemas are said, with nothing imported and nothing left behind."""
    path = build(settings.state_dir, "PRAGMA user_version = 7")
    assert await refused(inspect_ledger(settings)) == ("invalid_params", "foreign_schema")
    path.write_bytes(b"x" * 8192)
    assert await refused(apply_ledger(settings, "x")) == ("invalid_params", "damaged")
    assert path.read_bytes() == b"x" * 8192
    assert await imported(settings) == 0
    assert not (settings.state_dir / FOLDER).exists()
