"""What the words of a command lead to here (E2, E3, E16): the program by its content, its folder, and Steward's state.

All methods block. What leads into the state folder is looked for in everything a command is given; a command that is
not confined can still find its own way there, so no more than this is claimed.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adapters.file_access import FileAccessError, system_errors
from adapters.file_reading import chunks
from adapters.files_root import FilesRoot
from adapters.process_launch import fingerprint
from domain.file_paths import MAX_PATH_BYTES, parse_folder
from domain.refusal import Refused, accepted, refuse

SEARCHED: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where programs named without a folder are looked for, and the `PATH` of every command."""
PROGRAM_BYTES: Final = 512 * 1024 * 1024
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_BREAKS: Final = re.compile(r"[\s\"'`;|&<>(){}\[\]=,:]+")


@dataclass(frozen=True, slots=True)
class Program:
    """A program file as it is now.

    Attributes:
        found: absolute path under which it was found, links not followed.
        path: its real path.
        sha256: digest of its content.
        seen: what the digest was taken of; another value is another file.
    """

    found: str
    path: str
    sha256: str
    seen: tuple[int, ...]


class CommandResolution:
    """Resolves commands that run below one files root; nothing may lead into the folders in `protected`."""

    def __init__(self, files: FilesRoot, protected: tuple[Path, ...]) -> None:
        self._files = files
        self._protected = tuple(path.resolve() for path in protected)

    @property
    def files(self) -> FilesRoot:
        """The files root."""
        return self._files

    def folder(self, path: str) -> str:
        """The absolute working folder for a path relative to the files root; walked without following links (E3)."""
        parts = accepted(parse_folder(path))
        with self._files.open_folder(path):
            return str(self._files.root.joinpath(*parts))

    def relative(self, folder: str) -> str:
        """A working folder relative to the files root, empty for the root itself.

        Raises:
            Refused: `protected_path` when the files root is not where it was.
        """
        try:
            path = Path(folder).relative_to(self._files.root).as_posix()
        except ValueError:
            raise refuse("protected_path", "The files folder is not where it was when this was proposed.") from None
        return "" if path == "." else path

    def program(self, name: str, folder: str) -> Program:
        """Find the program a command names and take its digest from the open file (E2).

        Raises:
            Refused: `not_found`; `protected_path` inside the state folder; `invalid_params` when it is no program that
                can be run and read; `precondition_changed` while it is being replaced.
        """
        found = os.path.join(folder, name) if "/" in name else _search(name)
        try:
            path = os.path.realpath(found, strict=True)
            if self._is_protected(path):
                raise _protected()
            descriptor = os.open(path, _OPEN)
        except (FileNotFoundError, NotADirectoryError):
            raise _no_program() from None
        except OSError:
            raise _unusable() from None
        try:
            return self._identified(descriptor, found, path)
        except FileAccessError:
            raise _unusable() from None
        finally:
            os.close(descriptor)

    def shown(self, program: Program) -> str:
        """Where a program is, as it may be shown: inside the files root relative to it."""
        path = Path(program.path)
        root = self._files.root
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else program.path

    def refuse_protected(self, values: Iterable[str], folder: str) -> None:
        """Refuse values that lead into the state folder: as a whole, or a word in them (E16).

        Raises:
            Refused: `protected_path`.
        """
        words = {word for value in values for word in (value, *_BREAKS.split(value))}
        for word in words:
            if word and len(word) <= MAX_PATH_BYTES and self._is_protected(os.path.realpath(_joined(folder, word))):
                raise _protected()

    def _identified(self, descriptor: int, found: str, path: str) -> Program:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode) or not os.access(path, os.X_OK):
            raise refuse("invalid_params", "This is no program. Name an executable file.")
        if before.st_size > PROGRAM_BYTES:
            raise refuse("invalid_params", "The program is too large to be identified.", limit=PROGRAM_BYTES)
        content = hashlib.sha256()
        with system_errors():
            for chunk in chunks(descriptor):
                content.update(chunk)
        after = os.fstat(descriptor)
        if fingerprint(before) != fingerprint(after) or fingerprint(after) != _fingerprint_at(path):
            raise refuse("precondition_changed", "The program is being changed right now. Try again.")
        return Program(found, path, content.hexdigest(), tuple(fingerprint(after)))

    def _is_protected(self, path: str) -> bool:
        return any(Path(path).is_relative_to(folder) for folder in self._protected)


def _search(name: str) -> str:
    for folder in SEARCHED.split(":"):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise _no_program()


def _joined(folder: str, word: str) -> str:
    return os.path.join(folder, os.path.expanduser(word) if word.startswith("~") else word)


def _fingerprint_at(path: str) -> list[int] | None:
    try:
        return fingerprint(os.stat(path, follow_symlinks=False))
    except OSError:
        return None


def _protected() -> Refused:
    return refuse("protected_path", "The command would reach into Steward's own state, which no command may touch.")


def _no_program() -> Refused:
    return refuse("not_found", "There is no such program here. Check its name, or name its path.")


def _unusable() -> Refused:
    return refuse("invalid_params", "The program cannot be read, so it cannot be identified. Use another one.")
