"""Follows the committed changes and tells clients (H13): topics, ids and revisions, in the order of their commits."""

from typing import Final

import structlog

from domain.turn import TurnState
from host.attention_observers import AttentionObservers
from host.broadcaster import Broadcaster
from host.live_replies import LiveReplies
from host.pulse import Pulse
from store import changes
from store.database import Database, Scope
from store.outage import AWAY

PAGE: Final = 500
UNENDED: Final = (TurnState.QUEUED.value, TurnState.RUNNING.value)
log = structlog.get_logger()


class Notices:
    """Tells what was committed since this host started; clients re-read what happened before."""

    def __init__(
        self,
        database: Database,
        scope: Scope,
        pulse: Pulse,
        broadcaster: Broadcaster,
        live_replies: LiveReplies,
        observers: AttentionObservers,
    ) -> None:
        self._database = database
        self._scope = scope
        self._follow = pulse.follow()
        self._broadcaster = broadcaster
        self._live_replies = live_replies
        self._observers = observers

    async def begin(self) -> None:
        """Take the newest change as told; everything later will be."""
        async with self._database.read_briefly(self._scope) as tx:
            self._broadcaster.revision = await changes.newest(tx)

    async def run(self) -> None:
        """Tell clients for ever; a database that is away for a while loses nothing."""
        while True:
            await self._follow.wait()
            self._follow.clear()
            try:
                while await self.tell():
                    pass
            except AWAY as error:
                log.warning("notices_wait_for_database", error=type(error.orig).__name__)

    async def tell(self) -> bool:
        """Tell one page of changes; whether there may be more."""
        async with self._database.read_briefly(self._scope) as tx:
            rows = await changes.since(tx, self._broadcaster.revision, PAGE)
        for row in rows:
            self._broadcaster.publish(row.topic, row.revision, row.body)
            self._observers.told(row.topic, row.body)
            if row.topic == "turn.state" and row.body["state"] not in UNENDED:
                # From its end or parking on, a reply's stored message is the truth.
                self._live_replies.close(row.body["turn_id"])
        return len(rows) == PAGE
