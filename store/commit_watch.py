"""Tells that somebody has committed, without asking any table: the cheap half of polling (H13, C2).

On SQLite `PRAGMA data_version` changes with every commit of another connection, in this process or another one; it
takes microseconds, so it is read on the event loop. PostgreSQL has no such counter: there every question says yes.
"""

import sqlite3

from store.database import Database


class CommitWatch:
    """Answers whether anything may have changed since it was last asked."""

    def __init__(self, database: Database) -> None:
        """Open the watching connection; the database file must exist."""
        self._connection: sqlite3.Connection | None = None
        self._seen = -1
        self.interval_s = 0.1
        path = database.engine.url.database
        if database.sqlite and path:
            self.interval_s = 0.025
            self._connection = sqlite3.connect(path, isolation_level=None)

    def changed(self) -> bool:
        """Whether there may have been a commit since the last call; the first call says yes."""
        if self._connection is None:
            return True
        try:
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.OperationalError:
            return True
        seen, self._seen = self._seen, version
        return bool(seen != version)

    def close(self) -> None:
        """Close the watching connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
