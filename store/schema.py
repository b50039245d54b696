"""Bringing the database to the current schema (O12): Alembic, forward only, one process at a time."""

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from store.database import Database

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
# Any number that nothing else in the database locks.
SCHEMA_LOCK = 7_302_026_111


async def prepare(database: Database) -> None:
    """Apply the migrations that are missing; processes that start together wait for each other."""
    async with database.engine.connect() as connection:
        if database.sqlite:
            writing = await connection.execution_options(steward_write=True)
            # Begun here, all of it is one transaction: Alembic would end its own after each migration on SQLite, and
            # another process would get between two of them.
            _ = await writing.begin()
        else:
            writing = connection
            await writing.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SCHEMA_LOCK})
        if not await writing.run_sync(_is_current):
            await writing.run_sync(_upgrade)
        await writing.commit()


def newest_revision() -> str:
    """The revision that this version's migrations lead to; they are numbered, and each follows the one before."""
    return max(path.name for path in (MIGRATIONS / "versions").glob("[0-9]*.py")).partition("_")[0]


def _is_current(connection: Connection) -> bool:
    """Most starts find it so, and need not wait for Alembic to be imported."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    return connection.scalars(text("SELECT version_num FROM alembic_version")).all() == [newest_revision()]


def _upgrade(connection: Connection) -> None:
    from alembic import command

    command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: Connection) -> "Config":
    """Alembic's configuration on an open connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
