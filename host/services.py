"""What the host's methods and routes work with, wired once at start."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from adapters.managed_files import ManagedFiles
from adapters.notification_secrets import NotificationSecrets
from host.attention_observers import AttentionObservers
from host.broadcaster import Broadcaster
from host.call import Call
from host.composition import Composition
from host.live_replies import LiveReplies
from host.owner_credential import OwnerCredential
from host.pulse import Pulse
from host.temporal_link import TemporalLink
from runtime.settings import Settings
from store.authority import Authority
from store.database import Database, Scope, Transaction
from store.grants import Issuer


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of one host, shared by all its connections (H10)."""

    settings: Settings
    scope: Scope
    database: Database
    managed_files: ManagedFiles
    broadcaster: Broadcaster
    live_replies: LiveReplies
    pulse: Pulse
    temporal: TemporalLink
    credential: OwnerCredential
    composition: Composition
    isolation: Mapping[str, str]
    main_session_id: str
    version: str
    clock: Callable[[], datetime]
    authority: Authority
    issuer: Callable[[int | None], Awaitable[Issuer]]
    files_root: Path
    secrets: NotificationSecrets
    observers: AttentionObservers

    @asynccontextmanager
    async def admission(self, call: Call[Any]) -> AsyncIterator[Transaction]:
        """The transaction that accepts a write: sealed against cancels right before its commit, then told to all."""
        async with self.database.write(self.scope) as tx:
            call.permission.check()
            yield tx
            call.permission.seal()
        self.pulse.ring()

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Transaction]:
        """A transaction that only reads this host's scope."""
        async with self.database.read(self.scope) as tx:
            yield tx

    @asynccontextmanager
    async def reading_briefly(self) -> AsyncIterator[Transaction]:
        """The same for few rows that are found by key or index."""
        async with self.database.read_briefly(self.scope) as tx:
            yield tx
