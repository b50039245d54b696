"""What a damaged file, or another program, leaves in a row, for tests of what goes on all the same (U8)."""

from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy import text

from tests.control_plane import Plane

Damage = Callable[[Plane, str, str, str, str], Awaitable[None]]


@pytest.fixture(params=["garbage", "", "12.5", "2026-02-30 00:00:00"])
def damage(request: pytest.FixtureRequest) -> Damage:
    """A function that leaves something in the place of a time: table, column, key and its value.

    SQLite holds whatever is written there. PostgreSQL refuses what is no time, but for its infinity.
    """

    async def leave(plane: Plane, table: str, column: str, key: str, value: str) -> None:
        garbage = request.param if plane.database.sqlite else "infinity"
        how = ":garbage" if plane.database.sqlite else "CAST(CAST(:garbage AS TEXT) AS TIMESTAMPTZ)"
        async with plane.database.write(plane.scope) as tx:
            statement = text(f"UPDATE {table} SET {column} = {how} WHERE {key} = :value")
            await tx.session.execute(statement, {"garbage": garbage, "value": value})

    return leave
