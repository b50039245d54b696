"""Bringing the database to the current schema (O12): Alembic, forward only, one process at a time."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncConnection

from domain.refusal import refuse
from store.database import Database
from store.outage import AWAY, connected, connecting

if TYPE_CHECKING:
    from alembic.config import Config

MIGRATIONS = Path(__file__).parent / "migrations"
# Any number that nothing else in the database locks.
SCHEMA_LOCK = 7_302_026_111


async def prepare(database: Database) -> None:
    """Apply the migrations that are missing; processes that start together wait for each other.

    Raises:
        Refused: `invalid_params` when a newer version has migrated it; nothing is changed then.
            `orchestrator_unavailable` when the database cannot be used now.
    """
    async with AsyncExitStack() as stack:
        try:
            with connected(), connecting():
                writing = await _begun(database, stack)
        except AWAY as error:
            words = f"The database cannot be used now ({type(error.orig).__name__}). Is it there, and is there room?"
            raise refuse("orchestrator_unavailable", words) from error
        stored = await writing.run_sync(_stored_revision)
        if is_newer(stored):
            raise refuse(
                "invalid_params",
                f"The database has schema {stored}, and this version of Steward knows only up to {newest_revision()}. "
                "Start a newer version, or restore a backup from before the upgrade.",
            )
        if stored != newest_revision():
            await writing.run_sync(_upgrade)
        await writing.commit()


async def _begun(database: Database, stack: AsyncExitStack) -> AsyncConnection:
    """A connection that alone may change the schema."""
    connection = await stack.enter_async_context(database.engine.connect())
    if database.sqlite:
        writing = await connection.execution_options(steward_write=True)
        # Begun here, all of it is one transaction: Alembic would end its own after each migration on SQLite, and
        # another process would get between two of them.
        _ = await writing.begin()
        return writing
    await connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SCHEMA_LOCK})
    return connection


def newest_revision() -> str:
    """The revision that this version's migrations lead to; they are numbered, and each follows the one before."""
    return max(_revisions())


def is_newer(stored: str | None) -> bool:
    """Whether a database's revision is one that this version has no migration for: it only goes forward (O12)."""
    return stored is not None and stored not in _revisions()


def _revisions() -> set[str]:
    return {path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py")}


def _stored_revision(connection: Connection) -> str | None:
    """Most starts find the newest one, and need not wait for Alembic to be imported."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    stored: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return stored


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
