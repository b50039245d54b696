"""What is, or is expected to be, at a path: nothing, or a file with exactly this content (E2)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Absent:
    """Nothing is at the path."""


@dataclass(frozen=True, slots=True)
class Present:
    """A regular file is at the path; `sha256` in hexadecimal, `size` in bytes."""

    sha256: str
    size: int


FileState = Absent | Present
