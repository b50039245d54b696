"""Check of what Temporal schedules against what there are automations for (O5, U1)."""

import asyncio
from typing import Final

from asyncpg import PostgresError
from sqlalchemy.exc import SQLAlchemyError
from temporalio.service import RPCError

from domain.refusal import Refused
from host.cli.finding import Finding
from host.cli.login_link import database_exists
from runtime.orphaned_schedules import orphaned_schedules
from runtime.settings import Settings
from runtime.temporal_client import connect
from store.database import Database, Scope

LIMIT_S: Final = 5.0


async def check_schedules(settings: Settings) -> list[Finding]:
    """Schedules that no automation stands behind; nothing is said where Temporal or the database cannot be asked.

    That they do not answer is for the checks of their own.
    """
    if not database_exists(settings):
        return []
    database = Database(settings.effective_database_url)
    try:
        async with asyncio.timeout(LIMIT_S):
            client = await connect(settings)
            found = await orphaned_schedules(client, database, Scope(settings.user_space, settings.product_domain))
    except (Refused, RPCError, TimeoutError, SQLAlchemyError, PostgresError, OSError):
        return []
    finally:
        await database.close()
    if not found:
        return [Finding("schedules", "ok", "each belongs to an automation")]
    words = f"{len(found)} in Temporal belong to no automation that fires"
    return [Finding("schedules", "warning", words, "The host takes them away when it starts; their work is not done.")]
