"""Bringing the database to the current schema (O12): Alembic, forward only, one process at a time."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from store.database import Database

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
        await writing.run_sync(_upgrade)
        await writing.commit()


def _upgrade(connection: Connection) -> None:
    command.upgrade(alembic_config(connection), "head")


def alembic_config(connection: Connection) -> Config:
    """Alembic's configuration on an open connection."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config
