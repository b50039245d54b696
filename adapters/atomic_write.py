"""Putting content into place at once: a temporary file in the same folder, fsynced, then renamed (E4).

The hard thing is telling a writer's leftovers from its work: the temporary file is locked while its writer lives, so a
sweep takes exactly those whose process is gone.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from domain.file_paths import TEMPORARY_PREFIX

_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def temporary_file(folder: int, content: bytes, replaced: os.stat_result | None) -> Iterator[str]:
    """Write the content to a new file in the open folder, durable under its temporary name.

    Args:
        folder: descriptor of the folder the content will live in.
        content: all of it.
        replaced: the file it will replace, whose permissions it takes over (owner where the system allows it;
            extended attributes are not copied). None for a new file.

    Yields:
        The temporary name. What is still there under it at the end of the block is removed.
    """
    # Content that replaces a private file must not be readable for others even while it is written.
    name, descriptor = _create(folder, 0o644 if replaced is None else 0o600)
    try:
        _take_over(descriptor, replaced)
        _write_all(descriptor, content)
        os.fsync(descriptor)
        yield name
    finally:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        os.close(descriptor)


def remove_leftover(folder: int, name: str) -> bool:
    """Remove a temporary file in the open folder if no living process is writing it; whether it was removed."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(name, dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _create(folder: int, mode: int) -> tuple[str, int]:
    while True:
        name = f"{TEMPORARY_PREFIX}{secrets.token_hex(16)}"
        descriptor = os.open(name, _NEW, mode, dir_fd=folder)
        if _lock(descriptor):
            return name, descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Mark the new file as being written; False when a sweep was faster and has taken it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # A file system without locks: the sweep gets none there either and leaves every leftover alone.
        pass
    return os.fstat(descriptor).st_nlink == 1


def _write_all(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _take_over(descriptor: int, replaced: os.stat_result | None) -> None:
    if replaced is None:
        return
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (replaced.st_uid, replaced.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, replaced.st_uid, replaced.st_gid)
    # Never the set-id bits: what was written is not what they were given to.
    os.fchmod(descriptor, replaced.st_mode & 0o777)
