"""A one-time link for the page, written straight into the host's database (H19)."""

from pathlib import Path

from asyncpg import PostgresError
from sqlalchemy import make_url
from sqlalchemy.exc import SQLAlchemyError

from host.cli.failures import Unreachable
from host.cli.place import host_address
from runtime.settings import Settings
from store.database import Database, Scope
from store.identity import create_login_link


async def login_link(settings: Settings) -> str:
    """Return the address of a new link; it works once, for ten minutes.

    Raises:
        Unreachable: When there is no database yet, or it does not answer.
    """
    no_database = "The host's database does not answer. Start the host by `steward up`, or see STEWARD_DATABASE_URL."
    if not database_exists(settings):
        raise Unreachable(no_database)
    database = Database(settings.effective_database_url)
    try:
        async with database.write(Scope(settings.user_space, settings.product_domain)) as tx:
            token = await create_login_link(tx)
    except (SQLAlchemyError, PostgresError, OSError):
        raise Unreachable(no_database) from None
    finally:
        await database.close()
    return f"http://{host_address(settings)}/login?token={token}"


def database_exists(settings: Settings) -> bool:
    """Whether there is a database file; opening SQLite's would create it. A server's database is taken to be there."""
    url = make_url(settings.effective_database_url)
    return url.get_backend_name() != "sqlite" or Path(url.database or "").is_file()
