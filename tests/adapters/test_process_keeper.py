"""Real commands under a real keeper (E13, E15, S6): how they end, what is left of them, and what is known of it."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from adapters.process_keeper import ProcessKeeper
from adapters.process_order import KeeperClosed, NotStarted
from adapters.process_output import output_text
from adapters.process_tree import boot_id, identity, is_alive
from domain.command_action import OUTPUT_BYTES
from domain.process_end import Why
from tests.command_world import CommandWorld, running
from tests.conftest import Eventually

Victim = tuple[asyncio.subprocess.Process, str, int]
DAEMON = "(setsid sh -c 'trap \"\" TERM HUP; touch began; sleep 300 & sleep 300' >/dev/null 2>&1 &)"
"""What leaves its session, its parent and its pipes behind, and ignores being asked to end."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[CommandWorld]:
    """A keeper with its folders; whatever a test has started is ended."""
    world = CommandWorld(tmp_path / "home")
    await world.keeper.open()
    yield world
    await world.keeper.close()


@pytest.fixture(params=[False, True], ids=["unconfined", "confined"])
def confined(request: pytest.FixtureRequest, world: CommandWorld) -> bool:
    """Both ways of running; where nothing can be confined, the way of such a machine twice."""
    return bool(request.param) and world.confinement().works


async def test_a_command_gets_its_input_and_folder_and_tells_its_exit(world: CommandWorld, confined: bool) -> None:
    """E15: argv without a shell, the files folder as working folder, exit code, both outputs."""
    record = await world.run("sh", "-c", 'cat; pwd; echo "$1" >&2; exit 3', "sh", "a $HOME b", stdin=b"in\n",
                             confined=confined)  # fmt: skip
    assert (record["how"], record["exit_code"]) == ("exited", 3)
    assert record["stdout"] == f"in\n{world.root}\n"
    assert record["stderr"] == "a $HOME b\n"


async def test_a_command_that_ends_by_a_signal_says_which(world: CommandWorld) -> None:
    """E15: exit code or signal."""
    record = await world.run("sh", "-c", "kill -SEGV $$")
    assert (record["how"], record["exit_code"], record["signal"]) == ("exited", None, "SIGSEGV")


async def test_the_environment_is_what_was_ordered(world: CommandWorld) -> None:
    """E15: nothing of the worker's environment gets through; the mark is Steward's."""
    os.environ["PLANTED"] = "secret"
    try:
        record = await world.run("env")
    finally:
        del os.environ["PLANTED"]
    assert {line.partition("=")[0] for line in record["stdout"].splitlines()} == {"PATH", "STEWARD_PROCESS"}


async def test_a_flood_is_bounded_and_counted(world: CommandWorld, confined: bool) -> None:
    """E15: 256 KiB are kept of both outputs together, 30 MB are counted, and nobody's memory grows with them."""
    kept = await world.launch(
        "sh", "-c", "yes 1234567 | head -c 20000000; yes 7654321 | head -c 10000000 >&2", confined=confined
    )
    record = await world.keeper.wait(kept)
    assert record is not None
    assert (record["stdout"]["total"], record["stderr"]["total"]) == (20_000_000, 10_000_000)
    encoded = sum(len(record[stream][part]) for stream in ("stdout", "stderr") for part in ("head", "tail"))
    assert encoded == pytest.approx(OUTPUT_BYTES * 4 / 3, rel=0.01)


async def test_the_supervising_process_stays_small_in_a_flood(world: CommandWorld, eventually: Eventually) -> None:
    """E15: bounded while it is read, not afterwards."""
    kept = await world.launch("sh", "-c", "yes & sleep 300")
    supervisor = psutil.Process(kept.process.pid)
    # What it has read shows in its own counters; 100 MB would be seen in its memory if they were kept.
    await eventually(lambda: supervisor.io_counters().read_chars > 100_000_000, "100 MB were read", within_s=100)
    assert supervisor.memory_info().rss < 60_000_000
    world.keeper.end(kept.order.name, Why.STOPPED)
    assert await world.keeper.wait(kept) is not None


async def test_a_hanging_command_is_ended_at_its_time_limit(world: CommandWorld, confined: bool) -> None:
    """E15: it and everything it has started, also what has made a session of its own and ignores being asked."""
    kept = await world.launch("sh", "-c", f"{DAEMON}; trap '' TERM; echo up; sleep 300", timeout_s=2, confined=confined)
    record = await world.keeper.wait(kept)
    assert record is not None
    assert record["how"] == "timeout"
    assert running(kept) == []


