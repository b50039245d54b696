"""The person's files folder: inspecting, reading, listing and writing inside it, and nowhere else (E1-E4, E13).

Every path is parsed as text first and then walked by descriptors; no method resolves a joined path. All methods block;
callers use a thread.
"""

import codecs
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adapters.atomic_write import remove_leftover
from adapters.descriptor_walk import DescriptorWalk, open_regular
from adapters.file_access import FileAccessError, system_errors
from adapters.file_reading import chunks, digest, read_bounded
from adapters.file_writing import FileWriter, Written
from adapters.folder_listing import Listing, list_entries
from domain.file_paths import TEMPORARY_PREFIX, Components, parse_folder, parse_relative
from domain.file_state import Absent, FileState
from domain.refusal import Refused, accepted, refuse
from domain.text_edit import decode_text

_TEMPORARY: Final = re.compile(re.escape(TEMPORARY_PREFIX) + r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Inspected:
    """What is at a path now.

    Attributes:
        path: relative to the files root, with single slashes.
        absolute_path: for the action digest only (E2); never shown, logged or sent.
        state: nothing, or the file's digest and size.
        missing_parents: folders that a write would make, outermost first, relative to the files root (E1).
    """

    path: str
    absolute_path: str
    state: FileState
    missing_parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileRead:
    """The start of a file: `content` and its own digest, the whole file's `size`, and whether there is more."""

    content: bytes
    size: int
    sha256: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class TextRead:
    """The start of a text file, without byte order mark; `sha256` is of the bytes read, `size` of the whole file."""

    text: str
    size: int
    sha256: str
    truncated: bool


class FilesRoot:
    """One files folder; `protected` are folders that stay closed even if they lie inside it (`state/`)."""

    def __init__(self, root: Path, protected: tuple[Path, ...] = ()) -> None:
        self._root = root.resolve()
        self._walk = DescriptorWalk(self._root, protected)
        self._writer = FileWriter(self._walk)

    @property
    def root(self) -> Path:
        """The resolved folder, for confinement and working folders of processes; no message may name it."""
        return self._root

    def prepare(self) -> None:
        """Make the folder if it is missing, for its owner only (H4)."""
        with system_errors():
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def inspect(self, path: str) -> Inspected:
        """Look at the path without changing anything.

        Raises:
            Refused: `invalid_params` or `protected_path` (E3); `precondition_changed` while the file is being written.
            FileAccessError: the system failed.
        """
        parts = accepted(parse_relative(path))
        with system_errors(), self._walk.reach_parent(parts) as reached:
            state: FileState = Absent()
            if not reached.missing:
                with suppress(FileNotFoundError), open_regular(reached.folder, parts[-1]) as descriptor:
                    state = digest(descriptor)
            existing = len(parts) - 1 - len(reached.missing)
            missing = tuple("/".join(parts[:depth]) for depth in range(existing + 1, len(parts)))
        return Inspected("/".join(parts), str(self._root.joinpath(*parts)), state, missing)

    def observe(self, path: str) -> FileState | None:
        """What is at the path, for reconciliation (E13); None when that cannot be told."""
        try:
            return self.inspect(path).state
        except (Refused, FileAccessError):
            return None

    def read(self, path: str, limit_bytes: int) -> FileRead:
        """Read at most `limit_bytes` from the start of a file; refusals as `open_file`."""
        with self.open_file(path) as descriptor:
            content = read_bounded(descriptor, limit_bytes)
            size = max(os.fstat(descriptor).st_size, len(content))
        return FileRead(content, size, hashlib.sha256(content).hexdigest(), size > len(content))

    def read_text(self, path: str, limit_bytes: int) -> TextRead:
        """Read the start of a UTF-8 file, cut between characters; `invalid_params` when it is not text."""
        found = self.read(path, limit_bytes)
        content = found.content[: _whole_characters(found.content)] if found.truncated else found.content
        text = accepted(decode_text(content)).removeprefix("\ufeff")
        return TextRead(text, found.size, found.sha256, found.truncated)

    def list_folder(self, path: str = "") -> Listing:
        """List a folder, the files root by default, bounded at 1,000 names; refusals as `open_file`."""
        with self.open_folder(path) as folder:
            return list_entries(folder)

    @contextmanager
    def open_folder(self, path: str = "") -> Iterator[int]:
        """Open an existing folder, the files root by default; refusals as `open_file`."""
        parts = accepted(parse_folder(path))
        with system_errors(), self._walk.reach(parts) as reached:
            if reached.missing:
                raise refuse("not_found", "There is no folder at this path. List the folder above it.")
            yield reached.folder

    @contextmanager
    def open_file(self, path: str) -> Iterator[int]:
        """Open an existing file for reading; the descriptor is closed at the end of the block.

        Raises:
            Refused: `not_found`, `invalid_params` or `protected_path` (E3).
            FileAccessError: the system failed, also inside the block.
        """
        parts = accepted(parse_relative(path))
        with system_errors(), self._walk.reach_parent(parts) as reached, ExitStack() as opened:
            try:
                if reached.missing:
                    raise _no_file()
                descriptor = opened.enter_context(open_regular(reached.folder, parts[-1]))
            except FileNotFoundError:
                raise _no_file() from None
            yield descriptor

    def copy_out(self, path: str, limit_bytes: int) -> Iterator[bytes]:
        """Read a whole file in pieces, for a copy elsewhere (T5).

        Raises:
            Refused: `invalid_params` with `limit` and `value` for a larger file; `precondition_changed` when it was
                written meanwhile (the pieces so far are void); else as `open_file`.
        """
        with self.open_file(path) as descriptor:
            size = os.fstat(descriptor).st_size
            if size > limit_bytes:
                message = f"The file has {size} bytes, at most {limit_bytes} are allowed. Make it smaller or split it."
                raise refuse("invalid_params", message, limit=limit_bytes, value=size)
            yield from chunks(descriptor)

    def write(self, path: str, content: bytes, precondition: FileState) -> Written:
        """Put the content at the path, all or nothing, if the precondition still holds (E4).

        Missing parents are made, and removed again when nothing was written. A replaced file keeps its permissions.

        Raises:
            Refused: `precondition_changed` when the path is not as expected, else as `inspect`; nothing was written.
            FileAccessError: the system failed; `published` tells whether the content may be in place nevertheless.
        """
        return self._writer.write(accepted(parse_relative(path)), content, precondition)

    def sweep_temporary(self) -> int:
        """Remove what killed writers left behind, anywhere in the folder; the number removed (E4)."""
        removed = 0
        waiting: list[Components] = [()]
        while waiting:
            parts = waiting.pop()
            # A folder that is protected, unreadable or gone meanwhile holds nothing of ours to remove.
            with suppress(OSError, Refused), self._walk.reach(parts) as reached:
                if reached.missing:
                    continue
                folders, leftovers = _look_through(reached.folder)
                waiting.extend((*parts, name) for name in folders)
                removed += sum(remove_leftover(reached.folder, name) for name in leftovers)
        return removed


def _look_through(folder: int) -> tuple[list[str], list[str]]:
    folders, leftovers = [], []
    with os.scandir(folder) as found:
        for item in found:
            if item.is_dir(follow_symlinks=False):
                folders.append(item.name)
            elif _TEMPORARY.fullmatch(item.name) and item.is_file(follow_symlinks=False):
                leftovers.append(item.name)
    return folders, leftovers


def _whole_characters(content: bytes) -> int:
    """Length of the content without a UTF-8 character that the limit cut in two."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(content)
    pending, _ = decoder.getstate()
    return len(content) - len(pending)


def _no_file() -> Refused:
    return refuse("not_found", "There is no file at this path. List the folder to see what there is.")
