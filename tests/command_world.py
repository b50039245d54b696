"""A small world for tests of commands: a files folder, a state folder, a keeper, and what runs on the machine."""

import hashlib
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adapters.command_resolution import SEARCHED, CommandResolution
from adapters.confinement import Confinement, find_confinement
from adapters.files_root import FilesRoot
from adapters.process_keeper import ProcessKeeper
from adapters.process_order import Kept, Order
from adapters.process_output import output_text
from adapters.process_tree import marked
from domain.command_action import CommandAction, Environment, Executable, Permissions

Json = dict[str, Any]
NOTHING = hashlib.sha256(b"").hexdigest()


@dataclass
class CommandWorld:
    """One files folder with its keeper; `home` is what confinement hides."""

    home: Path
    clock: Callable[[], float] = time.monotonic
    orders: int = 0
    found: Confinement | None = None

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.state.mkdir(exist_ok=True)
        self.files = FilesRoot(self.root, (self.state,))
        self.resolution = CommandResolution(self.files, (self.state,))
        self.keeper = ProcessKeeper(self.state / "processes", self.clock)

    @property
    def root(self) -> Path:
        return self.home / "files"

    @property
    def state(self) -> Path:
        return self.home / "state"

    def confinement(self) -> Confinement:
        """What this machine's confinement is; tried once."""
        self.found = self.found or find_confinement(self.root, self.home)
        return self.found

    def order(
        self,
        *argv: str,
        confined: bool = False,
        stdin: bytes = b"",
        timeout_s: float = 60.0,
        interactive: bool = False,
        network: bool = False,
        run_id: str = "run",
    ) -> Order:
        """A command as it is ordered after everything was checked."""
        self.orders += 1
        folder = self.resolution.folder("")
        program = self.resolution.program(argv[0], folder)
        action = CommandAction(
            argv=argv,
            executable=Executable(path=program.path, sha256=program.sha256),
            cwd=folder,
            environment=Environment(names=(), sha256=NOTHING),
            permissions=Permissions(network=network or not confined, confined=confined),
            stdin_sha256=NOTHING,
            interactive=interactive,
        )
        name = f"effect_{os.getpid()}_{time.monotonic_ns()}_{self.orders}"
        runs, arguments = program.path, argv
        if confined:
            confinement = self.confinement()
            assert confinement.program is not None, confinement.reason
            runs, arguments = confinement.program, confinement.wrap(program.found, argv, folder, network=network)
        return Order(
            name, run_id, action, runs, arguments, program.path, program.seen, {"PATH": SEARCHED}, stdin, timeout_s
        )  # fmt: skip

    async def launch(self, *argv: str, **given: Any) -> Kept:
        """Start a command in the files folder."""
        with self.files.open_folder("") as folder:
            return await self.keeper.launch(self.order(*argv, **given), folder)

    async def run(self, *argv: str, **given: Any) -> Json:
        """Run a command to its end; its record, with its outputs as text."""
        record = await self.keeper.wait(await self.launch(*argv, **given))
        assert record is not None
        return record | {stream: output_text(record[stream]) for stream in ("stdout", "stderr") if stream in record}


def running(kept: Kept | str) -> list[int]:
    """Every process of a command that runs on this machine."""
    return marked(kept if isinstance(kept, str) else kept.order.name)
