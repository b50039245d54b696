"""What makes a child process die with its parent, and how a process is recognised again after a restart.

A pid alone names nobody for long: the identity of a process is its pid together with its start time (E15).
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable

import psutil

PR_SET_PDEATHSIG = 1
START_TIME_TOLERANCE_S = 0.02


def dying_with_parent() -> Callable[[], None]:
    """Return the function that a child runs before its program: it will be killed when this thread's process dies.

    The kernel sends the signal when the creating *thread* ends, so start children from a thread that stays. Where the
    kernel has no such call the function does nothing, and the orderly stop is the only end.
    """
    parent = os.getpid()
    if sys.platform != "linux":
        return lambda: None
    libc = ctypes.CDLL(None, use_errno=True)

    def before_program() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return before_program


def start_time(pid: int) -> float | None:
    """Return when a process started, in seconds since the epoch, or None when there is none that still runs."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def is_same_process(pid: int, started: float) -> bool:
    """Tell whether `pid` still is the process that started then, not a later one with the same number."""
    found = start_time(pid)
    return found is not None and abs(found - started) <= START_TIME_TOLERANCE_S
