"""Reads a frozen copy of a legacy review ledger (E19): its schema is checked, its rows are counted and digested.

The digest covers the logical rows, not the file: the same rows give the same digest whether they are in the database
or still in its WAL. Rows are read one by one, so that a large ledger costs time, not memory.
"""

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import rfc8785

from domain.legacy_ledger import SCHEMA_VERSION, LegacyState
from domain.refusal import Refused, refuse

Value = str | int | None
Row = dict[str, Value]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the ledger: its columns, which of them may be NULL, its key, and what sorts it."""

    texts: tuple[str, ...]
    integers: tuple[str, ...]
    nullable: frozenset[str]
    key: tuple[str, ...]
    columns: tuple[str, ...]


def _table(columns: str, key: str) -> _Table:
    """Read `name`, `name#` for an integer and `name?` for one that may be NULL."""
    names = tuple(column.rstrip("#?") for column in columns.split())
    integers = tuple(column.rstrip("#?") for column in columns.split() if "#" in column)
    nullable = frozenset(column.rstrip("#?") for column in columns.split() if "?" in column)
    return _Table(tuple(name for name in names if name not in integers), integers, nullable, tuple(key.split()), names)


# In the order of their names, which is the order of the digest.
TABLES: Final[Mapping[str, _Table]] = {
    "actions": _table(
        "action_id user_space kind digest version# state action_json created_at decided_at? outcome_json?", "action_id"
    ),
    "audit": _table("seq# action_id? event actor at detail_json?", "seq"),
    "rules": _table("rule_id user_space kind mode paused# scope_json created_at", "rule_id"),
    "settings": _table("user_space key value updated_at", "user_space key"),
}
_INTERNAL: Final = frozenset({"sqlite_sequence"})


class LegacySource:
    """An opened copy: `counts` of all its rows, and the `digest` of what they say."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Check the schema and read everything once; `open_source` says what may be raised."""
        self._connection = connection
        _check_schema(connection)
        self.counts, self.digest = self._read()

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table, in the order of its key."""
        shape = TABLES[table]
        names, order = ", ".join(shape.columns), ", ".join(shape.key)
        for values in self._connection.execute(f"SELECT {names} FROM {table} ORDER BY {order}"):
            row = dict(zip(shape.columns, values, strict=True))
            _check_row(table, shape, row)
            yield row

    def _read(self) -> tuple[dict[str, int], str]:
        counts = dict.fromkeys(sorted(TABLES), 0)
        total = hashlib.sha256()
        for at, table in enumerate(counts):
            total.update(f'{"," if at else "{"}"{table}":['.encode())
            for row in self.rows(table):
                total.update((b"," if counts[table] else b"") + rfc8785.dumps(row))
                counts[table] += 1
            total.update(b"]")
        total.update(b"}")
        return counts, total.hexdigest()


@contextmanager
def open_source(copy: Path) -> Iterator[LegacySource]:
    """Open a private copy of a ledger; SQLite recovers its WAL or journal there.

    Raises:
        Refused: `invalid_params` when it is damaged or is no ledger of the version that is known.
    """
    with _damage_is_refused(), closing(sqlite3.connect(copy, isolation_level=None, check_same_thread=False)) as opened:
        opened.execute("PRAGMA trusted_schema=OFF")
        if opened.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]:
            raise _unusable("it is damaged", "damaged")
        yield LegacySource(opened)


@contextmanager
def _damage_is_refused() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, rfc8785.CanonicalizationError):
        raise _unusable("it cannot be read: it is damaged or no SQLite database", "damaged") from None


def _check_schema(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != SCHEMA_VERSION:
        raise _unusable(f"its schema has version {version}, {SCHEMA_VERSION} is known", "foreign_schema")
    found = connection.execute("SELECT type, name, tbl_name FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
    names = {name for kind, name, _ in found if kind == "table"} - _INTERNAL
    others = [kind for kind, _, table in found if kind != "table" and not (kind == "index" and table in TABLES)]
    if names != set(TABLES) or others:
        raise _unusable("its tables are not those of a ledger", "foreign_schema")
    for name, shape in TABLES.items():
        columns = tuple(row[1] for row in connection.execute(f"PRAGMA table_xinfo({name})"))
        if columns != shape.columns:
            raise _unusable(f"the columns of {name} are not those of a ledger", "foreign_schema")


def _check_row(table: str, shape: _Table, row: Row) -> None:
    texts = all(isinstance(row[name], str) or (row[name] is None and name in shape.nullable) for name in shape.texts)
    if not texts or not all(isinstance(row[name], int) for name in shape.integers):
        raise _unusable(f"a row of {table} holds a value of a wrong type", "foreign_rows")
    if table == "actions" and row["state"] not in set(LegacyState):
        raise _unusable("an action is in an unknown state", "foreign_rows")


def _unusable(why: str, reason: str) -> Refused:
    words = f"The legacy ledger is not imported: {why}. Nothing was changed; restore it from a backup."
    return refuse("invalid_params", words, reason=reason)
