"""Wakes whoever follows the database: at once for this process's own commits, by polling for everybody else's."""

import asyncio

from store.commit_watch import CommitWatch


class Pulse:
    """One poller for all followers; each waits on its own event."""

    def __init__(self) -> None:
        self._followers: list[asyncio.Event] = []
        self._watch: CommitWatch | None = None

    def follow(self) -> asyncio.Event:
        """A new follower's event; it is set once from the start, so that the follower looks at what is there."""
        event = asyncio.Event()
        event.set()
        self._followers.append(event)
        return event

    def ring(self) -> None:
        """Something was committed: wake all followers, and the poller will not wake them for the same commit."""
        if self._watch is not None:
            self._watch.changed()
        for event in self._followers:
            event.set()

    async def run(self, watch: CommitWatch) -> None:
        """Poll until cancelled."""
        self._watch = watch
        try:
            while True:
                if watch.changed():
                    self.ring()
                await asyncio.sleep(watch.interval_s)
        finally:
            self._watch = None
            watch.close()
