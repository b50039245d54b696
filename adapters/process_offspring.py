"""Everything that one command has started, seen from the process above it: waited for, asked to end, killed (E15, S6).

The process that stands over a command adopts what loses its parent below it, so nothing gets out of sight by a session,
a group or a second fork of its own. Standard library only.
"""

import os
import signal
import time
from contextlib import suppress
from typing import Final

from adapters.process_tree import descendants, send_all

PATIENCE_S: Final = 10.0
"""How long kills are repeated; what survives them cannot be killed by anybody."""
_BETWEEN_KILLS_S: Final = 0.005
_LAUNCHER_DEPTH: Final = 2
"""Levels of processes that belong to the confinement itself: ending them politely would kill what they confine."""


class Offspring:
    """The processes below this one; `pid` is the command, `status` how it ended, None as long as it has not."""

    def __init__(self, pid: int, *, confined: bool) -> None:
        self.pid = pid
        self.status: int | None = None
        self._own_depth = _LAUNCHER_DEPTH if confined else 0

    def reap(self) -> None:
        """Learn of those that have ended."""
        with suppress(ChildProcessError):
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.pid:
                    self.status = status

    def ask_to_end(self) -> None:
        """Ask everything to end."""
        send_all((pid for pid, depth in descendants(os.getpid()) if depth > self._own_depth), signal.SIGTERM)
        if not self._own_depth:
            self._signal_group(signal.SIGTERM)

    def kill_all(self) -> None:
        """Kill until nothing is left, whatever sessions and parents it has made for itself."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            self.reap()
            below = [pid for pid, _ in descendants(os.getpid())]
            if not below and self.status is not None:
                return
            # Stopped first, so that nothing forks away between the look and the kill.
            send_all(below, signal.SIGSTOP)
            send_all(below, signal.SIGKILL)
            self._signal_group(signal.SIGKILL)
            time.sleep(_BETWEEN_KILLS_S)

    def _signal_group(self, number: signal.Signals) -> None:
        """Signal the command's own process group: all that can be named where there is no /proc."""
        if self.status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)


def woken_by_children() -> int:
    """A descriptor that becomes readable whenever a child has ended."""
    woken, waking = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return woken
