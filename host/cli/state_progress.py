"""Says that long work goes on, to a person at a terminal only (O4)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def progress(words: str) -> Iterator[None]:
    """Show the words on stderr, with something that moves, for as long as the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(words):
        yield
