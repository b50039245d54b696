"""`steward up` around the children: checks before the start, the lock, signals, and being killed itself."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from domain.refusal import Refused
from runtime.instance_lock import exclusive_lock
from runtime.settings import Settings
from runtime.up import check_ports, child_specs, up

Eventually = Callable[..., Awaitable[None]]
RUN_UP = Path(__file__).with_name("run_up.py")
NAMES = ("temporal", "worker", "host")


class Instance:
    """One home with its ports, and the processes that were started for it."""

    def __init__(self, home: Path, ports: tuple[int, int, int]) -> None:
        self.home = home
        self.run_dir = home / "run"
        self.processes: list[asyncio.subprocess.Process] = []
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("STEWARD_")},
            "STEWARD_HOME": str(home),
            "STEWARD_PORT": str(ports[0]),
            "STEWARD_TEMPORAL_PORT": str(ports[1]),
            "STEWARD_TEMPORAL_UI_PORT": str(ports[2]),
            "XDG_CONFIG_HOME": str(home / "none"),
            "PYTHONPATH": str(RUN_UP.parent.parent.parent),
        }

    async def start(self, **extra: str) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(RUN_UP),
            str(self.home.parent / "journal"),
            env={**self.environment, **extra},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self.processes.append(process)
        return process

    async def start_ready(self) -> asyncio.subprocess.Process:
        process = await self.start()
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"ready\n"
        return process

    def pid(self, name: str) -> int:
        return int((self.run_dir / f"{name}.pid").read_text(encoding="ascii"))


@pytest.fixture
async def instance(tmp_path: Path, free_port: Callable[[], int]) -> AsyncIterator[Instance]:
    made = Instance(tmp_path / "home", (free_port(), free_port(), free_port()))
    yield made
    for process in made.processes:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


async def test_sigterm_ends_everything(instance: Instance, eventually: Eventually) -> None:
    """O22, H16: Temporal, worker and host run; a killed Temporal comes back; SIGTERM ends all with exit code 0."""
    process = await instance.start_ready()
    pids = {name: instance.pid(name) for name in NAMES}
    assert all(psutil.pid_exists(pid) for pid in pids.values())
    os.kill(pids["temporal"], signal.SIGKILL)

    def has_come_back() -> bool:
        try:
            return instance.pid("temporal") != pids["temporal"]
        except (OSError, ValueError):
            return False

    await eventually(has_come_back, "Temporal started again")
    pids["temporal"] = instance.pid("temporal")
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0
    assert not any(psutil.pid_exists(pid) for pid in pids.values())
    assert not list(instance.run_dir.glob("*.pid"))


async def test_a_second_up_is_refused(instance: Instance) -> None:
    """O22, H4: one `up` for each home; the first is not disturbed."""
    first = await instance.start_ready()
    second = await instance.start()
    _, errors = await second.communicate()
    assert second.returncode == 1
    assert errors.decode().startswith("host_locked: ")
    assert first.returncode is None
    first.send_signal(signal.SIGINT)
    assert await first.wait() == 0


async def test_a_killed_up_can_be_started_again(instance: Instance, eventually: Eventually) -> None:
    """O22, I1: after SIGKILL of the supervisor nothing of it keeps the next one from starting."""
    first = await instance.start_ready()
    old = [instance.pid(name) for name in NAMES]
    first.kill()
    await first.wait()
    second = await instance.start_ready()
    await eventually(lambda: not any(psutil.pid_exists(pid) for pid in old), "the old children are gone")
    assert not set(old) & {instance.pid(name) for name in NAMES}
    second.send_signal(signal.SIGTERM)
    assert await second.wait() == 0


async def test_verified_host_is_checked_before_anything_is_written(instance: Instance) -> None:
    """H3: `up` refuses before it creates a folder or starts a process."""
    process = await instance.start(STEWARD_ISOLATION_MODE="verified_host")
    _, errors = await process.communicate()
    assert process.returncode == 1
    assert errors.decode().startswith("user_host_isolation_required: ")
    assert errors.decode().count("\n") == 1
    assert not instance.home.exists()


@pytest.mark.parametrize("setting", ["port", "temporal_port", "temporal_ui_port"])
async def test_a_port_in_use(tmp_path: Path, free_port: Callable[[], int], setting: str) -> None:
    """O3, O21: a port in use is one line that names the setting."""
    ports = {name: free_port() for name in ("port", "temporal_port", "temporal_ui_port")}
    settings = Settings.model_validate({"home": tmp_path / "home", **ports})
    check_ports(settings)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", getattr(settings, setting)))
        taken.listen()
        with pytest.raises(Refused, match=rf"invalid_params: STEWARD_{setting.upper()}: port \d+ "):
            await up(settings)


def test_a_host_that_is_not_here(tmp_path: Path) -> None:
    """O3: an address of no interface of this machine is told by its setting."""
    with pytest.raises(Refused, match="STEWARD_HOST"):
        check_ports(Settings(home=tmp_path, host="no such host"))


def test_lock_ends_with_its_holder(tmp_path: Path) -> None:
    """H4: the lock refuses a second holder and is free again afterwards; its file stays."""
    path = tmp_path / "lock"
    refused = pytest.raises(Refused, match="host_locked: second")
    with exclusive_lock(path, "first"), refused, exclusive_lock(path, "second"):
        pass
    with exclusive_lock(path, "third"):
        pass
    assert path.exists()


def test_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O14, O22: with an external address there is no server; the embedded one sees none of Steward's settings."""
    monkeypatch.setenv("STEWARD_MODEL_API_KEY", "sk-planted")
    embedded = child_specs(Settings(home=tmp_path, user_space="other"))
    assert [spec.name for spec in embedded] == ["temporal", "worker", "host"]
    assert not [name for name in embedded[0].environment if name.startswith("STEWARD_")]
    assert embedded[2].environment["STEWARD_USER_SPACE"] == "other"
    external = child_specs(Settings(home=tmp_path, temporal_address="cluster:7233"))
    assert [spec.name for spec in external] == ["worker", "host"]
    assert sum(spec.stop_limit_s for spec in embedded) < 15
