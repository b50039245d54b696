"""The conditional write: a precondition, a temporary file, a rename, and no trace when it is refused (E4).

The hard thing is the time between check and rename. Everything slow comes first; then the content is hashed on the open
descriptor, and two looks at names (the folder's, the file's) are all that happens before the rename.
"""

import hashlib
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from adapters.atomic_write import temporary_file
from adapters.descriptor_walk import DescriptorWalk, Reached, identity, open_folder, open_regular, refuse_special
from adapters.file_access import system_errors
from adapters.file_reading import digest, mark
from adapters.rename_noreplace import rename_noreplace
from domain.file_paths import Components
from domain.file_state import Absent, FileState, Present
from domain.refusal import Refused, refuse


@dataclass(frozen=True, slots=True)
class Written:
    """A write that stands: the content's digest and size in bytes, and the folders made for it, outermost first."""

    sha256: str
    size: int
    created_parents: tuple[str, ...]


class FileWriter:
    """Writes below one walk's root; writers of the same process publish one after another."""

    def __init__(self, walk: DescriptorWalk) -> None:
        self._walk = walk
        self._publishing = threading.Lock()

    def write(self, parts: Components, content: bytes, precondition: FileState) -> Written:
        """Put the content at the path if the precondition holds; `FilesRoot.write` has the contract."""
        made: list[Components] = []
        try:
            with system_errors(), self._walk.reach_parent(parts) as reached:
                if reached.missing and isinstance(precondition, Present):
                    raise _changed()
                self._write_below(reached, parts, content, precondition, made)
        except BaseException:
            self._remove_folders(made)
            raise
        created = tuple("/".join(folder) for folder in made)
        return Written(hashlib.sha256(content).hexdigest(), len(content), created)

    def _write_below(
        self, reached: Reached, parts: Components, content: bytes, precondition: FileState, made: list[Components]
    ) -> None:
        try:
            with _made_folders(reached, parts[:-1], made) as folder:
                if isinstance(precondition, Absent):
                    self._create(folder, parts, content)
                else:
                    self._replace(folder, parts, content, precondition)
                with system_errors(published=True):
                    os.fsync(folder)
        except (FileNotFoundError, FileExistsError):
            raise _changed() from None

    def _create(self, folder: int, parts: Components, content: bytes) -> None:
        with suppress(FileNotFoundError):
            refuse_special(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False))
            raise _changed()
        with temporary_file(folder, content, None) as temporary, self._publishing:
            self._refuse_moved(parts[:-1], folder)
            rename_noreplace(folder, temporary, parts[-1])

    def _replace(self, folder: int, parts: Components, content: bytes, precondition: Present) -> None:
        name = parts[-1]
        with open_regular(folder, name) as current:
            before = os.fstat(current)
            if before.st_size != precondition.size:
                raise _changed()
            # Hashed after the fsync of the new content, not before: that fsync is the slow part.
            with temporary_file(folder, content, before) as temporary, self._publishing:
                if digest(current) != precondition:
                    raise _changed()
                self._refuse_moved(parts[:-1], folder)
                if mark(os.stat(name, dir_fd=folder, follow_symlinks=False)) != mark(before):
                    raise _changed()
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)

    def _refuse_moved(self, parents: Components, folder: int) -> None:
        """The folder in hand must still be the one its path names; a folder moved away takes no write with it."""
        with self._walk.reach(parents) as now:
            if now.missing or identity(os.fstat(now.folder)) != identity(os.fstat(folder)):
                raise _changed()

    def _remove_folders(self, made: list[Components]) -> None:
        for parts in reversed(made):
            with suppress(OSError, Refused), self._walk.reach_parent(parts) as reached:
                if not reached.missing:
                    os.rmdir(parts[-1], dir_fd=reached.folder)


@contextmanager
def _made_folders(reached: Reached, parents: Components, made: list[Components]) -> Iterator[int]:
    """Make the folders that are missing below the reached one and yield the innermost, open."""
    folder = os.dup(reached.folder)
    try:
        existing = len(parents) - len(reached.missing)
        for depth, name in enumerate(reached.missing, start=existing + 1):
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=folder)
                made.append(parents[:depth])
                os.fsync(folder)
            deeper = open_folder(folder, name)
            os.close(folder)
            folder = deeper
        yield folder
    finally:
        os.close(folder)


def _changed() -> Refused:
    message = "The file is no longer as it was when this was proposed. Read it again and propose the change anew."
    return refuse("precondition_changed", message)