async def test_a_polite_command_may_clean_up_when_it_is_stopped(
    world: CommandWorld, confined: bool, eventually: Eventually
) -> None:
    """S6: a polite termination first."""
    script = "trap 'echo bye; touch cleaned; exit 7' TERM; touch began; while :; do sleep 0.1; done"
    kept = await world.launch("sh", "-c", script, confined=confined)
    await eventually((world.root / "began").exists, "the command has set its trap")
    world.keeper.end(kept.order.name, Why.STOPPED)
    record = await world.keeper.wait(kept)
    assert record is not None
    assert (record["how"], record["exit_code"]) == ("stopped", 7)
    assert (world.root / "cleaned").exists()


async def test_what_a_command_leaves_behind_ends_with_it(
    world: CommandWorld, confined: bool, eventually: Eventually
) -> None:
    """E15: no process outlives it, daemons included; its output does not wait for them."""
    kept = await world.launch("sh", "-c", f"{DAEMON}; while [ ! -e began ]; do sleep 0.05; done", confined=confined)
    record = await world.keeper.wait(kept)
    assert record is not None
    assert (record["how"], record["exit_code"]) == ("exited", 0)
    assert (world.root / "began").exists()
    assert running(kept) == []


async def test_a_command_kept_for_input_says_what_it_has_said_since(world: CommandWorld, confined: bool) -> None:
    """E15: output since the last input, then the end of it with its exit code."""
    script = 'while read -r line; do [ "$line" = end ] && exit 4; echo "<$line>"; done'
    kept = await world.launch("sh", "-c", script, interactive=True, confined=confined)
    first = await world.keeper.converse(kept, b"one\n", 60)
    second = await world.keeper.converse(kept, b"two\nthree\n", 60)
    assert first is not None
    assert second is not None
    assert [_text(said) for said in (first, second)] == ["<one>\n", "<two>\n<three>\n"]
    last = await world.keeper.converse(kept, b"end\n", 60)
    assert last is not None
    assert (last["how"], last["exit_code"]) == ("exited", 4)


async def test_waiting_for_a_silent_command_has_a_bound(world: CommandWorld) -> None:
    """E15: a command that says nothing keeps nobody waiting; it goes on running."""
    kept = await world.launch("cat", interactive=True)
    said = await world.keeper.converse(kept, b"", 0.1)
    assert said is not None
    assert "how" not in said
    assert _text(said) == ""
    assert running(kept) != []


async def test_a_command_that_reads_nothing_is_no_hindrance(world: CommandWorld) -> None:
    """E15: input that nobody reads neither blocks nor fails anything."""
    record = await world.run("sh", "-c", "exec <&-; echo done", stdin=b"x" * 65536 * 3)
    assert (record["how"], record["exit_code"], record["stdout"]) == ("exited", 0, "done\n")


async def test_another_program_than_the_hashed_one_does_not_run(world: CommandWorld) -> None:
    """E3: compared once more by the process that starts it; replaced or written to, it does not begin."""
    script = world.root / "script"
    for change in ("written", "replaced"):
        script.write_text("#!/bin/sh\necho first\n")
        script.chmod(0o755)
        order = world.order("./script")
        if change == "written":
            script.write_text("#!/bin/sh\necho other\n")
        else:
            (world.root / "other").write_text("#!/bin/sh\necho first\n")
            (world.root / "other").chmod(0o755)
            (world.root / "other").rename(script)
        with world.files.open_folder("") as folder, pytest.raises(NotStarted) as refused:
            await world.keeper.launch(order, folder)
        assert refused.value.reason == "changed"
    assert world.keeper.all() == []


async def test_a_file_that_no_system_runs_is_told(world: CommandWorld) -> None:
    """E15: the system's refusal is an answer; nothing ran."""
    nonsense = world.root / "nonsense"
    nonsense.write_bytes(b"\1\2\3\4")
    nonsense.chmod(0o755)
    with pytest.raises(NotStarted) as refused:
        await world.launch("./nonsense")
    assert refused.value.reason == "ENOEXEC"


