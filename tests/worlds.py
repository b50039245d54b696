"""Databases that worlds use one after the other, each empty when a world opens.

A schema and compiled statements cost more than most tests of an effect; here they are made once. The hard thing is a
transaction that a failed test leaves open: the database cannot be emptied then, and the next world gets another one.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from sqlalchemy import Connection

from store.database import Database, new_id
from store.schema import prepare
from store.tables import Table
from tests.effect_world import World, open_world


class Worlds:
    """Opens worlds on databases of one kind, which live until `close`; one world at a time."""

    def __init__(self, new_url: Callable[[], Awaitable[str]]) -> None:
        """Take what names an empty database that is nobody else's."""
        self._new_url = new_url
        self._database: Database | None = None

    @asynccontextmanager
    async def open(self, home: Path) -> AsyncIterator[World]:
        """A world on an empty database whose schema the product's own migrations have made."""
        if self._database is None:
            self._database = Database(await self._new_url())
            await prepare(self._database)
        database, self._database = self._database, None
        database.ids = new_id
        try:
            yield await open_world(database, home)
        finally:
            # Everything of this world rests then; the engine remains, with the statements that it has compiled.
            await database.close()
        await _empty(database)
        self._database = database

    async def close(self) -> None:
        """Close the connections of the newest database."""
        if self._database is not None:
            await self._database.close()


async def _empty(database: Database) -> None:
    async with database.engine.connect() as connection:
        writing = await connection.execution_options(steward_write=True) if database.sqlite else connection
        await writing.run_sync(_delete_everything)
        await writing.commit()


def _delete_everything(connection: Connection) -> None:
    """Delete all rows and begin all counters again; only the schema's revision stays."""
    deletions = [f'DELETE FROM "{table.name}"' for table in reversed(Table.metadata.sorted_tables)]
    if connection.dialect.name == "sqlite":
        statements = ["PRAGMA defer_foreign_keys=ON", *deletions, "DELETE FROM sqlite_sequence"]
    else:
        restarts = "PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)"
        body = "; ".join([*deletions, f"{restarts} FROM pg_sequences"])
        statements = [
            "SET LOCAL lock_timeout = '15s'",
            "SET LOCAL session_replication_role = replica",
            f"DO $$ BEGIN {body}; END $$",
        ]
    for statement in statements:
        connection.exec_driver_sql(statement)
