"""Reading a legacy ledger (E19): what counts is in the digest, what is no ledger is refused."""

import hashlib
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import rfc8785

from domain.refusal import Refused
from store.legacy_source import TABLES, open_source
from tests.legacy_files import COUNTS, build, build_with_wal

UNCOMMITTED = [f"INSERT INTO settings VALUES ('local','never{at}','{'x' * 3000}','never')" for at in range(50)]


def read(path: Path) -> tuple[str, dict[str, int]]:
    with open_source(path) as source:
        return source.digest, source.counts


def reason(path: Path) -> str:
    with pytest.raises(Refused) as refused, open_source(path):
        pass
    assert refused.value.refusal.code == "invalid_params"
    return str(refused.value.refusal.details["reason"])


def folder(tmp_path: Path, name: str) -> Path:
    made = tmp_path / name
    made.mkdir()
    return made


def test_the_digest_is_that_of_the_canonical_rows(tmp_path: Path) -> None:
    """E19: SHA-256 of the canonical JSON (RFC 8785) of all logical rows, sorted by their keys."""
    path = build(tmp_path)
    logical = {}
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        for table, shape in TABLES.items():
            rows = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
            logical[table] = sorted(rows, key=lambda row: [row[name] for name in shape.key])
    assert read(path) == (hashlib.sha256(rfc8785.dumps(logical)).hexdigest(), COUNTS)


def test_committed_rows_in_the_wal_count_and_others_do_not(tmp_path: Path) -> None:
    """E19: the same rows give the same digest from the database and from its WAL; what was not committed is not."""
    whole = read(build(folder(tmp_path, "whole")))
    path = build_with_wal(folder(tmp_path, "wal"), uncommitted=UNCOMMITTED)
    wal = path.with_name(f"{path.name}-wal")
    assert b"never49" not in path.read_bytes()
    assert b"never0" in wal.read_bytes()
    without = folder(tmp_path, "without") / path.name
    shutil.copy(path, without)
    assert read(without)[1] == dict.fromkeys(COUNTS, 0)
    assert read(path) == whole


def test_the_order_of_writing_does_not_count(tmp_path: Path) -> None:
    """E19: rows are sorted by their keys, and stand in the digest under these keys."""
    moved = (
        "CREATE TABLE kept AS SELECT * FROM rules",
        "DELETE FROM rules",
        "INSERT INTO rules SELECT * FROM kept ORDER BY rule_id DESC",
        "DROP TABLE kept",
    )
    exchanged = (
        "UPDATE rules SET rule_id = 'r0' WHERE rule_id = 'r2'",
        "UPDATE rules SET rule_id = 'r2' WHERE rule_id = 'r1'",
        "UPDATE rules SET rule_id = 'r1' WHERE rule_id = 'r0'",
    )
    whole = read(build(folder(tmp_path, "whole")))
    assert read(build(folder(tmp_path, "moved"), *moved)) == whole
    assert read(build(folder(tmp_path, "exchanged"), *exchanged)) != whole


CHANGES = [
    "UPDATE settings SET value = 'on'",
    "UPDATE rules SET paused = 1 WHERE rule_id = 'r1'",
    "UPDATE rules SET scope_json = scope_json || ' '",
    "UPDATE actions SET state = 'failed' WHERE action_id = 'a1'",
    "UPDATE actions SET version = 9 WHERE action_id = 'a1'",
    "UPDATE actions SET outcome_json = '' WHERE action_id = 'a3'",
    "UPDATE audit SET actor = 'x' WHERE seq = 4",
    "UPDATE audit SET seq = 5 WHERE seq = 4",
    "DELETE FROM audit WHERE seq = 1",
    "INSERT INTO settings VALUES ('other', 'auto_review', 'off', 'x')",
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_changed_row_changes_the_digest(tmp_path: Path, change: str) -> None:
    """E19: rules too, which are never imported."""
    before = read(build(folder(tmp_path, "before")))[0]
    assert read(build(folder(tmp_path, "after"), change))[0] != before


FOREIGN: dict[str, tuple[str, ...]] = {
    "another version": ("PRAGMA user_version = 2",),
    "no version": ("PRAGMA user_version = 0",),
    "a table too many": ("CREATE TABLE more (x)",),
    "a table too few": ("DROP TABLE rules",),
    "a column too many": ("ALTER TABLE audit ADD COLUMN more TEXT",),
    "another column": ("ALTER TABLE audit RENAME COLUMN actor TO who",),
    "a view": ("CREATE VIEW seen AS SELECT * FROM actions",),
    "a trigger": ("CREATE TRIGGER t AFTER INSERT ON actions BEGIN DELETE FROM audit; END",),
    "a view in a table's place": ("ALTER TABLE rules RENAME TO r", "CREATE VIEW rules AS SELECT * FROM r"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_another_schema_is_refused(tmp_path: Path, name: str) -> None:
    """E19: only the schema that is known is read; nothing is guessed."""
    assert reason(build(tmp_path, *FOREIGN[name])) == "foreign_schema"


ROWS = {
    "a blob": "UPDATE settings SET value = x'00ff'",
    "a text as version": "UPDATE actions SET version = 'many' WHERE action_id = 'a1'",
    "a fraction": "UPDATE audit SET action_id = 'a1', event = x'01' WHERE seq = 1",
    "no key": "INSERT INTO rules VALUES (NULL, 'local', 'file', 'allow', 0, '{}', 'x')",
}


@pytest.mark.parametrize("name", ROWS)
def test_a_value_of_a_wrong_type_is_refused(tmp_path: Path, name: str) -> None:
    """E19: what cannot be in a ledger is not imported as something else."""
    assert reason(build(tmp_path, ROWS[name])) == "foreign_rows"


def test_an_unknown_state_is_refused(tmp_path: Path) -> None:
    """E19: no state is made up for it."""
    path = build(tmp_path, "PRAGMA ignore_check_constraints=ON", "UPDATE actions SET state = 'maybe'")
    assert reason(path) in {"foreign_rows", "damaged"}


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:6000])


def _overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": _truncated,
    "overwritten": _overwritten,
    "text": lambda path: path.write_text("no database" * 1000),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused(tmp_path: Path, name: str) -> None:
    """E19: a damaged ledger is not imported in part."""
    path = build(tmp_path)
    DAMAGE[name](path)
    assert reason(path) == "damaged"


def test_an_empty_file_is_no_ledger(tmp_path: Path) -> None:
    """E19: SQLite takes an empty file for an empty database; it is none of the known version."""
    path = tmp_path / "personal-review.sqlite"
    path.touch()
    assert reason(path) == "foreign_schema"


def test_an_integer_that_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    """E19: RFC 8785 has no form for it, so it has no digest."""
    assert reason(build(tmp_path, f"UPDATE actions SET version = {2**60} WHERE action_id = 'a1'")) == "damaged"


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    """E19: a text without a meaning has no digest."""
    assert reason(build(tmp_path, "UPDATE settings SET value = CAST(x'ff' AS TEXT)")) == "damaged"
