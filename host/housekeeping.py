"""What a host forgets from time to time: old notices, relayed entries, old news, old records of firings (U8), uploads
that were not used for 24 hours (C9).
"""

import asyncio
from typing import Final

import structlog

from adapters.file_access import FileAccessError
from adapters.managed_files import ManagedFiles
from store import attachments, attention_ends, automation_pruning, changes, outbox
from store.database import Database, Scope
from store.outage import AWAY

EVERY_S: Final = 300.0
FIRINGS_AT_ONCE: Final = 500
"""Records of firings that are forgotten in one transaction: a few milliseconds, in which nobody else can write."""
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
    await forget_firings(database, scope)


async def forget_firings(database: Database, scope: Scope, at_once: int = FIRINGS_AT_ONCE) -> None:
    """Forget all old records of firings, some at a time, so that whoever wants to write comes in between."""
    async with database.read(scope) as tx:
        automations = await automation_pruning.grown(tx)
    for automation_id in automations:
        earlier: list[str] = []
        while True:
            async with database.read(scope) as tx:
                found = await automation_pruning.forgettable(tx, automation_id, at_once)
            # Found again, something has come to refer to them since: they wait for the next time.
            if not found or found == earlier:
                break
            async with database.write(scope) as tx:
                await automation_pruning.forget(tx, found)
            earlier = found


async def keep_house(database: Database, scope: Scope, files: ManagedFiles) -> None:
    """Forget every five minutes until cancelled."""
    while True:
        try:
            await forget_old(database, scope, files)
        except (*AWAY, FileAccessError) as error:
            log.warning("housekeeping_failed", error=type(error).__name__)
        await asyncio.sleep(EVERY_S)
