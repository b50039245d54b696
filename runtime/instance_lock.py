"""A lock that exists only as long as its process, so that none is ever left behind (H4)."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from domain.refusal import refuse


@contextmanager
def exclusive_lock(path: Path, message: str) -> Iterator[None]:
    """Hold the lock named by a file, for as long as the block runs.

    Args:
        path: The file; it is created when missing and stays afterwards, it is the kernel's lock on it that counts.
        message: What to tell the person when somebody else holds it.

    Raises:
        Refused: `host_locked`.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refuse("host_locked", message) from None
        yield
    finally:
        os.close(descriptor)
