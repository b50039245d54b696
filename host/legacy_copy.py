"""Freezes a legacy ledger: copies the database with its -wal and -journal into a private folder (E19).

The hard thing is that somebody may still write. The source is never opened by SQLite and never for writing, not even
for a lock: a copy counts only when every file was the same before and after it, and read the same twice. The copy is
then recovered by SQLite as after a crash, so that what was committed is there and what was not is not.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from domain.legacy_ledger import FILE_NAME
from domain.refusal import refuse

FOLDER: Final = "legacy-ledger-copy"
COMPANIONS: Final = ("-wal", "-journal")
TRIES: Final = 3
BLOCK: Final = 1024 * 1024
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Stamp = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FrozenLedger:
    """A copy, and where it came from: the real path of the source."""

    copy: Path
    source: str
    stamps: tuple[Stamp | None, ...]

    def is_current(self) -> bool:
        """Whether the source's files are still those that were copied."""
        return _stamps(Path(self.source)) == self.stamps


def ledger_path(state_dir: Path) -> Path:
    """Where a legacy ledger lies."""
    return state_dir / FILE_NAME


def ledger_exists(state_dir: Path) -> bool:
    """Whether anything is at that place, whatever it is."""
    return os.path.lexists(ledger_path(state_dir))


@contextmanager
def frozen(state_dir: Path) -> Iterator[FrozenLedger]:
    """Copy the ledger; the copy is removed afterwards, and one that a killed process left before.

    The caller holds the host's lock, so nobody else has a copy there.

    Raises:
        Refused: `not_found` without a ledger; `protected_path` when it is a link or no regular file, or another user's;
            `precondition_changed` when it changes while it is copied.
    """
    source = Path(os.path.realpath(state_dir)) / FILE_NAME
    folder = state_dir / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        stamps = _copied(source, folder)
        yield FrozenLedger(folder / FILE_NAME, str(source), stamps)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copied(source: Path, folder: Path) -> tuple[Stamp | None, ...]:
    for _ in range(TRIES):
        before = _stamps(source)
        if before[0] is None:
            raise refuse("not_found", f"There is no {FILE_NAME} in the state folder.")
        written = [_copy(path, folder / path.name) for path in _files(source)]
        again = [_digest(path) for path in _files(source)]
        if written == again and _stamps(source) == before:
            return before
    raise refuse(
        "precondition_changed",
        f"{FILE_NAME} is being written. Stop every host and program that uses it, then try again.",
        reason="source_changed",
    )


def _files(source: Path) -> list[Path]:
    return [source, *(source.with_name(source.name + suffix) for suffix in COMPANIONS)]


def _stamps(source: Path) -> tuple[Stamp | None, ...]:
    return tuple(_stamp(path) for path in _files(source))


def _stamp(path: Path) -> Stamp | None:
    """What changes when a file does; None when it is not there."""
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return None
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)


def _copy(path: Path, target: Path) -> str | None:
    target.unlink(missing_ok=True)
    descriptor = _open(path)
    if descriptor is None:
        return None
    total = hashlib.sha256()
    with open(descriptor, "rb") as source, target.open("xb") as copy:
        os.fchmod(copy.fileno(), 0o600)
        while block := source.read(BLOCK):
            total.update(block)
            copy.write(block)
    return total.hexdigest()


def _digest(path: Path) -> str | None:
    descriptor = _open(path)
    if descriptor is None:
        return None
    with open(descriptor, "rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _open(path: Path) -> int | None:
    """Open a regular file of this user for reading, and nothing else; None when it is not there."""
    try:
        descriptor = os.open(path, _READ)
    except FileNotFoundError:
        return None
    except OSError as error:
        words = f"{path.name} cannot be read ({error.strerror}); it must be a regular file of this user, not a link."
        raise refuse("protected_path", words, reason="not_a_regular_file") from None
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1 or facts.st_uid != os.geteuid():
        os.close(descriptor)
        words = f"{path.name} must be a regular file of this user, with one name."
        raise refuse("protected_path", words, reason="not_a_regular_file")
    return descriptor
