"""A connection to SQLite that runs statements which wait for nothing where they are asked for.

aiosqlite hands every call to a thread of its own: four times for each statement, and each time the event loop and the
thread have to pass the interpreter's lock to each other. What may wait is the write lock at BEGIN IMMEDIATE, where it
is not free, and the disk at COMMIT, where something was written; those keep their thread. Between them a write
transaction has the write lock and nothing to wait for, so its statements run at once: the same order, less processor
time and no queueing behind a busy loop. A brief read is inline as a whole: with WAL no reader waits for a writer. Other
reads stay on the thread, since they may be long.

The rule that keeps the order: nothing runs inline while anything is queued, because inline begins only after BEGIN has
returned and ends before COMMIT is queued, also when the caller is cancelled.
"""

import sqlite3
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Final

import aiosqlite
from sqlalchemy.dialects.sqlite.aiosqlite import AsyncAdapt_aiosqlite_connection, AsyncAdapt_aiosqlite_dbapi
from sqlalchemy.util.concurrency import await_
from typing_extensions import override

BEGIN_WRITE: Final = "BEGIN IMMEDIATE"
_ROWS_AT_ONCE: Final = 64


class InlineConnection(aiosqlite.Connection):
    """`aiosqlite.Connection` whose write transactions run on the caller's thread between BEGIN and COMMIT."""

    inline = False
    _brief = False
    _changes_before = -1
    patience_ms = 0
    """How long BEGIN IMMEDIATE may wait for the write lock, on the thread."""

    @override
    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run `fn` now inside of a write transaction, else as aiosqlite does."""
        inline, ends = self.inline, fn in (self._conn.commit, self._conn.rollback, self._conn.close)
        self.inline = inline and not ends
        at_once = fn not in (self._conn.commit, self._conn.close) or self._wrote_nothing(fn)
        if inline and at_once:
            return fn(*args, **kwargs)
        result = await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
        self.inline = bool(args) and args[0] == BEGIN_WRITE
        if self.inline:
            self._changes_before = self._conn.total_changes
        return result

    def _wrote_nothing(self, fn: Callable[..., Any]) -> bool:
        return fn == self._conn.commit and self._conn.total_changes == self._changes_before

    def begin_write_at_once(self) -> bool:
        """Begin a write transaction if nobody has the write lock; False, and nothing begun, when somebody has."""
        self._conn.execute("PRAGMA busy_timeout=0")
        try:
            self._conn.execute(BEGIN_WRITE)
        except sqlite3.OperationalError:
            return False
        finally:
            self._conn.execute(f"PRAGMA busy_timeout={self.patience_ms}")
        self.inline, self._changes_before = True, self._conn.total_changes
        return True

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


class _Ready:
    """Something to await that is there already."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


class _AdaptedConnection(AsyncAdapt_aiosqlite_connection):
    """SQLAlchemy's view of the connection; inside of an inline transaction it costs no coroutine."""

    __slots__ = ()
    _connection: Any

    @override
    def cursor(self, server_side: bool = False) -> Any:
        """A cursor that fits the moment."""
        if not self._connection.inline:
            return super().cursor(server_side)
        # SQLAlchemy takes a statement for which nothing is awaited for a mistake in the choice of the driver.
        await_(_Ready())
        return self._connection.inline_cursor()

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
    connection.patience_ms = int(options.get("timeout", 0) * 1000)
    return connection
