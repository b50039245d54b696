"""A host with a legacy ledger in its state folder (E19): it starts with an import of exactly this ledger, or not."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import func, select

from domain.refusal import Refused
from host import legacy_start
from host.legacy_copy import FOLDER
from host.legacy_ledger import apply_ledger, inspect_ledger
from host.serve import open_host
from runtime.folders import prepare_folders
from runtime.settings import Settings
from store.database import Database, Scope
from store.tables_conversation import SpaceRow
from tests.host.conftest import ISOLATION
from tests.legacy_files import FILE_NAME, build, build_with_wal


@pytest.fixture
def settings(host_settings: Callable[..., Settings], tmp_path: Path) -> Settings:
    """Settings of a host whose folders are there."""
    made = host_settings(tmp_path / "home")
    prepare_folders(made)
    return made


async def start(settings: Settings) -> None:
    """Open the host's parts and close them again."""
    async with open_host(settings, ISOLATION):
        pass


async def refusal(settings: Settings) -> str:
    """Why the host does not open; nothing but the one code is ever said."""
    with pytest.raises(Refused) as refused:
        await start(settings)
    assert refused.value.refusal.code == "personal_review_legacy_migration_required"
    return refused.value.refusal.message


async def spaces(settings: Settings) -> int:
    database = Database(settings.effective_database_url)
    async with database.read(Scope("local", "personal")) as tx:
        count = await tx.session.scalar(select(func.count()).select_from(SpaceRow))
    await database.close()
    return int(count or 0)


async def imported(settings: Settings) -> None:
    await apply_ledger(settings, (await inspect_ledger(settings))["source_digest"])


async def test_a_ledger_that_was_not_imported_stops_the_start(settings: Settings) -> None:
    """E19: nothing is opened beside it, and the words name the command."""
    build_with_wal(settings.state_dir)
    words = await refusal(settings)
    assert "steward state migrate-personal-review --user-space local --composition-profile personal" in words
    assert str(settings.home) not in words
    assert await spaces(settings) == 0
    await imported(settings)
    for _ in range(2):
        await start(settings)
    assert await spaces(settings) == 1
    assert (settings.state_dir / FILE_NAME).exists()


async def test_what_is_no_ledger_stops_it_too(settings: Settings, tmp_path: Path) -> None:
    """E19: a link, also one to nowhere, and a damaged file are not taken for "there is none"."""
    path = settings.state_dir / FILE_NAME
    path.symlink_to(tmp_path / "nowhere")
    assert await refusal(settings)
    path.unlink()
    path.write_bytes(b"x" * 5000)
    assert await refusal(settings)
    path.unlink()
    await start(settings)


async def test_a_changed_ledger_stops_the_next_start(settings: Settings) -> None:
    """E19: also when only its WAL has changed, is gone, or the file was exchanged for something else."""
    path = build(settings.state_dir)
    await imported(settings)
    whole = path.read_bytes()
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint=0")
        writer.execute("UPDATE actions SET state = 'denied' WHERE action_id = 'a3'")
        assert path.read_bytes() == whole
        assert "changed" in await refusal(settings)
        writer.execute("UPDATE actions SET state = 'pending' WHERE action_id = 'a3'")
        await start(settings)
    path.write_bytes(whole[:5000])
    assert await refusal(settings)
    path.unlink()
    path.symlink_to(settings.home)
    assert await refusal(settings)


async def test_a_host_without_a_ledger_reads_nothing(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """E19: nobody pays for what is not there; the private copy of a killed import is removed."""
    (settings.state_dir / FOLDER).mkdir()
    (settings.state_dir / FOLDER / FILE_NAME).write_bytes(b"private")
    monkeypatch.setattr(legacy_start, "target_of", None)
    monkeypatch.setattr(legacy_start, "_read", None)
    await start(settings)
    assert not (settings.state_dir / FOLDER).exists()


async def test_another_domain_is_stopped_alike(settings: Settings) -> None:
    """E19: a ledger is never passed over in silence, whatever the host is bound to."""
    coding = settings.model_copy(update={"product_domain": "coding"})
    prepare_folders(coding)
    build(coding.state_dir)
    assert await refusal(coding)
    await start(settings)
