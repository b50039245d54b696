"""The supervisor with real processes: order, restarts, ends (O22, H16)."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import psutil
import pytest

from runtime.back_off import BackOff
from runtime.pid_files import PidFiles
from runtime.supervised_child import ChildSpec
from runtime.supervisor import Supervisor

Eventually = Callable[..., Awaitable[None]]
FAKE_CHILD = Path(__file__).with_name("fake_child.py")


class Scene:
    """A folder with a journal, pid files, and children that write into the journal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / "journal"
        self.journal.touch()
        self.pid_files = PidFiles(folder)
        self.stop = asyncio.Event()
        self.ready = asyncio.Event()

    def events(self) -> list[tuple[str, str]]:
        lines = self.journal.read_text(encoding="ascii").splitlines()
        return [(line.split()[0], line.split()[1]) for line in lines]

    def pids(self, name: str) -> list[int]:
        lines = [line.split() for line in self.journal.read_text(encoding="ascii").splitlines()]
        return [int(pid) for who, event, pid in lines if who == name and event == "started"]

    def spec(self, name: str, mode: str = "serve", *, stop_s: float = 10.0, start_s: float = 30.0) -> ChildSpec:
        async def has_started() -> bool:
            return mode != "never_ready" and (name, "started") in self.events()

        return ChildSpec(
            name=name,
            command=(sys.executable, str(FAKE_CHILD), str(self.journal), name, mode),
            environment=dict(os.environ),
            folder=self.folder,
            stop_limit_s=stop_s,
            start_limit_s=start_s,
            is_ready=has_started,
        )

    def run(self, *specs: ChildSpec) -> asyncio.Task[int]:
        async def on_ready() -> None:
            self.ready.set()

        supervisor = Supervisor(specs, self.pid_files, partial(BackOff, first_s=0.01, cap_s=0.02))
        return asyncio.create_task(supervisor.run(self.stop, on_ready))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


async def test_order_of_start_and_stop(scene: Scene) -> None:
    """O22, H16: each starts after the one before it, stops before it, and pid files hold just the pid meanwhile."""
    running = scene.run(scene.spec("temporal"), scene.spec("worker"), scene.spec("host"))
    await scene.ready.wait()
    for name in ("temporal", "worker", "host"):
        pid = int((scene.folder / f"{name}.pid").read_text(encoding="ascii"))
        assert [pid] == scene.pids(name)
        assert os.getsid(pid) == pid
        assert scene.pid_files.recorded(name) == pid
    scene.stop.set()
    assert await running == 0
    started = [("temporal", "started"), ("worker", "started"), ("host", "started")]
    assert scene.events() == [*started, ("host", "stopped"), ("worker", "stopped"), ("temporal", "stopped")]
    assert not list(scene.folder.glob("*.pid"))
    assert not list(scene.folder.glob("*.started"))


async def test_a_killed_child_is_started_again(scene: Scene, eventually: Eventually) -> None:
    """O22: a child that dies is replaced, the others stay, and its pid file names the new one."""
    running = scene.run(scene.spec("worker"), scene.spec("host"))
    await scene.ready.wait()
    for round_number in (1, 2, 3):
        os.kill(scene.pids("worker")[-1], signal.SIGKILL)
        await eventually(lambda n=round_number: len(scene.pids("worker")) == n + 1, "the worker started again")
        await eventually(lambda: scene.pid_files.recorded("worker") == scene.pids("worker")[-1], "its pid is recorded")
    assert len(scene.pids("host")) == 1
    scene.stop.set()
    assert await running == 0


async def test_a_stubborn_child_is_killed(scene: Scene) -> None:
    """H16: a child that ignores SIGTERM is killed after its limit, and the others are still asked."""
    running = scene.run(scene.spec("worker"), scene.spec("host", "stubborn", stop_s=0.3))
    await scene.ready.wait()
    scene.stop.set()
    assert await running == 0
    assert scene.events()[-2:] == [("host", "ignored"), ("worker", "stopped")]
    assert not psutil.pid_exists(scene.pids("host")[0])


