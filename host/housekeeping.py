"""What a host forgets from time to time: old notices, relayed entries, old news, uploads unused for 24 hours (C9)."""

import asyncio
from typing import Final

import structlog
from sqlalchemy.exc import InterfaceError, OperationalError

from adapters.file_access import FileAccessError
from adapters.managed_files import ManagedFiles
from store import attachments, attention_ends, changes, outbox
from store.database import Database, Scope

EVERY_S: Final = 300.0
log = structlog.get_logger()


async def forget_old(database: Database, scope: Scope, files: ManagedFiles) -> None:
    """Forget once. Rows go first: bytes without a row are swept, a row never lacks its bytes."""
    async with database.write(scope) as tx:
        await changes.prune(tx)
        await outbox.prune(tx)
        await attention_ends.prune(tx)
        await attachments.forget_unused(tx)
        kept = await attachments.kept_ids(tx)
    await asyncio.to_thread(files.attachments.sweep, kept, attachments.UNUSED_FOR)


async def keep_house(database: Database, scope: Scope, files: ManagedFiles) -> None:
    """Forget every five minutes until cancelled."""
    while True:
        try:
            await forget_old(database, scope, files)
        except (OperationalError, InterfaceError, FileAccessError) as error:
            log.warning("housekeeping_failed", error=type(error).__name__)
        await asyncio.sleep(EVERY_S)
