"""The audit chain (A14): whatever is changed, left out, added or moved is found."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest
from sqlalchemy import update

from store import audit
from store.tables_authority import AuditRow
from tests.control_plane import Plane


async def decisions(plane: Plane, count: int = 4) -> None:
    async with plane.database.write(plane.scope) as tx:
        for number in range(count):
            await audit.record(
                tx, "gate", f"effect_{number}", "allow" if number % 2 else "deny", principal="owner",
                code=None if number % 2 else "policy_denied", action_digest="0" * 64,
                details={"number": number, "text": "é", "none": None},
            )  # fmt: skip


async def chain(plane: Plane) -> Sequence[AuditRow]:
    return await plane.rows(AuditRow)


async def test_an_untouched_chain_holds(plane: Plane, other: Plane) -> None:
    """A14, I8: rows of each space link to each other from the first on, also as the database gives them back."""
    await decisions(plane, 2)
    await decisions(other)
    await decisions(plane, 2)
    for space in (plane, other):
        rows = await chain(space)
        assert [row.sequence for row in rows] == [1, 2, 3, 4]
        assert audit.broken_at(rows) is None
    assert audit.broken_at([]) is None


FIELDS: dict[str, Callable[[AuditRow], object]] = {
    "at": lambda row: row.at + timedelta(microseconds=1),
    "kind": lambda _: "other",
    "subject_id": lambda row: row.subject_id + "x",
    "principal": lambda _: "somebody",
    "verdict": lambda row: "deny" if row.verdict == "allow" else "allow",
    "code": lambda row: "x" if row.code is None else None,
    "action_digest": lambda _: "1" * 64,
    "details": lambda row: {**row.details, "number": 99},
    "previous_hash": lambda _: "2" * 64,
    "hash": lambda _: "3" * 64,
}


@pytest.mark.parametrize("field", FIELDS)
async def test_every_changed_field_is_found(plane: Plane, field: str) -> None:
    """A14: no field of a decision can be changed in the database without the chain breaking at that row."""
    await decisions(plane)
    third = (await chain(plane))[2]
    async with plane.database.write(plane.scope) as tx:
        statement = update(AuditRow).where(
            AuditRow.user_space == plane.scope.user_space, AuditRow.sequence == third.sequence
        )
        await tx.session.execute(statement.values({field: FIELDS[field](third)}))
    assert audit.broken_at(await chain(plane)) == 3


def test_no_column_is_outside_the_hash() -> None:
    """A14: a column that is added later has to be covered, too, or this fails."""
    assert {column.name for column in AuditRow.__table__.columns} == {*FIELDS, "user_space", "domain", "sequence"}


async def test_a_recomputed_row_breaks_the_one_after_it(plane: Plane) -> None:
    """A14: who changes a row and its hash has to change all later ones."""
    await decisions(plane)
    rows = await chain(plane)
    rows[1].verdict = "deny" if rows[1].verdict == "allow" else "allow"
    rows[1].hash = audit.chain_hash(rows[1])
    assert audit.broken_at(rows) == 3


async def test_left_out_moved_and_foreign_rows_are_found(plane: Plane, other: Plane) -> None:
    """A14: a row is missing at the front or in the middle, two are exchanged, or one is another space's."""
    await decisions(plane)
    await decisions(other)
    rows = list(await chain(plane))
    assert audit.broken_at(rows[1:]) == 2
    assert audit.broken_at([rows[0], *rows[2:]]) == 3
    assert audit.broken_at([rows[0], rows[2], rows[1], rows[3]]) == 3
    assert audit.broken_at([rows[0], (await chain(other))[1], *rows[2:]]) == 2
    assert audit.broken_at([*rows, rows[3]]) == 4
