"""What a folder holds, bounded and in the order of names, from its open descriptor."""

import heapq
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from domain.file_paths import TEMPORARY_PREFIX

MAX_ENTRIES: Final = 1000


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder.

    Attributes:
        name: as text; bytes that are not UTF-8 are shown as replacement characters.
        kind: `other` is everything the file tools refuse (links, hard-linked files, devices, undecodable names).
        size: bytes of a file, else 0.
        modified: time of the last change, UTC.
    """

    name: str
    kind: Literal["file", "folder", "other"]
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True)
class Listing:
    """The first entries of a folder by name; `truncated` when there are more."""

    entries: tuple[Entry, ...]
    truncated: bool


def list_entries(folder: int, limit: int = MAX_ENTRIES) -> Listing:
    """List the open folder; memory is bounded by the limit however many names there are."""
    first = heapq.nsmallest(limit + 1, _entries(folder), key=lambda entry: entry.name)
    return Listing(tuple(first[:limit]), len(first) > limit)


def _entries(folder: int) -> Iterator[Entry]:
    with os.scandir(folder) as found:
        for item in found:
            if item.name.startswith(TEMPORARY_PREFIX):
                continue
            try:
                status = item.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield _entry(item.name, status)


def _entry(name: str, status: os.stat_result) -> Entry:
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    shown = os.fsencode(name).decode("utf-8", "replace")
    if shown == name and stat.S_ISDIR(status.st_mode):
        return Entry(shown, "folder", 0, modified)
    if shown == name and stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
        return Entry(shown, "file", status.st_size, modified)
    return Entry(shown, "other", 0, modified)
