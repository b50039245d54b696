"""Starting one command from its supervising process (E15): no shell, own session, and it dies with its parent.

The hard thing is that what was looked at is what runs: the program's descriptor is compared with what was hashed, and
where the system can run a descriptor it is the descriptor that runs. Standard library only.
"""

import ctypes
import errno
import os
import signal
import sys
from contextlib import suppress
from typing import Any, Final, NoReturn

Json = dict[str, Any]
_SET_PARENT_DEATH: Final = 1
_SET_SUBREAPER: Final = 36
_SET_NO_NEW_PRIVILEGES: Final = 38
_ELF: Final = b"\x7fELF"
CHANGED: Final = "changed"


class NotStarted(Exception):
    """The command did not begin: the system's name for the reason, or `changed` for another program than was named."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def adopt_orphans() -> None:
    """Have whatever loses its parent below this process become its own child, so that nothing gets out of sight."""
    _prctl(_SET_SUBREAPER, 1)


def launch(order: Json, streams: tuple[int, int, int], folder: int, kept: tuple[int, ...]) -> int:
    """Start the ordered command.

    Args:
        order: `program` to execute, `argv`, `environment`, and where it is looked at `checked` and its `seen` identity.
        streams: what becomes its input, output and error output.
        folder: open descriptor of its working folder.
        kept: descriptors that it keeps besides.

    Returns:
        Its pid.

    Raises:
        NotStarted: nothing of it ran.
    """
    program = _verified(order)
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(order, program, streams, folder, kept, tell)
    os.close(tell)
    with os.fdopen(told, "rb") as answer:
        failure = answer.read().decode("ascii")
    if isinstance(program, int):
        os.close(program)
    if failure:
        os.waitpid(pid, 0)
        raise NotStarted(failure)
    return pid


def _verified(order: Json) -> str | int:
    """What to execute: the looked-at descriptor where a program can be run by it, else the path."""
    try:
        descriptor = os.open(order["checked"], os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        raise NotStarted(CHANGED) from None
    if fingerprint(os.fstat(descriptor)) != order["seen"]:
        os.close(descriptor)
        raise NotStarted(CHANGED)
    # A script is opened again by its interpreter, by name; a program for the processor needs no name.
    runs_by_descriptor = order["program"] == order["checked"] and os.pread(descriptor, 4, 0) == _ELF
    if runs_by_descriptor and os.execve in os.supports_fd:
        return descriptor
    os.close(descriptor)
    return str(order["program"])


def fingerprint(status: os.stat_result) -> list[int]:
    """What changes whenever a file is replaced or written: where it is, how large, and when it was changed."""
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _become(
    order: Json, program: str | int, streams: tuple[int, int, int], folder: int, kept: tuple[int, ...], tell: int
) -> NoReturn:
    parent = os.getppid()
    try:
        os.setsid()
        _prctl(_SET_PARENT_DEATH, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        if not order["confined"]:
            # A program that became another user by itself could not be ended. Confinement sees to that on its own.
            _prctl(_SET_NO_NEW_PRIVILEGES, 1)
        os.fchdir(folder)
        for place, stream in enumerate(streams):
            os.dup2(stream, place)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        for descriptor in kept:
            os.set_inheritable(descriptor, True)
        # A folder's descriptor leads to its parents, past any confinement; the other ends of Steward's own pipes would
        # let the command speak for its supervisor, and hold on to them after its death.
        _close_all_but({0, 1, 2, tell, *kept, *((program,) if isinstance(program, int) else ())})
        os.umask(0o077)
        os.execve(program, order["argv"], order["environment"])
    except OSError as error:
        with suppress(OSError):
            os.write(tell, errno.errorcode.get(error.errno or 0, "an error").encode("ascii"))
    except BaseException:
        with suppress(OSError):
            os.write(tell, b"an error")
    os._exit(127)


def _close_all_but(spared: set[int]) -> None:
    try:
        opened = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        opened = list(range(os.sysconf("SC_OPEN_MAX")))
    for descriptor in set(opened) - spared:
        with suppress(OSError):
            os.close(descriptor)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)
