"""Observers of attention inside of an embedding program (N11, H23): a stream of events without bodies.

The hard thing is time: an embedder subscribes after the host has started, and reads when it likes. So only names of
groups are kept, a bounded number of them, and each is read and checked anew at the moment at which it is handed out.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from store.attention_announcing import TOPIC
from store.attention_observing import AttentionEvent, current_event
from store.database import Database, Scope

KEPT: Final = 256


class _Queue:
    """What one observer has not read yet; the oldest is forgotten when it does not read."""

    def __init__(self, late: deque[str]) -> None:
        self.late = late
        self.live: deque[str] = deque(maxlen=KEPT)
        self.added = asyncio.Event()


class AttentionObservers:
    """Hands announced groups on; what is announced before anybody observes is kept for the first who does."""

    def __init__(self, database: Database, scope: Scope) -> None:
        self._database = database
        self._scope = scope
        self._early: deque[str] = deque(maxlen=KEPT)
        self._queues: dict[_Queue, None] = {}

    def told(self, topic: str, body: dict[str, object]) -> None:
        """Take note of a committed notice, if it is one of attention."""
        if topic != TOPIC:
            return
        group_id = str(body["group_id"])
        if not self._queues:
            self._early.append(group_id)
        for queue in self._queues:
            queue.live.append(group_id)
            queue.added.set()

    async def subscribe_user_attention(self) -> AsyncIterator[AttentionEvent]:
        """Every announcement from the first reading on, and before it what is still news of those that nobody observed.

        An observer that is slower than the announcements loses the oldest beyond 256. It ends when it is closed.
        """
        queue = _Queue(self._early)
        self._early = deque(maxlen=KEPT)
        self._queues[queue] = None
        try:
            while True:
                while queue.late:
                    event = await self._read(queue.late.popleft(), late=True)
                    if event is not None:
                        yield event
                while queue.live:
                    event = await self._read(queue.live.popleft(), late=False)
                    if event is not None:
                        yield event
                await queue.added.wait()
                queue.added.clear()
        finally:
            del self._queues[queue]

    async def _read(self, group_id: str, *, late: bool) -> AttentionEvent | None:
        async with self._database.read(self._scope) as tx:
            return await current_event(tx, group_id, late=late)
