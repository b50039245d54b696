"""Builds legacy review ledgers from the committed example (E19): in WAL mode, whole or with their rows in the WAL."""

import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

SCRIPT = (Path(__file__).parent / "vectors" / "personal-review.sql").read_text("utf-8")
FILE_NAME = "personal-review.sqlite"
COUNTS = {"actions": 3, "audit": 4, "rules": 2, "settings": 1}


def build(folder: Path, *more: str, script: str = SCRIPT) -> Path:
    """A checkpointed ledger in WAL mode; `more` are statements after the example's."""
    path = folder / FILE_NAME
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(script)
        for statement in more:
            connection.execute(statement)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def build_with_wal(folder: Path, *, uncommitted: Iterable[str] = (), script: str = SCRIPT) -> Path:
    """The example with everything behind its tables committed but not checkpointed: it is in the -wal alone.

    What a killed program leaves: no connection is open, and nobody has recovered it. `uncommitted` statements are in
    the WAL too, without a commit behind them.
    """
    work = folder / "being-written"
    work.mkdir()
    tables, _, rows = script.partition("INSERT INTO settings")
    with closing(sqlite3.connect(work / FILE_NAME, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(tables)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA wal_autocheckpoint=0")
        connection.executescript(f"BEGIN; INSERT INTO settings{rows} COMMIT;")
        connection.execute("PRAGMA cache_spill=1")
        connection.execute("PRAGMA cache_size=1")
        connection.execute("BEGIN")
        for statement in uncommitted:
            connection.execute(statement)
        for path in work.glob(f"{FILE_NAME}*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, folder / path.name)
        connection.execute("ROLLBACK")
    shutil.rmtree(work)
    return folder / FILE_NAME
