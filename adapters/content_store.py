"""A private folder of immutable content, one file per id: received in a stream, read in base64 slices (C8-C10, T5).

A file has its id as name only when it is complete and durable. Ids come from the control plane, never from clients.
"""

import base64
import os
import re
import stat
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from adapters.file_access import system_errors
from adapters.file_reading import CHUNK_BYTES, digest, read_bounded
from adapters.incoming_content import INCOMING_PREFIX, ContentDescription, IncomingContent, Received, finish_in_thread
from adapters.media_sniffing import SNIFFED_BYTES, sniff
from adapters.rename_noreplace import rename_noreplace
from domain.refusal import Refused, refuse

MAX_SLICE_BASE64: Final = 524_288
"""Longest slice in base64 characters (C10)."""

_ID: Final = re.compile(r"[A-Za-z0-9_]{1,64}")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Base64Slice:
    """A piece of a file's base64: `offset` and `total_base64_length` in characters, `size` in bytes of the file."""

    data: str
    offset: int
    total_base64_length: int
    size: int


class ContentStore:
    """Content by id in one folder that nobody else writes; files are 0600, the folder 0700."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self) -> None:
        """Make the folder if it is missing, and close it to everybody but the owner."""
        with system_errors():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folder.chmod(0o700)

    async def receive(self, stream: AsyncIterator[bytes], limit_bytes: int, name: str) -> Received:
        """Write a stream to disk, cut off as soon as it passes the limit (C9).

        Args:
            stream: the content, in pieces of any size.
            limit_bytes: the most bytes that are accepted.
            name: the safe name, for the media type of text.

        Raises:
            Refused: `limit_exceeded` with `limit`; nothing is left on disk.
            FileAccessError: the system failed; nothing is left on disk.
        """
        with IncomingContent(self._folder) as incoming:
            waiting = bytearray()
            async for piece in stream:
                if incoming.size + len(waiting) + len(piece) > limit_bytes:
                    message = f"The file is larger than {limit_bytes} bytes. Send a smaller one."
                    raise refuse("limit_exceeded", message, limit=limit_bytes)
                waiting += piece
                if len(waiting) >= CHUNK_BYTES:
                    await finish_in_thread(incoming.append, bytes(waiting))
                    waiting.clear()
            await finish_in_thread(incoming.append, bytes(waiting))
            return await finish_in_thread(incoming.finish, name)

    def keep(self, pieces: Iterable[bytes], name: str) -> Received:
        """The same for pieces that are at hand and whose source has its own limit; blocks."""
        with IncomingContent(self._folder) as incoming:
            for piece in pieces:
                incoming.append(piece)
            return incoming.finish(name)

    def describe(self, content_id: str, name: str) -> ContentDescription | None:
        """What the store holds under the id, read in full; None for nothing. `name` tells kinds of text apart."""
        try:
            with self.open_content(content_id) as descriptor:
                present = digest(descriptor)
                media_type = sniff(read_bounded(descriptor, SNIFFED_BYTES), name)
        except Refused:
            return None
        return ContentDescription(present.size, present.sha256, media_type)

    def commit(self, received: Received, content_id: str) -> None:
        """Give received content its id, durably; content that already has the id stays, and the new one goes."""
        self._path(content_id)
        with system_errors(), self._open() as folder:
            try:
                rename_noreplace(folder, received.temporary, content_id)
            except FileExistsError:
                os.unlink(received.temporary, dir_fd=folder)
            with system_errors(published=True):
                os.fsync(folder)

    def discard(self, received: Received) -> None:
        """Remove received content that gets no id."""
        with system_errors():
            (self._folder / received.temporary).unlink(missing_ok=True)

    @contextmanager
    def open_content(self, content_id: str) -> Iterator[int]:
        """Open content for reading; `not_found` for an id without content."""
        with system_errors():
            try:
                descriptor = os.open(self._path(content_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            except FileNotFoundError:
                raise _no_content() from None
            try:
                yield descriptor
            finally:
                os.close(descriptor)

    def read_base64(self, content_id: str, offset: int, length: int) -> Base64Slice:
        """Read a slice of the content's base64; slices at successive offsets concatenate to the whole (C10).

        Args:
            content_id: which content.
            offset: characters of the whole file's base64 before the slice.
            length: characters wanted, 1 to 524,288; fewer come at the end.

        Raises:
            Refused: `not_found`, or `invalid_params` for an offset or length out of range.
        """
        if not 1 <= length <= MAX_SLICE_BASE64:
            message = f"`length` must be 1 to {MAX_SLICE_BASE64} characters."
            raise refuse("invalid_params", message, limit=MAX_SLICE_BASE64, value=length)
        with self.open_content(content_id) as descriptor:
            size = os.fstat(descriptor).st_size
            total = (size + 2) // 3 * 4
            if not 0 <= offset <= total:
                message = f"`offset` must be 0 to {total}, the length of this file's base64."
                raise refuse("invalid_params", message, limit=total, value=offset)
            end = min(offset + length, total)
            # Only the groups of three bytes that the slice touches are read and encoded.
            first_group = offset // 4
            content = os.pread(descriptor, ((end + 3) // 4 - first_group) * 3, first_group * 3)
        encoded = base64.b64encode(content).decode("ascii")
        skipped = offset - first_group * 4
        return Base64Slice(encoded[skipped : skipped + end - offset], offset, total, size)

    def delete(self, content_id: str) -> None:
        """Remove content; an id without content is no error."""
        with system_errors():
            self._path(content_id).unlink(missing_ok=True)

    def sweep(self, referenced: Set[str], older_than: timedelta) -> tuple[str, ...]:
        """Remove old content that nothing refers to, and what interrupted uploads left (C9).

        Args:
            referenced: ids that the control plane knows; read before the call.
            older_than: what was written more recently stays, as it may be about to be referred to.

        Returns:
            The ids that were removed.
        """
        before = time.time() - older_than.total_seconds()
        removed = []
        with system_errors(), os.scandir(self._folder) as found:
            for item in found:
                incoming = item.name.startswith(INCOMING_PREFIX)
                if item.name in referenced or not (incoming or _ID.fullmatch(item.name)):
                    continue
                with suppress(FileNotFoundError):
                    status = item.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) and status.st_mtime < before:
                        os.unlink(item.path)
                        removed += [] if incoming else [item.name]
        return tuple(sorted(removed))

    def _path(self, content_id: str) -> Path:
        if not _ID.fullmatch(content_id):
            raise _no_content()
        return self._folder / content_id

    @contextmanager
    def _open(self) -> Iterator[int]:
        folder = os.open(self._folder, _FOLDER)
        try:
            yield folder
        finally:
            os.close(folder)


def _no_content() -> Refused:
    return refuse("not_found", "There is no such file.")
