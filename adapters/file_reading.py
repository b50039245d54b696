"""Reading from open descriptors: digests, bounded content, and the mark by which a later change is noticed (E4)."""

import hashlib
import os
from collections.abc import Iterator

from domain.file_state import Present
from domain.refusal import refuse

CHUNK_BYTES = 1024 * 1024

Mark = tuple[int, ...]


def mark(status: os.stat_result) -> Mark:
    """What changes when a file is replaced or written: device, inode, size, both times and the number of names."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_nlink


def chunks(descriptor: int) -> Iterator[bytes]:
    """Read the file from its start to the size it has now, in pieces.

    Raises:
        Refused: `precondition_changed` when the file was written meanwhile.
    """
    before = os.fstat(descriptor)
    offset = 0
    while offset < before.st_size:
        piece = os.pread(descriptor, min(CHUNK_BYTES, before.st_size - offset), offset)
        if not piece:
            break
        yield piece
        offset += len(piece)
    # Times alone count: being renamed over or deleted does not change what was read.
    after = os.fstat(descriptor)
    if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
        raise refuse("precondition_changed", "The file was changed while it was read. Try again.")


def read_bounded(descriptor: int, limit_bytes: int) -> bytes:
    """Read at most `limit_bytes` from the start of the file."""
    pieces = []
    missing = limit_bytes
    while missing > 0 and (piece := os.pread(descriptor, min(CHUNK_BYTES, missing), limit_bytes - missing)):
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def digest(descriptor: int) -> Present:
    """Hash the whole file; `precondition_changed` when it was written meanwhile."""
    sha256 = hashlib.sha256()
    size = 0
    for piece in chunks(descriptor):
        sha256.update(piece)
        size += len(piece)
    return Present(sha256.hexdigest(), size)
