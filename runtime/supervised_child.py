"""One child process of the supervisor: started in its own session, recorded by pid, ended for certain (O22, H16).

A start that is interrupted half-way still ends up with a known process, so that `stop` never misses one.
"""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runtime.child_process import dying_with_parent
from runtime.pid_files import PidFiles


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run, how to tell that it serves, and how long its start and its orderly end may take, in seconds."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    stop_limit_s: float
    start_limit_s: float = 60.0
    is_ready: Callable[[], Awaitable[bool]] | None = None
    shows_output: bool = True


class SupervisedChild:
    """Starts, watches and ends one process at a time for its specification."""

    def __init__(self, spec: ChildSpec, pid_files: PidFiles) -> None:
        self.spec = spec
        self._pid_files = pid_files
        self._spawning: asyncio.Task[None] | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a process that has not ended."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the process and record its pid.

        Raises:
            OSError: When the program cannot be run.
        """
        self._spawning = asyncio.create_task(self._spawn())
        await asyncio.shield(self._spawning)

    async def wait(self) -> int:
        """Wait for the end of the process and return its exit code, negative for a signal."""
        if self._process is None:
            raise RuntimeError("The child has not been started.")
        code = await self._process.wait()
        self._pid_files.clear(self.spec.name, self._process.pid)
        return code

    async def stop(self) -> int | None:
        """Ask the process to end, wait up to its limit, then kill it; return its exit code, None if it never ran."""
        if self._spawning is not None:
            with suppress(OSError):
                await self._spawning
        if self._process is None:
            return None
        if self.is_running:
            with suppress(ProcessLookupError):
                self._process.terminate()
            try:
                async with asyncio.timeout(self.spec.stop_limit_s):
                    await self._process.wait()
            except TimeoutError:
                with suppress(ProcessLookupError):
                    self._process.kill()
        return await self.wait()

    async def _spawn(self) -> None:
        output = None if self.spec.shows_output else subprocess.DEVNULL
        self._process = await asyncio.create_subprocess_exec(
            *self.spec.command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            env=dict(self.spec.environment),
            cwd=self.spec.folder,
            start_new_session=True,
            preexec_fn=dying_with_parent(),
        )
        self._pid_files.record(self.spec.name, self._process.pid)
