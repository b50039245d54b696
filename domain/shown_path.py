"""Absolute paths of actions as they may leave this machine: relative to the files root (E3)."""

from pathlib import PurePosixPath


def below_root(path: str, root: str) -> str:
    """A path inside the files root, relative to it (`.` for the root itself); another one as it is."""
    whole = PurePosixPath(path)
    return whole.relative_to(root).as_posix() if whole.is_relative_to(root) else path
