"""Pid files of supervised processes, and how those of a killed supervisor are ended (O22).

`NAME.pid` holds just the pid; `NAME.started` beside it holds the start time, without which a pid names nobody.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

import psutil

from runtime.child_process import is_same_process, start_time

LEFTOVER_LIMIT_S = 5.0
POLL_S = 0.05


class PidFiles:
    """The pid files in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def record(self, name: str, pid: int) -> None:
        """Write down a process that was just started; each file appears whole or not at all."""
        self._replace(self._started(name), repr(start_time(pid) or 0.0))
        self._replace(self._pid(name), str(pid))

    def clear(self, name: str, pid: int) -> None:
        """Remove the files of a process that has ended, unless they already name another one."""
        if self._read(self._pid(name)) == str(pid):
            self._pid(name).unlink(missing_ok=True)
            self._started(name).unlink(missing_ok=True)

    def recorded(self, name: str) -> int | None:
        """Return the pid of the recorded process if exactly that process still runs."""
        try:
            pid, started = int(self._read(self._pid(name))), float(self._read(self._started(name)))
        except ValueError:
            return None
        return pid if is_same_process(pid, started) else None

    def end_leftover(self, name: str) -> bool:
        """End the recorded process of an earlier supervisor, if it still runs; tell whether there was one."""
        pid = self.recorded(name)
        if pid is not None:
            with suppress(psutil.Error):
                process = psutil.Process(pid)
                process.terminate()
                if not self._gone(name, pid):
                    process.kill()
                    self._gone(name, pid)
        self._pid(name).unlink(missing_ok=True)
        self._started(name).unlink(missing_ok=True)
        return pid is not None

    def _gone(self, name: str, pid: int) -> bool:
        """Wait until it has ended; not as for a child, which would take its end from the one whose child it is."""
        deadline = time.monotonic() + LEFTOVER_LIMIT_S
        while self.recorded(name) == pid and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return self.recorded(name) != pid

    def _pid(self, name: str) -> Path:
        return self._folder / f"{name}.pid"

    def _started(self, name: str) -> Path:
        return self._folder / f"{name}.started"

    @staticmethod
    def _read(path: Path) -> str:
        try:
            return path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            return ""

    @staticmethod
    def _replace(path: Path, text: str) -> None:
        temporary = path.with_name(f"{path.name}.new")
        temporary.write_text(f"{text}\n", encoding="ascii")
        os.replace(temporary, path)
