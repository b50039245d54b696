"""What a command inherits (E15, E16): its three streams and nothing else, whichever event loop started it.

A descriptor is a way around every path check: one of the files folder leads to `..`, out of any confinement.
"""

import asyncio
from pathlib import Path

import pytest
import uvloop

from tests.command_world import CommandWorld, running

LOOPS = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
CONFINED = pytest.mark.parametrize("confined", [False, True], ids=["unconfined", "confined"])
ESCAPE = "for one in /proc/self/fd/*; do cat $one/../state/secret; echo changed >$one/../state/secret; done"


async def _record(home: Path, *argv: str, confined: bool) -> dict[str, object]:
    world = CommandWorld(home)
    (world.state / "secret").write_text("secret")
    await world.keeper.open()
    try:
        return await world.run(*argv, confined=confined and world.confinement().works)
    finally:
        await world.keeper.close()


@LOOPS
@CONFINED
def test_a_command_inherits_its_streams_only(tmp_path: Path, run: object, confined: bool) -> None:
    """E15: nothing of the worker and of the supervising process is open in it."""
    assert callable(run)
    record = run(_record(tmp_path / "home", "ls", "/proc/self/fd", confined=confined))
    assert str(record["stdout"]).split() == ["0", "1", "2", "3"], "3 is the list's own"


@LOOPS
def test_no_descriptor_leads_a_confined_command_to_the_state(tmp_path: Path, run: object) -> None:
    """E16: `state/` is hidden, by name and by whatever is open."""
    assert callable(run)
    record = run(_record(tmp_path / "home", "sh", "-c", ESCAPE, confined=True))
    if CommandWorld(tmp_path / "home").confinement().works:
        assert record["stdout"] == ""
        assert (tmp_path / "home" / "state" / "secret").read_text() == "secret"


@LOOPS
def test_a_command_that_kills_its_supervisor_is_ended_and_its_end_is_known(tmp_path: Path, run: object) -> None:
    """E13, E15: what it has started holds on to nothing by which the supervisor's death is noticed."""
    assert callable(run)

    async def killed(home: Path) -> tuple[object, list[int]]:
        world = CommandWorld(home)
        await world.keeper.open()
        try:
            async with asyncio.timeout(60):
                kept = await world.launch("sh", "-c", "kill -9 $PPID; sleep 300")
                return await world.keeper.wait(kept), running(kept)
        finally:
            await world.keeper.close()

    assert run(killed(tmp_path / "home")) == (None, [])