async def test_a_configuration_error_ends_everything(scene: Scene, capfd: pytest.CaptureFixture[str]) -> None:
    """O4: a start-up error that no restart mends ends `up` with 1 and the child's one line."""
    assert await scene.run(scene.spec("worker"), scene.spec("host", "fatal")) == 1
    assert scene.events()[-1] == ("worker", "stopped")
    assert len(scene.pids("host")) == 1
    assert "invalid_params: STEWARD_MODEL is wrong.\n" in capfd.readouterr().err


async def test_a_child_that_keeps_dying_is_tried_again(scene: Scene, eventually: Eventually) -> None:
    """O22: any other end at start-up is tried again, and the stop comes through meanwhile."""
    running = scene.run(scene.spec("host", "dies"))
    await eventually(lambda: len(scene.pids("host")) >= 3, "three starts")
    scene.stop.set()
    assert await running == 0


async def test_a_child_that_never_serves(scene: Scene, eventually: Eventually) -> None:
    """O22: a child that does not serve within its limit is ended and started again; the next one is not started."""
    running = scene.run(scene.spec("temporal", "never_ready", start_s=0.3), scene.spec("worker"))
    await eventually(lambda: len(scene.pids("temporal")) >= 2, "the second start")
    assert not scene.pids("worker")
    scene.stop.set()
    assert await running == 0
    assert not any(psutil.pid_exists(pid) for pid in scene.pids("temporal"))


async def test_stop_at_once(scene: Scene) -> None:
    """H16: a stop in the middle of a start leaves no process behind."""
    running = scene.run(scene.spec("temporal"), scene.spec("worker"), scene.spec("host"))
    await asyncio.sleep(0)
    scene.stop.set()
    assert await running == 0
    assert not any(psutil.pid_exists(pid) for name in ("temporal", "worker", "host") for pid in scene.pids(name))


async def test_a_program_that_is_missing(scene: Scene) -> None:
    """O22: a program that cannot be run ends `up`, and what ran before it is stopped."""
    missing = ChildSpec("host", (str(scene.folder / "none"),), {}, scene.folder, stop_limit_s=1)
    assert await scene.run(scene.spec("worker"), missing) == 1
    assert scene.events()[-1] == ("worker", "stopped")


@pytest.mark.parametrize("mode", ["serve", "stubborn"])
async def test_leftovers_of_a_killed_supervisor(
    scene: Scene, mode: str, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    """O22: the process that pid and start time name is ended, whatever it does with SIGTERM."""
    monkeypatch.setattr("runtime.pid_files.LEFTOVER_LIMIT_S", 0.5)
    process = await asyncio.create_subprocess_exec(*scene.spec("host", mode).command)
    await eventually(lambda: bool(scene.pids("host")), "the child started")
    scene.pid_files.record("host", process.pid)
    assert await asyncio.to_thread(scene.pid_files.end_leftover, "host")
    assert await process.wait() in {0, -signal.SIGKILL}
    assert not await asyncio.to_thread(scene.pid_files.end_leftover, "host")


@pytest.mark.parametrize("started", ["1.5", "", "nonsense"])
def test_a_stranger_with_the_same_pid_is_left_alone(scene: Scene, started: str) -> None:
    """O22: a pid whose start time differs, or is not known, names nobody."""
    (scene.folder / "host.pid").write_text(f"{os.getpid()}\n", encoding="ascii")
    (scene.folder / "host.started").write_text(started, encoding="ascii")
    assert scene.pid_files.recorded("host") is None
    assert not scene.pid_files.end_leftover("host")
    assert not (scene.folder / "host.pid").exists()


def test_back_off() -> None:
    """O22: the wait doubles up to 30 s and begins anew after 20 s of service."""
    back_off = BackOff()
    waits = [back_off.after_run_of(1.0) for _ in range(10)]
    assert waits == [0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    assert back_off.after_run_of(20.0) == 0.2
    assert back_off.after_run_of(19.9) == 0.4
