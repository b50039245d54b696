"""The control plane's units of work and its schema, on both databases (O12, I1, architecture: one unit of work)."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, event, func, select, text

from domain.refusal import Refused
from store import changes, outbox, spaces, workers
from store.columns import UtcTime
from store.database import Database, Scope
from store.schema import alembic_config, is_newer, newest_revision, prepare
from store.tables import Table
from store.tables_conversation import SessionRow, SpaceRow
from store.tables_host import ChangeRow, OutboxRow, WorkerRow
from tests.control_plane import Plane


async def test_migrations_lead_to_the_models(prepared_url: str) -> None:
    """O12: an empty database, upgraded, is what the code's tables say: no difference in tables, columns, indexes."""
    database = Database(prepared_url)
    async with database.engine.connect() as connection:
        assert await connection.run_sync(_differences) == []
    await database.close()


async def test_the_schema_is_current_when_it_is_prepared(prepared_url: str) -> None:
    """O12: what a start takes for the newest revision is what Alembic does; a database that is there is left alone."""
    database = Database(prepared_url)
    async with database.engine.connect() as connection:
        script = await connection.run_sync(lambda opened: ScriptDirectory.from_config(alembic_config(opened)))
        stored = await connection.scalar(text("SELECT version_num FROM alembic_version"))
    await prepare(database)
    await database.close()
    assert newest_revision() == script.get_current_head() == stored


async def test_a_database_of_a_newer_version_is_refused(prepared_url: str) -> None:
    """O12: migrations only go forward; it is said in one line, a restart would not mend it, and nothing is changed."""
    database = Database(prepared_url)
    async with database.engine.begin() as connection:
        await connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Refused) as refused:
        await prepare(database)
    async with database.engine.connect() as connection:
        assert await connection.scalar(text("SELECT version_num FROM alembic_version")) == "9999"
    await database.close()
    assert refused.value.refusal.code == "invalid_params"
    assert "schema 9999" in refused.value.refusal.message
    assert (is_newer("9999"), is_newer(newest_revision()), is_newer(None)) == (True, False, False)


PREPARERS, GOES = 4, 3


async def test_processes_that_start_together_prepare_an_empty_database(database_url: str, repository: Path) -> None:
    """O12: they wait for each other, time and again; the schema is made once, and what is in it is left alone."""
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.store.schema_preparer", database_url,
            cwd=repository, stdin=PIPE, stdout=PIPE, stderr=PIPE,
        )
        for _ in range(PREPARERS)
    ]  # fmt: skip
    try:
        assert [await _line(process) for process in processes] == ["ready"] * PREPARERS
        for _ in range(GOES):
            await _emptied(database_url)
            assert await _go(processes) == ["prepared"] * PREPARERS
            assert await _opened(database_url) == 1
        # Whoever comes when it is there leaves it as it is.
        assert await _go(processes) == ["prepared"] * PREPARERS
        assert await _opened(database_url) == 1
        ends = await asyncio.gather(*(process.communicate(b"") for process in processes))
        assert [process.returncode for process in processes] == [0] * PREPARERS, ends
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()


def _differences(connection: Connection) -> list[object]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, Table.metadata))


