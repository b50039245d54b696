"""Content on its way into a content store: written under a temporary name, hashed and counted as it comes (C9).

The hard thing is cancellation: a thread that still writes must end before its descriptor is closed.
"""

import asyncio
import hashlib
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from adapters.file_access import system_errors
from adapters.media_sniffing import SNIFFED_BYTES, sniff

INCOMING_PREFIX: Final = ".incoming-"
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ContentDescription:
    """What content is: `size` in bytes, `sha256` in hexadecimal, and the sniffed `media_type`."""

    size: int
    sha256: str
    media_type: str


@dataclass(frozen=True, slots=True)
class Received(ContentDescription):
    """Complete, durable content without an id; `temporary` is its name until it is committed or discarded."""

    temporary: str


class IncomingContent:
    """A new file of mode 0600 in the folder; a context that removes it unless the block ends well."""

    def __init__(self, folder: Path) -> None:
        self._name = f"{INCOMING_PREFIX}{secrets.token_hex(16)}"
        self._path = folder / self._name
        self._digest = hashlib.sha256()
        self._head = b""
        self.size = 0
        with system_errors():
            self._descriptor = os.open(self._path, _NEW, 0o600)

    def __enter__(self) -> "IncomingContent":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            with suppress(OSError):
                self._path.unlink()
        os.close(self._descriptor)

    def append(self, piece: bytes) -> None:
        """Write the next piece; blocks."""
        with system_errors():
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        self._digest.update(piece)
        self._head += piece[: SNIFFED_BYTES - len(self._head)]
        self.size += len(piece)

    def finish(self, name: str) -> Received:
        """Make the content durable and say what it is; `name` tells kinds of text apart. Blocks."""
        with system_errors():
            os.fsync(self._descriptor)
        return Received(self.size, self._digest.hexdigest(), sniff(self._head, name), self._name)


async def finish_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work in a thread; a cancellation is passed on only when the thread has ended."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        if not work.cancelled():
            work.exception()
        raise
