"""A connection to SQLite that runs statements which wait for nothing where they are asked for.

aiosqlite hands every call to a thread of its own: four times for each statement, and each time the event loop and the
thread have to pass the interpreter's lock to each other. What may wait is the write lock at BEGIN IMMEDIATE and the
disk at COMMIT; those keep their thread. Between them a write transaction has the write lock and nothing to wait for,
so its statements run at once: the same order, less processor time and no queueing behind a busy loop. A brief read is
inline as a whole: with WAL no reader waits for a writer. Other reads stay on the thread, since they may be long.

The rule that keeps the order: nothing runs inline while anything is queued, because inline begins only after BEGIN has
returned and ends before COMMIT is queued, also when the caller is cancelled.
"""

import sqlite3
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import aiosqlite
from sqlalchemy.dialects.sqlite.aiosqlite import AsyncAdapt_aiosqlite_connection, AsyncAdapt_aiosqlite_dbapi
from typing_extensions import override

BEGIN_WRITE: Final = "BEGIN IMMEDIATE"
_ROWS_AT_ONCE: Final = 64


class InlineConnection(aiosqlite.Connection):
    """`aiosqlite.Connection` whose write transactions run on the caller's thread between BEGIN and COMMIT."""

    inline = False
    _brief = False

    @override
    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run `fn` now inside of a write transaction, else as aiosqlite does."""
        inline, ends = self.inline, fn in (self._conn.commit, self._conn.rollback, self._conn.close)
        self.inline = inline and not ends
        if inline and fn not in (self._conn.commit, self._conn.close):
            return fn(*args, **kwargs)
        result = await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
        self.inline = bool(args) and args[0] == BEGIN_WRITE
        return result

    def begin_brief_read(self) -> None:
        """Begin a read that is inline up to its end; the file is not touched before the first statement."""
        self._conn.execute("BEGIN")
        self.inline = self._brief = True

    def end_brief_read(self) -> bool:
        """End it if one is open: it wrote nothing, so no disk is waited for. False when none is."""
        if not self._brief:
            return False
        self.inline = self._brief = False
        self._conn.rollback()
        return True

    def inline_cursor(self) -> "InlineCursor":
        """A cursor of the transaction that runs inline."""
        return InlineCursor(self._conn)


class InlineCursor(sqlite3.Cursor):
    """What SQLAlchemy takes for the driver's adapted cursor: executes at once, and holds all of its rows.

    It holds them because what reads them one by one may write in between, on the same connection.
    """

    _held: deque[Any]

    @override
    def execute(self, operation: str, parameters: Any = ()) -> "InlineCursor":
        """Execute, and fetch what there is."""
        super().execute(operation, parameters)
        self._held = deque(super().fetchall()) if self.description else deque()
        return self

    @override
    def fetchone(self) -> Any:
        """The next row, or None."""
        return self._held.popleft() if self._held else None

    @override
    def fetchmany(self, size: int | None = 1) -> list[Any]:
        """The next rows."""
        return [self._held.popleft() for _ in range(min(size or self.arraysize, len(self._held)))]

    @override
    def fetchall(self) -> list[Any]:
        """All rows that are left."""
        rows = list(self._held)
        self._held.clear()
        return rows

    async def _async_soft_close(self) -> None:
        """Nothing is open: the rows are held."""


class _AdaptedConnection(AsyncAdapt_aiosqlite_connection):
    """SQLAlchemy's view of the connection; inside of an inline transaction it costs no coroutine."""

    __slots__ = ()
    _connection: Any

    @override
    def cursor(self, server_side: bool = False) -> Any:
        """A cursor that fits the moment."""
        return self._connection.inline_cursor() if self._connection.inline else super().cursor(server_side)

    @override
    def commit(self) -> None:
        """End the transaction."""
        if not self._connection.end_brief_read():
            super().commit()

    @override
    def rollback(self) -> None:
        """Take the transaction back."""
        if not self._connection.end_brief_read():
            super().rollback()


class InlineDriver(AsyncAdapt_aiosqlite_dbapi):
    """The driver that an engine is given as its `module`."""

    def __init__(self) -> None:
        super().__init__(aiosqlite, sqlite3)

    @override
    def connect(self, *arguments: Any, **options: Any) -> AsyncAdapt_aiosqlite_connection:
        """A connection that is adapted for SQLAlchemy."""
        options["async_creator_fn"] = connect
        adapted = super().connect(*arguments, **options)
        return _AdaptedConnection(self, adapted._connection)


def connect(database: str, **options: Any) -> InlineConnection:  # noqa: ANN401 - the driver's own
    """What SQLAlchemy's aiosqlite dialect makes its connections with: not opened before it is awaited."""
    options["check_same_thread"] = False
    connection = InlineConnection(lambda: sqlite3.connect(database, **options), _ROWS_AT_ONCE)
    # A thread that waits for the write lock must not keep a process alive that wants to end.
    connection._thread.daemon = True
    return connection