async def _go(processes: Sequence[Process]) -> list[str]:
    """Let all of them begin at once; what each says."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
    return [await _line(process) for process in processes]


async def _line(process: Process) -> str:
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode().strip()
    assert line, (await process.communicate(b""))[1].decode()
    return line


async def _emptied(url: str) -> None:
    """Take everything out of the database."""
    database = Database(url)
    if database.sqlite:
        file = Path(url.partition(":///")[2])
        for left in file.parent.glob(f"{file.name}*"):
            left.unlink()
    else:
        async with database.engine.begin() as connection:
            await connection.execute(text("DROP SCHEMA public CASCADE"))
            await connection.execute(text("CREATE SCHEMA public"))
    await database.close()


async def _opened(url: str) -> int:
    """Open the user space; the number of user spaces that there are. The schema is whole and has one version."""
    database = Database(url)
    try:
        async with database.engine.connect() as connection:
            assert await connection.run_sync(_differences) == []
            versions = (await connection.execute(text("SELECT version_num FROM alembic_version"))).all()
        assert [row[0] for row in versions] == [newest_revision()]
        async with database.write(Scope("local", "personal")) as tx:
            await spaces.open_space(tx, "test")
            return await tx.session.scalar(select(func.count()).select_from(SpaceRow)) or 0
    finally:
        await database.close()


async def test_a_row_is_read_once_in_a_transaction(plane: Plane) -> None:
    """I1: what a unit of work has read or written is the same row for all of it, also after a part was taken back."""
    key = (plane.scope.user_space, plane.scope.domain)
    asked: list[str] = []
    event.listen(plane.database.engine.sync_engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
    async with plane.database.write(plane.scope) as tx:
        before = (await spaces.space_of(tx)).next_position
        begun = len(asked)
        assert (await spaces.space_of(tx)).next_position == before
        assert await spaces.next_position(tx) == before
        assert len(asked) == begun
        part = await tx.session.begin_nested()
        await spaces.next_position(tx)
        await tx.session.flush()
        await part.rollback()
        row = await tx.session.get(SpaceRow, key)
        assert row is not None
        assert row.next_position == before + 1
    assert (await plane.only(SpaceRow)).next_position == before + 1


async def test_sqlite_is_opened_as_the_architecture_says(tmp_path: Path) -> None:
    """Issue 2, control plane: WAL, synchronous FULL, foreign keys on, a busy time-out; on every connection."""
    database = Database(f"sqlite+aiosqlite:///{tmp_path}/steward.sqlite")
    async with database.engine.connect() as one, database.engine.connect() as two:
        for connection in (one, two):
            found = [
                await connection.scalar(text(f"PRAGMA {name}"))
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            ]
            assert found == ["wal", 2, 1, 15_000]
    await database.close()


async def test_an_exception_takes_everything_back(plane: Plane) -> None:
    """I1: rows, numbers, notices and outbox entries of a unit of work are there together or not at all."""

    async def write_and_fail() -> None:
        async with plane.database.write(plane.scope) as tx:
            await spaces.next_position(tx)
            outbox.post(tx, outbox.TASK_START, "task_1")
            changes.notify(tx, "activity")
            await tx.session.flush()
            raise KeyError

    with pytest.raises(KeyError):
        await write_and_fail()
    assert await plane.rows(OutboxRow) == []
    assert await plane.rows(ChangeRow) == []
    assert (await plane.only(SpaceRow)).next_position == 1


async def test_writers_of_a_space_follow_each_other(plane: Plane, prepared_url: str) -> None:
    """C1, I2: read and write in one unit of work, over many connections, loses no update."""
    databases = [Database(prepared_url) for _ in range(4)]

    async def take(database: Database) -> int:
        async with database.write(plane.scope) as tx:
            position = (await spaces.space_of(tx)).next_position
            await asyncio.sleep(0)
            return position if await spaces.next_position(tx) == position else -1

    taken = await asyncio.gather(*(take(database) for database in databases for _ in range(5)))
    await asyncio.gather(*(database.close() for database in databases))
    assert sorted(taken) == list(range(1, 21))


async def test_a_reader_does_not_wait_for_a_writer(plane: Plane, prepared_url: str) -> None:
    """Issue 2: while a unit of work is open, others read what was committed before."""
    reading = Database(prepared_url)
    async with plane.database.write(plane.scope) as tx:
        await spaces.next_position(tx)
        await tx.session.flush()
        async with reading.read(plane.scope) as seen:
            assert (await spaces.space_of(seen)).next_position == 1
    async with reading.read(plane.scope) as seen:
        assert (await spaces.space_of(seen)).next_position == 2
    await reading.close()


async def test_foreign_keys_hold(plane: Plane) -> None:
    """Issue 2: no row points to nothing, on either database."""
    with pytest.raises(Exception, match=r"(?i)foreign key"):
        async with plane.database.write(plane.scope) as tx:
            await tx.session.execute(
                text(
                    "INSERT INTO messages (session_id, seq, role, origin, text, time, interrupted) "
                    "VALUES ('session_never', 1, 'user', 'user', 'x', '2026-01-01 00:00:00+00:00', false)"
                )
            )


def test_times_without_a_zone_are_not_stored() -> None:
    """api.md: times are points in time; a naive one is a mistake of the program."""
    with pytest.raises(ValueError, match="without a zone"):
        UtcTime().process_bind_param(datetime(2026, 1, 1), None)  # type: ignore[arg-type]  # noqa: DTZ001


async def test_times_come_back_in_utc_to_the_microsecond(plane: Plane) -> None:
    """A14, api.md: a stored time is the same point in time, whatever zone it was written in."""
    at = datetime(2026, 3, 29, 3, 30, 15, 123_456, timezone(timedelta(hours=2)))
    async with plane.database.write(plane.scope) as tx:
        (await spaces.space_of(tx)).created_at = at
    found = (await plane.only(SpaceRow)).created_at
    assert found == at
    assert found.tzinfo is UTC or found.utcoffset() == timedelta(0)


async def test_a_space_is_opened_once(plane: Plane) -> None:
    """H6, H7: the main session is for ever; a changed composition counts one generation, the same one none."""
    generations = []
    for composition in ("test", "other", "other", "test"):
        async with plane.database.write(plane.scope) as tx:
            space = await spaces.open_space(tx, composition)
            assert space.main_session_id == plane.main_session_id
            generations.append(space.graph_generation)
    assert generations == [1, 2, 2, 3]


@pytest.mark.parametrize("missing", [SessionRow, SpaceRow])
async def test_a_missing_main_session_is_said(plane: Plane, missing: type[Table]) -> None:
    """H6: nothing new is made in its place."""
    async with plane.database.write(plane.scope) as tx:
        for row in (await tx.session.scalars(select(missing).where(text("user_space = :space")).params(
            space=plane.scope.user_space
        ))).all():  # fmt: skip
            await tx.session.delete(row)
    with pytest.raises(Exception, match="main_session_missing"):
        async with plane.database.write(plane.scope) as tx:
            await spaces.open_space(tx, "test")
    async with plane.database.read(plane.scope) as tx:
        count = select(func.count()).select_from(SpaceRow).where(SpaceRow.user_space == plane.scope.user_space)
        assert await tx.session.scalar(count) == (1 if missing is SessionRow else 0)


async def test_the_outbox_is_relayed_in_order_and_once(plane: Plane, other: Plane) -> None:
    """C2, I8: oldest first, only of this space; done entries do not come back; postponed ones wait without blocking."""
    async with other.database.write(other.scope) as tx:
        outbox.post(tx, outbox.TASK_START, "foreign")
    async with plane.database.write(plane.scope) as tx:
        for number in range(4):
            outbox.post(tx, outbox.TASK_START if number == 1 else outbox.CONVERSATION_WAKE, f"subject-{number}")
            await tx.session.flush()

    async def due(limit: int = 10, without: tuple[str, ...] = ()) -> list[OutboxRow]:
        async with plane.database.read(plane.scope) as tx:
            return list(await outbox.due(tx, limit, without=without))

    first, second, third, fourth = await due()
    assert [row.subject_id for row in (first, second, third, fourth)] == [f"subject-{number}" for number in range(4)]
    assert [row.entry_id for row in await due(2)] == [first.entry_id, second.entry_id]
    assert second.entry_id not in [row.entry_id for row in await due(without=(outbox.TASK_START,))]
    async with plane.database.write(plane.scope) as tx:
        await outbox.done(tx, [first.entry_id])
        await outbox.postpone(tx, third.entry_id, 3600.0)
    assert [row.entry_id for row in await due()] == [second.entry_id, fourth.entry_id]
    assert (await plane.only(OutboxRow, OutboxRow.entry_id == third.entry_id)).tries == 1
    async with plane.database.read(plane.scope) as tx:
        depth, oldest = await outbox.depth(tx)
    assert depth == 3
    assert oldest is not None


async def test_notices_are_read_once_in_order(plane: Plane, other: Plane) -> None:
    """H13, I8: after a revision come only newer ones, of this space; revisions are never used again."""
    async with other.database.write(other.scope) as tx:
        changes.notify(tx, "foreign")
    async with plane.database.write(plane.scope) as tx:
        before = await changes.newest(tx)
        changes.notify(tx, "tasks", task_id="task_1", state=None)
        await tx.session.flush()
        changes.notify(tx, "activity")
    async with plane.database.read(plane.scope) as tx:
        rows = await changes.since(tx, before)
        assert [(row.topic, row.body) for row in rows] == [("tasks", {"task_id": "task_1"}), ("activity", {})]
        assert await changes.since(tx, rows[0].revision) == [rows[1]]
        assert [row.topic for row in await changes.since(tx, before, limit=1)] == ["tasks"]


async def test_old_notices_are_forgotten_and_revisions_go_on(plane: Plane) -> None:
    """H13: pruning does not make a client's revision name something new."""
    async with plane.database.write(plane.scope) as tx:
        changes.notify(tx, "old")
        await tx.session.flush()
        [old] = (await tx.session.scalars(select(ChangeRow).where(ChangeRow.topic == "old"))).all()
        old.created_at = tx.now - timedelta(minutes=11)
        revision = old.revision
    async with plane.database.write(plane.scope) as tx:
        await changes.prune(tx)
    assert await plane.rows(ChangeRow) == []
    async with plane.database.write(plane.scope) as tx:
        changes.notify(tx, "new")
    assert (await plane.only(ChangeRow)).revision > revision


async def test_workers_are_heard(plane: Plane) -> None:
    """O10: the newest sign of life counts; a worker has one row, however often it is heard."""
    async with plane.database.write(plane.scope) as tx:
        await workers.heard(tx, plane.scope.user_space, "queue")
    async with plane.database.write(plane.scope) as tx:
        await workers.heard(tx, plane.scope.user_space, "queue")
        assert await workers.last_heard(tx) == tx.now
    assert len(await plane.rows(WorkerRow, WorkerRow.worker_id == plane.scope.user_space)) == 1
