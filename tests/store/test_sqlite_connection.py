"""The connection that runs a write transaction's statements at once: where they run, and what cancels leave."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from store.database import Database, Scope, Transaction
from store.schema import prepare
from store.sqlite_connection import InlineConnection, connect

SCOPE = Scope("local", "personal")
OUTBOX = (
    "INSERT INTO outbox (user_space, domain, kind, subject_id, created_at, due_at, tries) "
    "VALUES ('local', 'personal', 'test', :subject, '2026-01-01', '2026-01-01', 0)"
)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A prepared database of its own."""
    opened = Database(f"sqlite+aiosqlite:///{tmp_path}/steward.sqlite")
    await prepare(opened)
    yield opened
    await opened.close()


async def running_thread(tx: Transaction) -> int:
    """The thread that a statement of this transaction runs on, asked by the statement itself."""
    raw = await (await tx.session.connection()).get_raw_connection()
    driver = raw.driver_connection
    assert isinstance(driver, InlineConnection)
    await driver.create_function("running_thread", 0, threading.get_ident)
    return int(await tx.session.scalar(text("SELECT running_thread()")))


async def subjects(database: Database) -> list[str]:
    async with database.read(SCOPE) as tx:
        return list(await tx.session.scalars(text("SELECT subject_id FROM outbox ORDER BY entry_id")))


async def test_only_a_write_transactions_statements_run_on_the_event_loop(database: Database) -> None:
    """A read may be long, so it leaves the loop free; also on a connection that wrote before."""
    async with database.write(SCOPE) as tx:
        assert await running_thread(tx) == threading.get_ident()
    async with database.read(SCOPE) as tx:
        assert await running_thread(tx) != threading.get_ident()


async def test_a_connection_of_the_engine_runs_inline_too(database: Database) -> None:
    """The schema and shared commits work on plain connections; what wrote nothing gives the lock back as well."""
    for subject in ("plain", None):
        async with database.engine.connect() as plain:
            writing = await plain.execution_options(steward_write=True)
            _transaction = await writing.begin()
            assert (await writing.execute(text("SELECT 1"))).scalar_one() == 1
            if subject is not None:
                await writing.execute(text(OUTBOX), {"subject": subject})
            await writing.commit()
        assert await subjects(database) == ["plain"]


async def test_a_brief_read_runs_on_the_event_loop_and_sees_one_state(database: Database) -> None:
    """Its statements wait for nothing; what is committed meanwhile is not in it; rows are held while one writes."""
    async with database.read_briefly(SCOPE) as tx:
        assert await running_thread(tx) == threading.get_ident()
        count = text("SELECT count(*) FROM outbox")
        assert await tx.session.scalar(count) == 0
        async with database.write(SCOPE) as other:
            await other.session.execute(text(OUTBOX), [{"subject": "a"}, {"subject": "b"}])
        assert await tx.session.scalar(count) == 0
    async with database.write(SCOPE) as tx:
        for subject in await tx.session.scalars(text("SELECT subject_id FROM outbox")):
            await tx.session.execute(text(OUTBOX), {"subject": f"{subject}{subject}"})
    assert await subjects(database) == ["a", "b", "aa", "bb"]


async def test_a_brief_read_needs_no_lock(database: Database, tmp_path: Path) -> None:
    """A writer in another process keeps nobody from reading, and a read that fails leaves nothing open."""
    other = sqlite3.connect(tmp_path / "steward.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(OperationalError):
        async with database.read_briefly(SCOPE) as tx:
            await tx.session.execute(text("SELECT nothing FROM nowhere"))
    async with database.read_briefly(SCOPE) as tx:
        assert await tx.session.scalar(text("SELECT count(*) FROM outbox")) == 0
    other.execute("COMMIT")
    other.close()
    async with database.write(SCOPE) as tx:
        await tx.session.execute(text(OUTBOX), {"subject": "later"})
    assert await subjects(database) == ["later"]


async def test_waiting_for_the_write_lock_leaves_the_loop_free(database: Database, tmp_path: Path) -> None:
    """Another process may hold the lock for long: meanwhile everything else goes on."""
    other = sqlite3.connect(tmp_path / "steward.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = asyncio.Event()

    async def write() -> None:
        async with database.write(SCOPE) as tx:
            began.set()
            await tx.session.execute(text(OUTBOX), {"subject": "waited"})

    writing = asyncio.create_task(write())
    assert await subjects(database) == []
    assert not began.is_set()
    other.execute("COMMIT")
    other.close()
    await writing
    assert await subjects(database) == ["waited"]


@pytest.mark.parametrize("held", [True, False])
async def test_a_cancelled_writer_leaves_nothing_open(database: Database, tmp_path: Path, held: bool) -> None:
    """I1: cancelled while it waits for the lock, or inside of it: nothing is written or locked."""
    other = sqlite3.connect(tmp_path / "steward.sqlite", isolation_level=None)
    if held:
        other.execute("BEGIN IMMEDIATE")
    inside = asyncio.Event()

    async def write() -> None:
        async with database.write(SCOPE) as tx:
            await tx.session.execute(text(OUTBOX), {"subject": "cancelled"})
            inside.set()
            await asyncio.Event().wait()

    writing = asyncio.create_task(write())
    if held:
        await subjects(database)
    else:
        await inside.wait()
    writing.cancel()
    if held:
        await asyncio.sleep(0)
        other.execute("COMMIT")
    with pytest.raises(asyncio.CancelledError):
        await writing
    other.execute("BEGIN IMMEDIATE")
    other.execute("COMMIT")
    other.close()
    async with database.write(SCOPE) as tx:
        await tx.session.execute(text(OUTBOX), {"subject": "later"})
    assert await subjects(database) == ["later"]


async def test_a_commit_whose_caller_is_cancelled_ends_one_way_or_the_other(database: Database) -> None:
    """I1: whatever the moment of the cancel, all rows of the transaction are there or none is."""
    for number in range(40):

        async def write(number: int = number) -> None:
            async with database.write(SCOPE) as tx:
                for part in ("a", "b"):
                    await tx.session.execute(text(OUTBOX), {"subject": f"{number}{part}"})

        writing = asyncio.create_task(write())
        for _ in range(number):
            await asyncio.sleep(0)
        writing.cancel()
        await asyncio.wait([writing])
        there = [subject for subject in await subjects(database) if subject[:-1] == str(number)]
        assert there in ([], [f"{number}a", f"{number}b"])
    assert len(await subjects(database)) % 2 == 0


async def test_a_failed_statement_and_a_closed_connection_are_told(database: Database, tmp_path: Path) -> None:
    """An error inside of a write transaction takes it back; a closed connection refuses as aiosqlite's does."""

    async def fail() -> None:
        async with database.write(SCOPE) as tx:
            await tx.session.execute(text(OUTBOX), {"subject": "taken back"})
            await tx.session.execute(text("SELECT nothing FROM nowhere"))

    with pytest.raises(OperationalError):
        await fail()
    assert await subjects(database) == []
    alone = await connect(str(tmp_path / "alone.sqlite"), isolation_level=None)
    await alone.execute("BEGIN IMMEDIATE")
    await alone.close()
    with pytest.raises(ValueError, match="no active connection"):
        await alone.commit()
