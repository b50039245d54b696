"""Freezing a legacy ledger (E19): consistently or not at all, never through a link, never by writing to the source."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from domain.refusal import Refused
from host import legacy_copy
from host.legacy_copy import FOLDER, frozen, ledger_exists
from store.legacy_source import open_source
from tests.legacy_files import COUNTS, FILE_NAME, build, build_with_wal


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state folder."""
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


def facts(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir() if path.is_file()
    }


def refusal(state: Path) -> tuple[str, object]:
    with pytest.raises(Refused) as refused, frozen(state):
        pass
    assert not (state / FOLDER).exists()
    return refused.value.refusal.code, refused.value.refusal.details.get("reason")


def test_the_source_stays_as_it_was(state: Path) -> None:
    """E19: no file of the source changes, none appears beside it, and the private copy is gone afterwards."""
    build_with_wal(state)
    before = facts(state)
    with frozen(state) as ledger, open_source(ledger.copy) as source:
        assert source.counts == COUNTS
        assert ledger.is_current()
        assert ledger.copy.parent.stat().st_mode & 0o777 == 0o700
        assert all(path.stat().st_mode & 0o077 == 0 for path in ledger.copy.parent.glob("*.sqlite"))
    assert facts(state) == before
    assert not (state / FOLDER).exists()


def test_a_ledger_that_is_open_elsewhere_is_copied(state: Path) -> None:
    """E19: what another program has committed counts, what it has not does not, whatever locks it holds."""
    path = build(state)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO settings VALUES ('local', 'uncommitted', 'x', 'x')")
        with frozen(state) as ledger, open_source(ledger.copy) as source:
            assert source.counts == COUNTS
        writer.execute("COMMIT")
        assert not ledger.is_current()


def test_a_hot_journal_is_rolled_back_in_the_copy(state: Path, tmp_path: Path) -> None:
    """E19: a ledger without WAL whose writer was killed is read as SQLite would recover it."""
    work = tmp_path / "work"
    work.mkdir()
    path = build(work)
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode=DELETE")
        writer.execute("PRAGMA cache_size=1")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("DELETE FROM audit")
        for at in range(50):
            writer.execute(f"INSERT INTO settings VALUES ('local', 'half{at}', '{'x' * 3000}', 'x')")
        for part in work.iterdir():
            (state / part.name).write_bytes(part.read_bytes())
        writer.execute("ROLLBACK")
    assert b"half0" in (state / FILE_NAME).read_bytes()
    with frozen(state) as ledger, open_source(ledger.copy) as source:
        assert source.counts == COUNTS
    assert b"half0" in (state / FILE_NAME).read_bytes()


def test_a_source_that_is_being_written_is_refused(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E19: a copy of two moments is no copy, and three times is enough."""
    path = build(state)
    copies = []
    copy = legacy_copy._copy

    def copy_and_write(source: Path, target: Path) -> str | None:
        copies.append(source.name)
        done = copy(source, target)
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("UPDATE settings SET updated_at = updated_at || 'x'")
        return done

    monkeypatch.setattr(legacy_copy, "_copy", copy_and_write)
    assert refusal(state) == ("precondition_changed", "source_changed")
    assert copies.count(FILE_NAME) == legacy_copy.TRIES


def test_one_write_in_between_is_copied_again(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E19: the second copy is the one that counts, as a whole."""
    path = build(state)
    written: list[Path] = []
    copy = legacy_copy._copy

    def copy_and_write_once(source: Path, target: Path) -> str | None:
        done = copy(source, target)
        if not written:
            with closing(sqlite3.connect(path, isolation_level=None)) as writer:
                writer.execute("INSERT INTO settings VALUES ('local', 'late', 'x', 'x')")
            written.append(source)
        return done

    monkeypatch.setattr(legacy_copy, "_copy", copy_and_write_once)
    with frozen(state) as ledger, open_source(ledger.copy) as source:
        assert source.counts == COUNTS | {"settings": 2}


def _link(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere)


def _second_name(path: Path, elsewhere: Path) -> None:
    os.link(elsewhere, path)


def _pipe(path: Path, _elsewhere: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path, _elsewhere: Path) -> None:
    path.mkdir()


def _dangling(path: Path, elsewhere: Path) -> None:
    path.symlink_to(elsewhere.with_name("nowhere"))


@pytest.mark.parametrize("make", [_link, _second_name, _pipe, _folder, _dangling])
def test_only_a_regular_file_with_one_name_is_read(
    state: Path, tmp_path: Path, make: Callable[[Path, Path], None]
) -> None:
    """E19, E3: nothing is followed out of the state folder, nothing hangs; and it is never taken for absent."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    make(state / FILE_NAME, build(elsewhere))
    assert ledger_exists(state)
    assert refusal(state) == ("protected_path", "not_a_regular_file")


def test_a_linked_wal_is_refused(state: Path, tmp_path: Path) -> None:
    """E19: the same holds for what belongs to the ledger."""
    build(state)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"")
    (state / f"{FILE_NAME}-wal").unlink(missing_ok=True)
    (state / f"{FILE_NAME}-wal").symlink_to(elsewhere)
    assert refusal(state) == ("protected_path", "not_a_regular_file")


def test_no_ledger(state: Path) -> None:
    """E19: a missing one is said to be missing."""
    assert not ledger_exists(state)
    assert refusal(state)[0] == "not_found"


def test_what_a_killed_import_left_is_replaced(state: Path) -> None:
    """E19: an old copy is never read."""
    build(state)
    (state / FOLDER).mkdir()
    (state / FOLDER / f"{FILE_NAME}-wal").write_bytes(b"old")
    with frozen(state) as ledger, open_source(ledger.copy) as source:
        assert source.counts == COUNTS
