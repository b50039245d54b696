"""`steward doctor` says whether commands are confined, and how to mend it (O5, E16)."""

from pathlib import Path

import pytest

from adapters import confinement
from adapters.confinement import Confinement, find_confinement
from host.cli.checks import check_confinement
from runtime.settings import Settings


async def test_it_says_what_a_worker_would_find(tmp_path: Path) -> None:
    """O5: this machine, whichever it is; nothing is made for the look."""
    settings = Settings(home=tmp_path / "home")
    works = find_confinement(tmp_path, tmp_path).works
    [found] = await check_confinement(settings)
    assert found.state == ("ok" if works else "warning")
    assert ("commands are confined" in found.found) is works
    assert not settings.home.exists()


@pytest.mark.parametrize("network", [False, True])
async def test_where_it_works_the_network_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: bool
) -> None:
    """E16: off unless permitted, and the setting that permits it shows."""
    monkeypatch.setattr(confinement, "find_confinement", lambda files, home: Confinement("/b", None, files, home))
    [found] = await check_confinement(Settings(home=tmp_path, command_network=network))
    assert (found.state, found.found) == (
        "ok", f"commands are confined by bubblewrap, {'with' if network else 'without'} network"
    )  # fmt: skip


async def test_where_it_does_not_work_it_is_no_failure_and_says_how_to_mend_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E16, O5: Steward runs without it, and never silently."""
    monkeypatch.setattr(confinement, "find_confinement", lambda files, home: Confinement(None, "gone", files, home))
    [found] = await check_confinement(Settings(home=tmp_path))
    assert (found.state, found.found) == ("warning", "commands are not confined: gone")
    assert "bubblewrap" in (found.mend or "")
