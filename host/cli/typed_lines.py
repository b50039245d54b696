"""Lines typed at a terminal, or from a pipe, without ever blocking the event loop."""

import asyncio
import codecs
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

PIECE: Final = 64 * 1024


def read_lines(take: Callable[[str | None], None]) -> None:
    """Hand each line of standard input, without its end, to `take` in this event loop; None at the end of the input."""
    loop = asyncio.get_running_loop()
    # The descriptor is read past sys.stdin: a thread that waits inside that object cannot be left at interpreter exit.
    descriptor = sys.stdin.fileno()

    def hand_on(line: str | None) -> None:
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(take, line)

    threading.Thread(target=_read, args=(descriptor, hand_on), daemon=True).start()


def _read(descriptor: int, hand_on: Callable[[str | None], None]) -> None:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    rest = ""
    with suppress(OSError):
        while piece := os.read(descriptor, PIECE):
            *lines, rest = (rest + decoder.decode(piece)).split("\n")
            for line in lines:
                hand_on(line)
    if rest:
        hand_on(rest)
    hand_on(None)
