"""Telling a living dispatcher from a dead one (I4, E13): a lock file per effect that dies with its process.

A dispatch that Temporal has given up may still be writing. While its lock is held nobody may conclude anything from
what the file looks like; once it is free, nothing of that dispatch will happen any more.
"""

import fcntl
import os
import threading
from pathlib import Path
from typing import Final

_OPEN: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class DispatchLock:
    """One effect's lock, held; released once, by whichever side is last to need it."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor: int | None = descriptor
        self._path = path
        self._guard = threading.Lock()

    def release(self) -> None:
        """Let go of the lock and remove its file; a second call does nothing."""
        with self._guard:
            if self._descriptor is None:
                return
            # Removed while still locked: whoever opens the name from now on gets a new file.
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


class DispatchLocks:
    """The locks of one machine's effects, in a folder of its own in the state folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, effect_id: str) -> DispatchLock | None:
        """Take an effect's lock; None while a living process, this one included, holds it."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{effect_id}.lock"
        while True:
            descriptor = os.open(path, _OPEN, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return None
            if _still_named(descriptor, path):
                return DispatchLock(descriptor, path)
            os.close(descriptor)


def _still_named(descriptor: int, path: Path) -> bool:
    """Whether the locked file is the one the name leads to; its last holder may have removed it meanwhile."""
    try:
        named = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    held = os.fstat(descriptor)
    return (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)
