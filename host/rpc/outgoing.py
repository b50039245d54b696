"""The bounded queue between the host and one client (H12).

Putting never waits: a client that does not read fills its own queue, is marked as overflowed, and delays nobody. Text
of one reply that still waits is joined, so that a slow reader costs bytes, not messages.
"""

import asyncio
import json
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_MESSAGES: Final = 256
MAX_BYTES: Final = 4 * 1024 * 1024
_EVENT_BYTES: Final = 160
"""What the frame around a piece of reply text takes, generously."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One encoded message; made once, however many clients get it."""

    text: str
    size: int


@dataclass(slots=True)
class _Delta:
    turn_id: str
    revision: int
    size: int
    pieces: list[str] = field(default_factory=list)


def encode(message: Mapping[str, Any]) -> Frame:
    """Encode a message; what is not valid Unicode is replaced, never sent."""
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    encoded = text.encode("utf-8", "replace")
    return Frame(text if text.isascii() else encoded.decode(), len(encoded))


def event(topic: str, revision: int, body: Mapping[str, Any]) -> Frame:
    """Encode a notification of api.md."""
    params = {"topic": topic, "revision": revision, **body}
    return encode({"jsonrpc": "2.0", "method": "plugin/client/event", "params": params})


class Outgoing:
    """Messages that wait for one client, at most 256 and 4 MiB; `overflowed` is set when one more came."""

    def __init__(self) -> None:
        self.overflowed: Final = asyncio.Event()
        self._waiting: deque[Frame | _Delta] = deque()
        self._deltas: dict[str, _Delta] = {}
        self._bytes = 0
        self._filled = asyncio.Event()
        self._taken = asyncio.Event()
        self._taken.set()

    def put(self, frame: Frame) -> None:
        """Queue a message, or overflow."""
        self._append(frame, frame.size)

    def put_delta(self, turn_id: str, text: str, revision: int) -> None:
        """Queue a piece of a reply; it joins an earlier piece that still waits."""
        size = len(text.encode("utf-8", "replace"))
        waiting = self._deltas.get(turn_id)
        if waiting is None:
            waiting = _Delta(turn_id, revision, 0)
            self._deltas[turn_id] = waiting
            self._append(waiting, _EVENT_BYTES)
        waiting.pieces.append(text)
        waiting.size += size
        waiting.revision = revision
        self._count(size)

    def end_delta(self, turn_id: str) -> None:
        """What comes next about this reply must not be joined to text that was queued before it."""
        self._deltas.pop(turn_id, None)

    async def take(self) -> Frame:
        """Wait for the next message and take it."""
        while not self._waiting:
            self._taken.set()
            self._filled.clear()
            await self._filled.wait()
        first = self._waiting.popleft()
        if isinstance(first, Frame):
            self._bytes -= first.size
            return first
        self._bytes -= first.size + _EVENT_BYTES
        if self._deltas.get(first.turn_id) is first:
            del self._deltas[first.turn_id]
        return event("turn.delta", first.revision, {"turn_id": first.turn_id, "text": "".join(first.pieces)})

    async def drained(self) -> None:
        """Wait until everything was taken and the taker came back for more."""
        await self._taken.wait()

    def clear(self) -> None:
        """Throw away what waits; the connection is over."""
        self._waiting.clear()
        self._deltas.clear()
        self._bytes = 0

    def _append(self, entry: "Frame | _Delta", size: int) -> None:
        if self.overflowed.is_set():
            return
        self._waiting.append(entry)
        self._filled.set()
        self._taken.clear()
        self._count(size)

    def _count(self, size: int) -> None:
        self._bytes += size
        if len(self._waiting) > MAX_MESSAGES or self._bytes > MAX_BYTES:
            self.overflowed.set()
            self.clear()
