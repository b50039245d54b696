"""`steward audit verify` (A14): the first broken place of a whole chain is found, also where its end was cut off."""

from collections.abc import Sequence

import pytest
from alembic import command
from sqlalchemy import delete, text, update

from store import audit, audit_check
from store.audit import Decision
from store.audit_check import Break, ChainCheck, check_chain
from store.database import Database, Scope
from store.schema import alembic_config, prepare
from store.tables_audit import AuditHeadRow
from store.tables_authority import AuditRow
from tests.control_plane import Plane


async def decide(plane: Plane, count: int) -> None:
    async with plane.database.write(plane.scope) as tx:
        await audit.record_all(tx, [Decision("gate", f"effect_{at}", "allow", "owner") for at in range(count)])


async def check(plane: Plane) -> ChainCheck:
    async with plane.database.read(plane.scope) as tx:
        return await check_chain(tx)


async def rows(plane: Plane) -> Sequence[AuditRow]:
    return await plane.rows(AuditRow)


async def cut(plane: Plane, *sequences: int) -> None:
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(
            delete(AuditRow).where(AuditRow.user_space == plane.scope.user_space, AuditRow.sequence.in_(sequences))
        )


async def rewrite(plane: Plane, rows: Sequence[AuditRow]) -> None:
    """Put these rows in the place of those with their sequences."""
    async with plane.database.write(plane.scope) as tx:
        for row in rows:
            values = {"subject_id": row.subject_id, "previous_hash": row.previous_hash, "hash": row.hash}
            own = (AuditRow.user_space == plane.scope.user_space) & (AuditRow.sequence == row.sequence)
            await tx.session.execute(update(AuditRow).where(own).values(values))


async def test_no_chain_and_a_whole_one_hold(plane: Plane, other: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """A14, I8: chains of several pages hold, each space's by itself."""
    monkeypatch.setattr(audit_check, "PAGE", 3)
    monkeypatch.setattr(audit, "BATCH", 2)
    assert (await check(plane)).rows == 0
    assert (await check(plane)).holds
    for count in (1, 5, 1):
        await decide(plane, count)
    await decide(other, 2)
    found = await check(plane)
    assert found.holds
    assert (found.rows, found.hash) == (7, (await rows(plane))[-1].hash)
    assert (await check(other)).rows == 2


@pytest.mark.parametrize(
    ("missing", "at", "problem"),
    [
        ((1,), 1, Break.MISSING),
        ((3,), 3, Break.MISSING),
        ((2, 3), 2, Break.MISSING),
        ((5,), 5, Break.CUT_OFF),
        ((4, 5), 4, Break.CUT_OFF),
        ((1, 2, 3, 4, 5), 1, Break.CUT_OFF),
    ],
)
async def test_missing_rows_are_found(plane: Plane, missing: tuple[int, ...], at: int, problem: Break) -> None:
    """A14: taken out of the middle, or cut off at the end; what comes afterwards does not heal it."""
    await decide(plane, 5)
    await cut(plane, *missing)
    found = await check(plane)
    assert (found.broken_at, found.problem, found.rows) == (at, problem, at - 1)
    await decide(plane, 1)
    after = await check(plane)
    assert (after.broken_at, after.holds) == (at, False)


async def test_a_changed_row_is_found(plane: Plane) -> None:
    """A14: the first broken place is the row itself, whatever else is wrong behind it."""
    await decide(plane, 5)
    [second] = [row for row in await rows(plane) if row.sequence == 2]
    second.subject_id = "another"
    await rewrite(plane, [second])
    await cut(plane, 4)
    found = await check(plane)
    assert (found.broken_at, found.problem, found.rows) == (2, Break.CHANGED, 1)


async def test_a_chain_that_was_computed_anew_is_found(plane: Plane) -> None:
    """A14: who changes a row and all hashes behind it has to know of the head record, too."""
    await decide(plane, 3)
    made = await rows(plane)
    made[0].subject_id = "another"
    before = audit.FIRST
    for row in made:
        row.previous_hash = before
        row.hash = before = audit.chain_hash(row)
    await rewrite(plane, made)
    assert audit.broken_at(await rows(plane)) is None
    found = await check(plane)
    assert (found.broken_at, found.problem, found.rows) == (3, Break.CHANGED, 2)


async def test_a_head_that_was_put_back_is_found(plane: Plane) -> None:
    """A14: rows that the head record does not know were added by somebody else, or by an older version."""
    await decide(plane, 2)
    head = await plane.only(AuditHeadRow)
    await decide(plane, 2)
    async with plane.database.write(plane.scope) as tx:
        own = AuditHeadRow.user_space == plane.scope.user_space
        await tx.session.execute(update(AuditHeadRow).where(own).values(sequence=head.sequence, hash=head.hash))
    found = await check(plane)
    assert (found.broken_at, found.problem) == (3, Break.NOT_IN_HEAD)
    await decide(plane, 1)
    assert (await check(plane)).holds
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(delete(AuditHeadRow).where(own))
    assert (await check(plane)).problem is Break.NOT_IN_HEAD


async def test_the_head_goes_with_its_row(plane: Plane) -> None:
    """A14, I1: a decision that is taken back takes its head with it."""

    async def record_and_fail() -> None:
        async with plane.database.write(plane.scope) as tx:
            await audit.record(tx, "gate", "effect_x", "allow", principal="owner")
            raise KeyError

    await decide(plane, 1)
    with pytest.raises(KeyError):
        await record_and_fail()
    found = await check(plane)
    assert (found.holds, found.rows) == (True, 1)


async def test_decisions_meanwhile_are_no_finding(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """A14: a chain that grows while it is walked holds, on both databases."""
    monkeypatch.setattr(audit_check, "PAGE", 2)
    await decide(plane, 4)
    async with plane.database.read(plane.scope) as tx:
        await tx.session.execute(text("SELECT 1"))
        walked = audit_check._rows(tx)
        first = await anext(walked)
        await decide(plane, 3)
        assert first.sequence == 1
        assert (await check_chain(tx)).holds
    assert (await check(plane)).rows == 7


async def test_a_chain_of_an_older_version_gets_its_head(database_url: str) -> None:
    """A14, O12: the migration that makes the head records knows where each chain ends; it goes on from there."""
    database = Database(database_url)
    plane = Plane(database, Scope("local", "personal"), "")
    other = Plane(database, Scope("other", "personal"), "")
    async with database.engine.connect() as connection:
        writing = await connection.execution_options(steward_write=True) if database.sqlite else connection
        await writing.run_sync(lambda opened: command.upgrade(alembic_config(opened), "0002"))
        await writing.commit()
    for space, count in ((plane, 3), (other, 1)):
        async with database.write(space.scope) as tx:
            before = audit.FIRST
            for at in range(1, count + 1):
                row = AuditRow(
                    user_space=space.scope.user_space, domain=space.scope.domain, sequence=at, at=tx.now, kind="gate",
                    subject_id=f"effect_{at}", principal="owner", verdict="allow", details={}, previous_hash=before,
                )  # fmt: skip
                row.hash = before = audit.chain_hash(row)
                tx.session.add(row)
    await prepare(database)
    for space, count in ((plane, 3), (other, 1)):
        assert (await check(space)) == ChainCheck(count, (await rows(space))[-1].hash)
        await decide(space, 1)
        assert (await check(space)).rows == count + 1
        await cut(space, count + 1)
        assert (await check(space)).problem is Break.CUT_OFF
    await database.close()
