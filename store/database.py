"""The control plane's connection: one engine, read and write transactions, one unit of work per boundary.

Writers of one user space follow each other: SQLite takes its write lock at BEGIN, PostgreSQL an advisory lock for the
scope. So a rule that reads and then writes in one transaction sees what it decides on, on both (decision 0003).
"""

import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import Session
from ulid import ULID

from store import sqlite_connection
from store.outage import connected, connecting
from store.shared_commit import SharedCommits
from store.write_line import WriteLine

BUSY_TIMEOUT_MS = 15_000


@dataclass(frozen=True, slots=True)
class Scope:
    """The user space and product domain that every read and write is limited to (P1, I8)."""

    user_space: str
    domain: str


def new_id(prefix: str) -> str:
    """A fresh, sortable id such as `task_01J…`."""
    return f"{prefix}_{ULID()}"


def utc_now() -> datetime:
    """The present, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Transaction:
    """One unit of work: its session, its scope and the one moment at which all of it happens."""

    session: AsyncSession
    scope: Scope
    now: datetime
    new_id: Callable[[str], str]


class _KeepingSession(Session):
    """Holds every row that it has loaded or stored until it ends: within a transaction a row is read once.

    SQLAlchemy's own identity map lets go of what nobody else holds, and a later `get` of it would be a statement more.
    """


@event.listens_for(_KeepingSession, "loaded_as_persistent")
@event.listens_for(_KeepingSession, "pending_to_persistent")
def _keep(session: Session, row: object) -> None:
    session.info.setdefault("kept", []).append(row)


class Database:
    """Opens units of work on SQLite or PostgreSQL."""

    def __init__(self, url: str, clock: Callable[[], datetime] = utc_now, ids: Callable[[str], str] = new_id) -> None:
        """Prepare the engine; nothing is connected yet."""
        self.sqlite = url.startswith("sqlite")
        self.engine = _engine(url, self.sqlite)
        self.clock = clock
        self.ids = ids
        self._sessions = async_sessionmaker(self.engine, expire_on_commit=False, sync_session_class=_KeepingSession)
        # SQLite waits for its write lock by sleeping with back-off. A queue is fairer and faster: of a process, where
        # those that queue share a commit, and of processes.
        self._shared = SharedCommits(self.engine, self._sessions, _line(self.engine)) if self.sqlite else None

    @asynccontextmanager
    async def write(self, scope: Scope) -> AsyncIterator[Transaction]:
        """A transaction that may change rows of `scope`: committed at the end, rolled back by any exception."""
        if self._shared is not None:
            async with self._shared.session() as session:
                yield Transaction(session, scope, self.clock(), self.ids)
            return
        async with self._session() as session:
            await session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _lock_key(scope)})
            now = await session.scalar(text("SELECT clock_timestamp()")) or self.clock()
            yield Transaction(session, scope, now, self.ids)

    @asynccontextmanager
    async def read(self, scope: Scope) -> AsyncIterator[Transaction]:
        """A transaction that only reads; its view does not change while it lasts on SQLite."""
        async with self._session() as session:
            yield Transaction(session, scope, self.clock(), self.ids)

    @asynccontextmanager
    async def read_briefly(self, scope: Scope) -> AsyncIterator[Transaction]:
        """As `read`, for rows that are found by key or index and are few.

        On SQLite it holds the event loop while it runs, and costs a fraction of what a thread would.
        """
        async with self._session(steward_brief=True) as session:
            yield Transaction(session, scope, self.clock(), self.ids)

    @asynccontextmanager
    async def _session(self, **options: bool) -> AsyncIterator[AsyncSession]:
        """A session with its connection, whose loss is an `OperationalError`."""
        with connected():
            async with self._sessions() as session, session.begin():
                with connecting():
                    _connection = await session.connection(execution_options=options)
                yield session

    async def close(self) -> None:
        """Close all connections."""
        if self._shared is not None:
            await self._shared.rest()
        await self.engine.dispose()


def _lock_key(scope: Scope) -> int:
    digest = hashlib.sha256(f"{scope.user_space}:{scope.domain}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def _line(engine: AsyncEngine) -> WriteLine:
    # Half of what SQLite waits: what follows is the wait of SQLite itself.
    return WriteLine(engine.url.database, BUSY_TIMEOUT_MS / 2000)


def _engine(url: str, sqlite: bool) -> AsyncEngine:
    if not sqlite:
        return create_async_engine(url, pool_size=10, max_overflow=10, pool_pre_ping=True, hide_parameters=True)
    engine = create_async_engine(
        url, module=sqlite_connection.InlineDriver(), pool_size=8, max_overflow=8, hide_parameters=True,
        connect_args={"timeout": BUSY_TIMEOUT_MS / 1000},
    )  # fmt: skip
    event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:  # noqa: ANN401 - the driver's connection
    # The driver must not begin transactions by itself: BEGIN IMMEDIATE below is the write lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_TIMEOUT_MS}"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Any) -> None:  # noqa: ANN401 - SQLAlchemy's event argument
    options, driver = connection.get_execution_options(), connection.connection.driver_connection
    if options.get("steward_brief", False):
        driver.begin_brief_read()
    elif not options.get("steward_write", False):
        connection.exec_driver_sql("BEGIN")
    elif not driver.in_transaction and not driver.begin_write_at_once():
        connection.exec_driver_sql(sqlite_connection.BEGIN_WRITE)
