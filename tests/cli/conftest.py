"""One real Steward for the tests of the command line: `steward up` as a person starts it, on ports of its own."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

STEWARD = str(Path(sys.executable).with_name("steward"))
START_LIMIT_S = 180
COMMAND_LIMIT_S = 90


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def error(self) -> tuple[str, str]:
        """The one line that a failed command writes: its code and its words."""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        code, _, words = lines[0].partition(": ")
        return code, words


@dataclass(frozen=True)
class Steward:
    """An instance: the environment that names it."""

    home: Path
    environment: Mapping[str, str]

    @property
    def files(self) -> Path:
        return self.home / "user-spaces" / "local" / "personal" / "files"

    async def start(self, *arguments: str, **more: str) -> asyncio.subprocess.Process:
        """Start a command with all of its streams in pipes."""
        return await asyncio.create_subprocess_exec(
            STEWARD,
            *arguments,
            env={**self.environment, **more},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(self, *arguments: str, given: str = "", **more: str) -> Ended:
        """Run a command to its end."""
        return await ended(await self.start(*arguments, **more), given)


async def ended(process: asyncio.subprocess.Process, given: str = "") -> Ended:
    try:
        out, err = await asyncio.wait_for(process.communicate(given.encode()), COMMAND_LIMIT_S)
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


@pytest.fixture(scope="session")
def instance(free_port: Callable[[], int], tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Steward]:
    """A function that makes an instance nobody has started."""

    def make() -> Steward:
        home = tmp_path_factory.mktemp("cli") / "home"
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("STEWARD_")}
        own = {
            "STEWARD_HOME": str(home),
            "STEWARD_PORT": str(free_port()),
            "STEWARD_TEMPORAL_PORT": str(free_port()),
            "STEWARD_TEMPORAL_UI_PORT": str(free_port()),
            "XDG_CONFIG_HOME": str(home / "none"),
            # A card is decided in these tests however slow the machine is: its turn is not parked meanwhile.
            "STEWARD_CARD_PARK_S": "3600",
        }
        return Steward(home, {**inherited, **own})

    return make


@dataclass(frozen=True)
class Running:
    """A started instance and what `steward up` printed."""

    steward: Steward
    link: str
    up: asyncio.subprocess.Process


@pytest.fixture(scope="module")
async def running(instance: Callable[[], Steward]) -> AsyncIterator[Running]:
    """`steward up` with the offline model, ready."""
    steward = instance()
    log = steward.home.parent / "up.log"
    with log.open("wb") as errors:
        up = await asyncio.create_subprocess_exec(
            STEWARD,
            "up",
            "--composition-profile",
            "personal",
            env=steward.environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
    assert up.stdout is not None
    try:
        line = (await asyncio.wait_for(up.stdout.readline(), START_LIMIT_S)).decode()
        assert line.startswith("Open "), log.read_text()
        yield Running(steward, line.removeprefix("Open ").strip(), up)
    finally:
        if up.returncode is None:
            up.terminate()
        await up.wait()


@pytest.fixture
def steward(running: Running) -> Steward:
    """The running instance."""
    return running.steward


async def pending_card(steward: Steward, task: str | None = None) -> dict[str, Any]:
    """The newest pending card, of the named task if any; what tasks ask a grant for is given meanwhile (A10)."""
    for _ in range(60):
        for proposal in (await steward.run("grants", "list", "--json")).json()["proposals"]:
            allowed = await steward.run("grants", "issue", proposal["task_id"], "--yes")
            assert allowed.code == 0, allowed.err
        for card in (await steward.run("approvals", "--json")).json()["items"]:
            if task in (None, card.get("task_id")):
                return dict(card)
        await asyncio.sleep(0.2)
    pytest.fail("no card appeared")