async def test_closing_ends_everything_and_starts_nothing(world: CommandWorld) -> None:
    """E15, H16: the worker's orderly end is the end of its commands."""
    kept = [await world.launch("sleep", "300"), await world.launch("cat", interactive=True)]
    await world.keeper.close()
    assert [running(one) for one in kept] == [[], []]
    ends = [one.finished.result() for one in kept]
    assert [end["how"] for end in ends if end is not None] == ["runtime", "runtime"]
    with pytest.raises(KeeperClosed):
        await world.launch("sleep", "300")


async def test_a_killed_supervising_process_leaves_nothing_running(
    world: CommandWorld, confined: bool, eventually: Eventually
) -> None:
    """E15: no orphan in any case; how the command ended is not known then."""
    script = f"{DAEMON}; while [ ! -e began ]; do sleep 0.05; done; touch all; sleep 300"
    kept = await world.launch("sh", "-c", script, confined=confined)
    await eventually((world.root / "all").exists, "the daemon runs")
    os.kill(kept.process.pid, signal.SIGKILL)
    assert await world.keeper.wait(kept) is None
    assert running(kept) == []


@asynccontextmanager
async def victim(repository: Path, home: Path, *argv: str, **given: bool) -> AsyncIterator[Victim]:
    """A worker of its own process that keeps a command; with the command's name and its supervising process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.adapters.keeper_victim", str(home), json.dumps(argv), json.dumps(given),
        cwd=repository, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        name, pid = (await process.stdout.readline()).decode().split()
        yield process, name, int(pid)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize("interactive", [False, True], ids=["run", "interactive"])
async def test_a_killed_worker_takes_its_commands_with_it(
    world: CommandWorld, confined: bool, interactive: bool, repository: Path, eventually: Eventually
) -> None:
    """E13, E15: kill -9 of the worker ends the command by itself; a record says that it was interrupted."""
    script = f"{DAEMON}; while [ ! -e began ]; do sleep 0.05; done; touch all; sleep 300"
    given = {"confined": confined, "interactive": interactive}
    async with victim(repository, world.home, "sh", "-c", script, **given) as (process, name, _):
        await eventually((world.root / "all").exists, "the daemon runs")
        process.kill()
        await process.wait()
    await eventually(lambda: running(name) == [], "nothing of the command runs")
    record = await world.keeper.observe(name)
    assert record is not None
    assert record["how"] == "abandoned"


async def test_what_is_left_when_worker_and_supervising_process_are_killed_is_found(
    world: CommandWorld, repository: Path, eventually: Eventually
) -> None:
    """E15: the next keeper ends leftovers, by pid with start time and by mark; how they ended is not known."""
    script = f"{DAEMON}; while [ ! -e began ]; do sleep 0.05; done; touch all; sleep 300"
    async with victim(repository, world.home, "sh", "-c", script) as (process, name, supervisor):
        await eventually((world.root / "all").exists, "the daemon runs")
        # The supervising process first: stopped, it cannot end the command when its worker is gone.
        os.kill(supervisor, signal.SIGSTOP)
        process.kill()
        await process.wait()
        os.kill(supervisor, signal.SIGKILL)
    assert running(name) != []
    following = ProcessKeeper(world.state / "processes", world.clock)
    assert await following.open() == [name]
    assert running(name) == []
    assert await following.observe(name) is None
    assert not following.is_running(name)
    await following.close()


async def test_commands_of_a_living_keeper_are_no_leftovers(world: CommandWorld) -> None:
    """E15: a second worker on the machine ends nothing of the first."""
    kept = await world.launch("cat", interactive=True)
    second = ProcessKeeper(world.state / "processes", world.clock)
    assert await second.open() == []
    assert second.is_running(kept.order.name)
    await second.close()
    assert running(kept) != []


async def test_a_process_that_only_has_the_pid_is_left_alone(world: CommandWorld) -> None:
    """E15: a pid is nothing without its start time."""
    innocent = await asyncio.create_subprocess_exec("sleep", "300")
    try:
        pid, started = identity(innocent.pid) or (0, 0)
        folder = world.state / "processes"
        forged: dict[str, Any] = {
            "boot": boot_id(), "keeper": "gone", "mark": "effect_x",
            "supervisor": [pid, started - 1], "command": [pid, started - 1],
        }  # fmt: skip
        (folder / "effect_x.running.json").write_text(json.dumps(forged))
        following = ProcessKeeper(folder, world.clock)
        assert await following.open() == ["effect_x"]
        assert is_alive((pid, started))
        await following.close()
    finally:
        innocent.kill()
        await innocent.wait()


def _text(said: dict[str, Any]) -> str:
    return output_text(said["stdout"])
