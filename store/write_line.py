"""Processes that want SQLite's write lock at once stand in line for it, so that none of them is passed over.

SQLite lets whoever finds its lock taken sleep ever longer and look again. A process that writes all the time then takes
the lock back within a fraction of a millisecond after each commit, and another one may look in vain until its patience
ends. So a process that wants the lock goes to the front first, of which there is one, and holds it until it has the
lock: one that has just committed finds the front taken, and waits for its turn.

The hard thing is that the front is a courtesy. The lock is SQLite's: whoever does not come this way, or cannot lock the
file beside the database, is only less polite. What holds the front is a file lock, which ends with its process.
"""

import asyncio
import fcntl
import os
from collections.abc import Callable
from typing import Final

AGAIN_S: Final = 0.001
"""Between two looks: shorter than a transaction, and much longer than a look."""


class WriteLine:
    """The line of one database; a process has one place in it."""

    def __init__(self, database: str | None, patience_s: float) -> None:
        """Nobody is in line yet.

        Args:
            database: The path of the file, None when it is in memory.
            patience_s: How long to stand in line at most.
        """
        self._path = None if database is None else f"{database}-line"
        self._patience_s = patience_s
        self._file = -1

    async def stand(self, begin: Callable[[], bool]) -> None:
        """Stand in line until `begin` has taken the lock, which it says, or patience has ended.

        It waits for nothing when nobody is in line and the lock is free.
        """
        clock = asyncio.get_running_loop()
        until = clock.time() + self._patience_s
        in_front = False
        try:
            while True:
                in_front = in_front or self._go_to_the_front()
                if (in_front and begin()) or clock.time() > until:
                    return
                await asyncio.sleep(AGAIN_S)
        finally:
            if in_front:
                self._leave()

    def close(self) -> None:
        """Close the file; the next one who stands in line opens it again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _go_to_the_front(self) -> bool:
        """Whether this process is in front now; where no line can be kept, everybody is."""
        try:
            if self._file < 0 and self._path is not None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            if self._file >= 0:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return True
        return True

    def _leave(self) -> None:
        if self._file >= 0:
            try:
                fcntl.flock(self._file, fcntl.LOCK_UN)
            except OSError:
                self.close()
