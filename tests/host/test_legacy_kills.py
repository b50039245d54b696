"""An import that is killed anywhere (E19): the next one finds it done or not begun, and never does it twice."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from host.legacy_copy import FOLDER
from host.legacy_ledger import apply_ledger, inspect_ledger
from host.serve import open_host
from store.audit_check import check_chain
from store.tables_legacy import LegacyActionRow, LegacyAuditRow, LegacyImportRow
from tests.control_plane import Plane
from tests.host.conftest import ISOLATION
from tests.host.legacy_victim import COMMITTED, POINTS, settings_of
from tests.legacy_files import FILE_NAME

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
async def killed(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """The folder with a home for every point, after each import was killed there."""
    folder = tmp_path_factory.mktemp("killed-imports")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.host.legacy_victim", str(folder), cwd=repository, stdout=PIPE, stderr=PIPE
    )
    out, errors = await process.communicate()
    assert out.decode().splitlines() == [f"{point}: -9" for point in POINTS], errors.decode()
    return folder


@pytest.mark.parametrize("point", POINTS)
async def test_an_import_killed_there_is_settled(killed: Path, point: str) -> None:
    """E19: the marker alone says whether it happened; the same digest settles it; afterwards the host starts."""
    settings = settings_of(killed, point)
    source = {path.name: path.read_bytes() for path in settings.state_dir.glob(f"{FILE_NAME}*")}
    report = await inspect_ledger(settings)
    assert report["status"] == ("already-migrated" if point in COMMITTED else "migration-required")
    assert report["obstacle"] is None
    settled = await apply_ledger(settings, report["source_digest"])
    assert settled["status"] == ("already-migrated" if point in COMMITTED else "migrated")
    assert {path.name: path.read_bytes() for path in settings.state_dir.glob(f"{FILE_NAME}*")} == source
    assert not (settings.state_dir / FOLDER).exists()
    async with open_host(settings, ISOLATION) as host:
        services = host.services
        plane = Plane(services.database, services.scope, services.main_session_id)
        assert len(await plane.rows(LegacyImportRow)) == 1
        assert len(await plane.rows(LegacyActionRow)) == 3
        assert len(await plane.rows(LegacyAuditRow)) == 4
        async with services.reading() as tx:
            checked = await check_chain(tx)
    assert (checked.holds, checked.rows) == (True, 8)
