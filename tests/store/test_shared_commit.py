"""Units of work that share a commit (I1, decision 0014): each all or nothing, acknowledged when it is stored."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from store.database import Database, Scope, Transaction
from store.schema import prepare
from store.shared_commit import MOST

SCOPE = Scope("local", "personal")
OUTBOX = (
    "INSERT INTO outbox (entry_id, user_space, domain, kind, subject_id, created_at, due_at, tries) "
    "VALUES (:number, 'local', 'personal', 'test', :subject, '2026-01-01', '2026-01-01', 0)"
)
ROUNDS, UNITS, STEPS = 60, 6, 40


class Unit:
    """A unit of work that writes two rows, stays inside until it is let go, and ends in one way or another."""

    def __init__(self, database: Database, number: int, *, fails: bool = False) -> None:
        self.number = number
        self.inside, self.may_end = asyncio.Event(), asyncio.Event()
        self._database, self._fails = database, fails
        self.task = asyncio.create_task(self._run())

    @property
    def rows(self) -> list[int]:
        return [10 * self.number, 10 * self.number + 1]

    async def _run(self) -> None:
        async with self._database.write(SCOPE) as tx:
            await put(tx, self.rows[0])
            self.inside.set()
            await self.may_end.wait()
            await put(tx, self.rows[1])
            if self._fails:
                raise KeyError


async def put(tx: Transaction, number: int) -> None:
    await tx.session.execute(text(OUTBOX), {"number": number, "subject": "any"})


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A prepared database of its own."""
    opened = Database(f"sqlite+aiosqlite:///{tmp_path}/steward.sqlite")
    await prepare(opened)
    yield opened
    await opened.close()


@contextmanager
def transactions(database: Database) -> Iterator[list[None]]:
    """One entry for each write transaction that is begun inside of the block."""
    begun: list[None] = []

    def note(connection: object) -> None:
        if connection.get_execution_options().get("steward_write"):  # type: ignore[attr-defined]
            begun.append(None)

    event.listen(database.engine.sync_engine, "begin", note)
    try:
        yield begun
    finally:
        event.remove(database.engine.sync_engine, "begin", note)


async def stored(database: Database) -> list[int]:
    async with database.read(SCOPE) as tx:
        return list(await tx.session.scalars(text("SELECT entry_id FROM outbox ORDER BY entry_id")))


async def queued(database: Database, count: int, *, failing: frozenset[int] = frozenset()) -> list[Unit]:
    """Units of which the first is inside and the others queue behind it, in order."""
    units = [Unit(database, number, fails=number in failing) for number in range(count)]
    await units[0].inside.wait()
    assert not any(unit.inside.is_set() for unit in units[1:])
    return units


async def test_who_queues_shares_a_commit_and_who_is_alone_does_not_wait(database: Database) -> None:
    """I1: one transaction for all that came while it was open, up to its bound; a lone unit has one for itself."""
    with transactions(database) as begun:
        units = await queued(database, 2 * MOST + 1)
        for unit in units:
            unit.may_end.set()
        await asyncio.gather(*(unit.task for unit in units))
        assert len(begun) == 3
        assert await stored(database) == [row for unit in units for row in unit.rows]
        alone = Unit(database, 99)
        alone.may_end.set()
        await alone.task
        assert len(begun) == 4


async def test_nobody_is_told_before_the_commit(database: Database) -> None:
    """I1: a unit that has ended is neither acknowledged nor seen while another one is inside of its transaction."""
    first, second = await queued(database, 2)
    first.may_end.set()
    await second.inside.wait()
    assert not first.task.done()
    assert await stored(database) == []
    second.may_end.set()
    await asyncio.gather(first.task, second.task)
    assert await stored(database) == first.rows + second.rows


@pytest.mark.parametrize("failing", [{0}, {2}, {4}, {0, 1}, {1, 2, 3}, {0, 1, 2, 3, 4}], ids=str)
async def test_a_unit_that_fails_takes_back_its_own_rows(database: Database, failing: set[int]) -> None:
    """I1: first, last or between others; those are stored, and it is told."""
    units = await queued(database, 5, failing=frozenset(failing))
    for unit in units:
        unit.may_end.set()
    answers = await asyncio.gather(*(unit.task for unit in units), return_exceptions=True)
    assert [isinstance(answer, KeyError) for answer in answers] == [unit.number in failing for unit in units]
    assert await stored(database) == [row for unit in units if unit.number not in failing for row in unit.rows]


async def test_a_transaction_that_the_database_takes_back_is_told_to_all_in_it(database: Database) -> None:
    """I1: who had ended in it is not acknowledged; who comes later has another one."""
    first = Unit(database, 0)
    await first.inside.wait()

    async def lose() -> None:
        async with database.write(SCOPE) as tx:
            await tx.session.execute(text(OUTBOX.replace("INSERT", "INSERT OR ROLLBACK")), {"number": 0, "subject": ""})

    losing = asyncio.create_task(lose())
    last = Unit(database, 2)
    for unit in (first, last):
        unit.may_end.set()
    answers = await asyncio.gather(first.task, losing, last.task, return_exceptions=True)
    assert [type(answer) for answer in answers[:2]] == [OperationalError, OperationalError]
    assert answers[2] is None
    assert await stored(database) == last.rows


async def test_a_cancelled_unit_ends_nobody_else(database: Database) -> None:
    """I1: at whatever moment, in the queue, inside, or while the commit is on its way; the others are stored."""
    chance = random.Random(20)
    for already in range(ROUNDS):
        units = [Unit(database, UNITS * already + number) for number in range(UNITS)]
        for unit in units:
            unit.may_end.set()
        cancelled = chance.sample(units, chance.randint(1, UNITS))
        for unit in cancelled:
            for _ in range(chance.randint(0, STEPS)):
                await asyncio.sleep(0)
            unit.task.cancel()
        await asyncio.wait([unit.task for unit in units])
        there = set(await stored(database))
        for unit in units:
            assert there.issuperset(unit.rows) or there.isdisjoint(unit.rows)
            if unit.task.cancelled():
                assert unit in cancelled
            else:
                assert there.issuperset(unit.rows)
    begun = Unit(database, 99_999)
    begun.may_end.set()
    await begun.task
