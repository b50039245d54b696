"""Which process is which, and everything that one has started (E15), read from /proc; standard library only.

A pid alone names nobody for long: the start time in clock ticks and the machine's boot make it unique.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_ZOMBIES: Final = frozenset("ZX")
MARK: Final = "STEWARD_PROCESS"
"""Environment variable by which what a command started is found again, wherever it went."""

Identity = tuple[int, int]


def boot_id() -> str:
    """Which boot of the machine this is; pids and ticks mean nothing in another one."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def identity(pid: int) -> Identity | None:
    """A process by pid and start time in ticks; None when none runs under this pid."""
    found = _status(pid)
    return None if found is None else (pid, found[1])


def is_alive(process: Identity) -> bool:
    """Whether exactly this process runs; one that ended and was not waited for does not."""
    return identity(process[0]) == tuple(process)


def descendants(root: int) -> list[tuple[int, int]]:
    """Every process below `root` with its depth (1 for its children), as far as parents say so."""
    children: dict[int, list[int]] = defaultdict(list)
    for pid in _pids():
        found = _status(pid)
        if found is not None:
            children[found[0]].append(pid)
    below, waiting = [], [(root, 0)]
    while waiting:
        parent, depth = waiting.pop()
        for pid in children.get(parent, ()):
            below.append((pid, depth + 1))
            waiting.append((pid, depth + 1))
    return below


def marked(mark: str) -> list[int]:
    """Every process whose environment carries the mark: what has left the tree, too."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for pid in _pids():
        with suppress(OSError):
            if wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0"):
                found.append(pid)
    return [pid for pid in found if pid != os.getpid() and _status(pid) is not None]


def send_all(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal each process that is still there."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir(_PROC) if name.isdigit()]
    except OSError:
        return []


def _status(pid: int) -> tuple[int, int] | None:
    """Parent and start time of a process that has not ended."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name in parentheses may hold anything, so the fields are counted from its end.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in _ZOMBIES else (int(fields[1]), int(fields[19]))
