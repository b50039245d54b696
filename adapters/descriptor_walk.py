"""Reaching a folder or file by open descriptors, one component at a time, without ever following a link (E3, E4).

Each step opens a name relative to the folder that is already held. What somebody swaps meanwhile can make a step fail;
it cannot lead it anywhere else, because no joined path is ever resolved.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.file_paths import Components
from domain.refusal import Refused, refuse

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY

Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Reached:
    """The deepest existing folder on the way, open as `folder`, and the components below it that do not exist."""

    folder: int
    missing: Components


class DescriptorWalk:
    """Walks below one root; folders in `protected` are refused by identity, however they are reached."""

    def __init__(self, root: Path, protected: tuple[Path, ...]) -> None:
        self._root = root
        self._protected = protected
        self._forbidden = tuple(
            path.relative_to(root).parts for path in map(Path.resolve, protected) if path.is_relative_to(root)
        )

    @contextmanager
    def reach_parent(self, parts: Components) -> Iterator[Reached]:
        """Open the folder that holds the file `parts`, as `reach` does."""
        self._refuse_forbidden(parts)
        with self.reach(parts[:-1]) as reached:
            yield reached

    @contextmanager
    def reach(self, parts: Components) -> Iterator[Reached]:
        """Open the folder `parts` as far as it exists; its descriptor is closed at the end of the block.

        Raises:
            Refused: `protected_path` for a link, a non-folder or a protected folder on the way.
            OSError: the root itself or the system fails.
        """
        self._refuse_forbidden(parts)
        protected = self._identities()
        folder = os.open(self._root, _FOLDER)
        try:
            missing: Components = ()
            _refuse_protected(folder, protected)
            for depth, name in enumerate(parts):
                try:
                    deeper = open_folder(folder, name)
                except FileNotFoundError:
                    missing = parts[depth:]
                    break
                # Only the folder in hand stays open, so depth costs no descriptors.
                os.close(folder)
                folder = deeper
                _refuse_protected(folder, protected)
            yield Reached(folder, missing)
        finally:
            os.close(folder)

    def _refuse_forbidden(self, parts: Components) -> None:
        # By name too: a protected folder that does not exist yet must not be made by a write.
        if any(parts[: len(forbidden)] == forbidden for forbidden in self._forbidden):
            raise _protected_folder()

    def _identities(self) -> frozenset[Identity]:
        # Read anew each time: a protected folder may have been made after this walk.
        found = []
        for path in self._protected:
            try:
                found.append(identity(os.stat(path)))
            except FileNotFoundError:
                continue
        return frozenset(found)


def identity(status: os.stat_result) -> Identity:
    """What names a file or folder independently of its path: device and inode."""
    return status.st_dev, status.st_ino


def open_folder(parent: int, name: str) -> int:
    """Open a folder inside an open one.

    Raises:
        FileNotFoundError: nothing has this name.
        Refused: `protected_path` when it is a link or no folder, or the system does not let Steward in.
    """
    try:
        return os.open(name, _FOLDER, dir_fd=parent)
    except FileNotFoundError:
        raise
    except PermissionError:
        raise _no_access() from None
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        # A link and a file give the same error here, so the name is looked at once more for a useful message.
        kind = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        raise (_link() if stat.S_ISLNK(kind) else _not_a_folder()) from None


@contextmanager
def open_regular(parent: int, name: str) -> Iterator[int]:
    """Open an ordinary file inside an open folder for reading; the descriptor is closed at the end of the block.

    Raises:
        FileNotFoundError: nothing has this name.
        Refused: `protected_path` when it is a link, hard-linked, no regular file, or not readable for Steward.
    """
    # Looking first keeps from opening a device, which can have effects of its own; the descriptor is what counts.
    refuse_special(os.stat(name, dir_fd=parent, follow_symlinks=False))
    try:
        descriptor = os.open(name, _FILE, dir_fd=parent)
    except FileNotFoundError:
        raise
    except PermissionError:
        raise _no_access() from None
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise (_link() if error.errno == errno.ELOOP else _special()) from None
    try:
        refuse_special(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def refuse_special(status: os.stat_result) -> None:
    """Refuse everything but a regular file with one name, as `protected_path` (E3)."""
    if stat.S_ISLNK(status.st_mode):
        raise _link()
    if stat.S_ISDIR(status.st_mode):
        raise refuse("protected_path", "The path names a folder, not a file. Add the file's name.")
    if not stat.S_ISREG(status.st_mode):
        raise _special()
    if status.st_nlink > 1:
        raise refuse("protected_path", "The file has a second name (a hard link), so it is left alone. Copy it first.")


def _refuse_protected(folder: int, protected: frozenset[Identity]) -> None:
    if identity(os.fstat(folder)) in protected:
        raise _protected_folder()


def _protected_folder() -> Refused:
    return refuse("protected_path", "The path leads into Steward's own state, which no file tool may touch.")


def _link() -> Refused:
    return refuse("protected_path", "The path leads through a symbolic link. Use the real path in the files folder.")


def _special() -> Refused:
    return refuse("protected_path", "The path names a device, pipe or socket. Only ordinary files can be used.")


def _not_a_folder() -> Refused:
    return refuse("protected_path", "A part of the path that must be a folder is a file. Use another path.")


def _no_access() -> Refused:
    return refuse("protected_path", "The operating system does not let Steward open this path.")
