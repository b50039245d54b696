"""Checks of the database: reachable, of this version's schema, its clock, worker heard, nothing stuck (O5)."""

from typing import Final

from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from asyncpg import PostgresError
from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from contracts.names import SHARED_QUEUE
from host.cli.finding import Finding
from host.cli.login_link import database_exists
from runtime.settings import Settings
from store.database import Database, Scope, Transaction
from store.figures import Figures, figures, worker_heard
from store.schema import MIGRATIONS, is_newer

CLOCK_TOLERANCE_S: Final = 5.0
STUCK_AFTER_S: Final = 60.0
SILENT_AFTER_S: Final = 300.0
"""Longer than any effect may take; a model or engine at work is heard of every ten seconds."""


async def check_database(settings: Settings) -> list[Finding]:
    """Everything that a read of the database tells."""
    if not database_exists(settings):
        return [Finding("database", "failed", "there is none yet", "The first `steward up` makes it.")]
    database = Database(settings.effective_database_url)
    kind = "SQLite" if database.sqlite else "PostgreSQL"
    try:
        async with database.engine.connect() as connection:
            current = await connection.run_sync(_revision)
        newest = ScriptDirectory(str(MIGRATIONS)).get_current_head()
        if current != newest:
            words = f"{kind}: its schema is {current or 'missing'}, this version needs {newest}"
            mend = "Start a newer version." if is_newer(current) else "Start `steward up` of this version; it migrates."
            return [Finding("database", "failed", words, mend)]
        async with database.read(Scope(settings.user_space, settings.product_domain)) as tx:
            return [
                Finding("database", "ok", f"{kind} answers; schema {current}"),
                await _clock(tx, sqlite=database.sqlite),
                await _worker(tx),
                *await _stuck(tx),
            ]
    except (SQLAlchemyError, PostgresError, OSError) as error:
        mend = "Check STEWARD_DATABASE_URL and that the server runs." if not database.sqlite else "Check the disk."
        return [Finding("database", "failed", f"{kind} does not answer ({type(error).__name__})", mend)]
    finally:
        await database.close()


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


async def _clock(tx: Transaction, *, sqlite: bool) -> Finding:
    """Compare this machine's clock with a database server's; SQLite has none of its own."""
    if sqlite:
        return Finding("clock", "ok", f"{tx.now:%Y-%m-%d %H:%M:%S} UTC; everything runs on this machine's clock")
    there = await tx.session.scalar(text("SELECT clock_timestamp()"))
    apart = abs((there - tx.now).total_seconds()) if there is not None else 0.0
    if apart > CLOCK_TOLERANCE_S:
        words = f"this machine and the database differ by {apart:.0f} s"
        return Finding("clock", "failed", words, "Synchronise both clocks (NTP): expiries depend on them.")
    return Finding("clock", "ok", f"within {CLOCK_TOLERANCE_S:.0f} s of the database's")


async def _worker(tx: Transaction) -> Finding:
    if await worker_heard(tx, SHARED_QUEUE):
        return Finding("worker", "ok", "heard within 30 s")
    return Finding("worker", "failed", "none was heard within 30 s", "Start one by `steward up` or `steward worker`.")


async def _stuck(tx: Transaction) -> list[Finding]:
    read = await figures(tx)
    findings = []
    if read.outbox_age_s > STUCK_AFTER_S:
        words = f"{read.outbox_depth} accepted requests wait for Temporal, the oldest for {read.outbox_age_s:.0f} s"
        findings.append(Finding("outbox", "failed", words, "The host relays them once Temporal and the host run."))
    findings += without_progress(read)
    if unknown := read.effects.get("unknown", 0):
        words = f"the outcome of {unknown} effects is unknown"
        findings.append(Finding("effects", "warning", words, "Look at each, and settle it by agents.effects.settle."))
    return findings


def without_progress(read: Figures) -> list[Finding]:
    """What is neither at its end nor heard of, and since when (S9, T10)."""
    mend = "Look at its workflow in Temporal's page; a restart of the host starts again what was lost."
    silent = (
        ("tasks", "nothing was heard of a task at work", read.oldest_idle_task_s),
        ("stops", "a stop is not done", read.oldest_stop_s),
        ("deliveries", "a submitted delivery is not settled", read.oldest_submitted_s),
    )
    return [
        Finding(subject, "warning", f"{words} for {age_s:.0f} s", mend)
        for subject, words, age_s in silent
        if age_s > SILENT_AFTER_S
    ]
