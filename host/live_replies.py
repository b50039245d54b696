"""Replies that are being written right now (C4): their text so far, and the wish to stop them (S8).

Nothing here is durable: the stored message replaces it, and after a crash the model step runs again. A client that
comes late gets a reset and the whole text so far, so a reply is never shown doubled or with a hole.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final


class LiveReply:
    """One reply under way. `stop_requested` is set when its user wants it stopped."""

    def __init__(self, turn_id: str, publish: Callable[[str, str | None], None]) -> None:
        self.turn_id: Final = turn_id
        self.stop_requested: Final = asyncio.Event()
        self._publish = publish
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """What has been streamed since the last reset."""
        return "".join(self._pieces)

    def delta(self, text: str) -> None:
        """Add text and show it to all clients."""
        if text:
            self._pieces.append(text)
            self._publish(self.turn_id, text)

    def reset(self) -> None:
        """Forget what was streamed: the model step begins again."""
        self._pieces.clear()
        self._publish(self.turn_id, None)


class LiveReplies:
    """The replies under way in this host, by turn id.

    Args:
        publish: Called with a turn id and a piece of text, or None for a reset.
    """

    def __init__(self, publish: Callable[[str, str | None], None]) -> None:
        self._publish = publish
        self._open: dict[str, LiveReply] = {}

    def open(self, turn_id: str) -> LiveReply:
        """The reply of a turn, begun if it is not there; the next step goes on with it or takes back what it showed."""
        if turn_id not in self._open:
            self._open[turn_id] = LiveReply(turn_id, self._publish)
        return self._open[turn_id]

    def close(self, turn_id: str) -> None:
        """End a reply: from now on its stored message is the truth."""
        self._open.pop(turn_id, None)

    def stop(self, turn_id: str) -> bool:
        """Ask a reply to stop; False when it is not being written here."""
        reply = self._open.get(turn_id)
        if reply is None:
            return False
        reply.stop_requested.set()
        return True

    def __iter__(self) -> Iterator[LiveReply]:
        return iter(tuple(self._open.values()))
