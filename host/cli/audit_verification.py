"""Reads the audit chain straight from the control plane: a host that lies about it, or is stopped, changes nothing."""

from typing import Any

from asyncpg import PostgresError
from sqlalchemy.exc import SQLAlchemyError

from host.cli.failures import Unreachable
from host.cli.login_link import database_exists
from runtime.settings import Settings
from store.audit_check import Break, check_chain
from store.database import Database, Scope

Json = dict[str, Any]

_WORDS = {
    Break.CHANGED: "row {at} is not as it was written",
    Break.MISSING: "row {at} is missing",
    Break.CUT_OFF: "row {at} and what followed it were cut off",
    Break.NOT_IN_HEAD: "row {at} and what follows it were added past the head record, "
    "by a process of an older version or by somebody else's hand",
}


async def verification(settings: Settings) -> Json:
    """Check the chain of the settings' user space and product domain.

    Raises:
        Unreachable: When there is no database of this version, or it does not answer.
    """
    words = "There is no database of this version to read. Start the host by `steward up`, or see STEWARD_DATABASE_URL."
    if not database_exists(settings):
        raise Unreachable(words)
    database = Database(settings.effective_database_url)
    try:
        async with database.read(Scope(settings.user_space, settings.product_domain)) as tx:
            found = await check_chain(tx)
    except (SQLAlchemyError, PostgresError, OSError):
        raise Unreachable(words) from None
    finally:
        await database.close()
    return {
        "holds": found.holds,
        "rows": found.rows,
        "hash": found.hash,
        "broken_at": found.broken_at,
        "problem": None if found.problem is None else found.problem.value,
    }


def say(found: Json) -> str:
    """The same in words."""
    if found["holds"]:
        return f"The audit chain holds: {found['rows']} rows, the last with hash {found['hash']}."
    broken = _WORDS[Break(found["problem"])].format(at=found["broken_at"])
    return f"The audit chain is broken: {broken}. The {found['rows']} rows before it hold."
