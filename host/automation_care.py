"""Looks for automations whose time has passed without a firing (U1, U4): an outage, or a schedule that has run dry;
and, once at the start, for schedules that no automation stands behind any more.

One broken row never holds up the others (U8): each is looked at by itself, and complained about once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

import structlog
from temporalio.client import Client
from temporalio.service import RPCError

from domain.refusal import Refused
from host.temporal_link import TemporalLink
from store import automation_recovery
from store.automation_runs import FiringRules
from store.database import Database, Scope
from store.outage import AWAY
from store.tables_automations import AutomationRow

EVERY_S: Final = 5.0
"""A look is one query and a few microseconds for each active automation, of which there are 200 at most."""
ORPHANS_AGAIN_S: Final = 30.0
"""A namespace that is new has no search attributes yet, and one that was away may be away again."""
log = structlog.get_logger()


class AutomationCare:
    """Catches up what is overdue, until cancelled."""

    def __init__(self, database: Database, scope: Scope, rules: FiringRules) -> None:
        self._database = database
        self._scope = scope
        self._rules = rules
        self._broken: set[str] = set()

    async def run(self) -> None:
        """Look for ever; a database that is away for a while is asked again."""
        while True:
            try:
                await self.look()
            except AWAY as error:
                log.warning("automations_wait_for_database", error=type(error.orig).__name__)
            await asyncio.sleep(EVERY_S)

    async def look(self) -> list[str]:
        """Look once; the ids of the automations that were caught up."""
        async with self._database.read(self._scope) as tx:
            active = await automation_recovery.active_automations(tx)
            passed_over = [row.automation_id for row in active if self._is_passed_over(row, tx.now)]
        return [automation_id for automation_id in passed_over if await self._caught_up(automation_id)]

    def _is_passed_over(self, row: AutomationRow, now: datetime) -> bool:
        try:
            return automation_recovery.is_passed_over(row, now)
        except Exception as error:
            self._complain(row.automation_id, error)
            return False

    async def _caught_up(self, automation_id: str) -> bool:
        try:
            async with self._database.write(self._scope) as tx:
                await automation_recovery.catch_up(tx, automation_id, self._rules)
        except AWAY:
            raise
        except Exception as error:
            self._complain(automation_id, error)
            return False
        self._broken.discard(automation_id)
        return True

    def _complain(self, automation_id: str, error: Exception) -> None:
        # Whatever is wrong with this row, the others have their times too.
        if automation_id not in self._broken:
            self._broken.add(automation_id)
            code = error.refusal.code if isinstance(error, Refused) else None
            log.warning("automation_broken", automation=automation_id, error=type(error).__name__, code=code)


async def remove_orphaned_schedules(
    temporal: TemporalLink, remove: Callable[[Client], Awaitable[int]], again_s: float = ORPHANS_AGAIN_S
) -> None:
    """Have the schedules taken away that nothing stands behind, once: tried until Temporal and the database answer."""
    client = await temporal.client()
    while True:
        try:
            await remove(client)
        except (RPCError, RuntimeError, *AWAY, Refused) as error:
            log.info("orphaned_schedules_not_looked_for", error=type(error).__name__)
        else:
            return
        await asyncio.sleep(again_s)
