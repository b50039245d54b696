"""A connection to SQLite that runs the statements of a write transaction where they are asked for.

aiosqlite hands every call to a thread of its own: four times for each statement, and each time the event loop and the
thread have to pass the interpreter's lock to each other. What may wait is the write lock at BEGIN IMMEDIATE and the
disk at COMMIT; those keep their thread. Between them this connection has the write lock and nothing to wait for, so its
statements run at once: the same order, a quarter less processor time and no queueing behind a busy loop.

The rule that keeps the order: nothing runs inline while anything is queued, because inline begins only after BEGIN
IMMEDIATE has returned and ends before COMMIT is queued, also when the caller is cancelled. Reads stay on the thread,
since they may be long.
"""

import sqlite3
from collections.abc import Callable
from typing import Any, Final

import aiosqlite
from typing_extensions import override

BEGIN_WRITE: Final = "BEGIN IMMEDIATE"
_ROWS_AT_ONCE: Final = 64


class WriteInlineConnection(aiosqlite.Connection):
    """`aiosqlite.Connection` whose write transactions run on the caller's thread between BEGIN and COMMIT."""

    _inline = False

    @override
    async def _execute(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Run `fn` now inside of a write transaction, else as aiosqlite does."""
        inline, ends = self._inline, fn in (self._conn.commit, self._conn.rollback, self._conn.close)
        self._inline = inline and not ends
        if inline and fn not in (self._conn.commit, self._conn.close):
            return fn(*args, **kwargs)
        result = await super()._execute(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
        self._inline = bool(args) and args[0] == BEGIN_WRITE
        return result


def connect(database: str, **options: Any) -> WriteInlineConnection:  # noqa: ANN401 - the driver's own
    """What SQLAlchemy's aiosqlite dialect makes its connections with: not opened before it is awaited."""
    options["check_same_thread"] = False
    connection = WriteInlineConnection(lambda: sqlite3.connect(database, **options), _ROWS_AT_ONCE)
    # A thread that waits for the write lock must not keep a process alive that wants to end.
    connection._thread.daemon = True
    return connection
