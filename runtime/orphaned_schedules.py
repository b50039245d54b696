"""Temporal schedules without an automation that fires (U1): rows are the truth, so such a schedule goes.

It is left behind where SQL was restored from before its automation was made, or lost; and, with the row there, where
Temporal was restored from before the automation ended. The hard thing is to take away none that is wanted: Temporal is
asked first and SQL after it, since a row is always there before its schedule.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import structlog
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.schedule_sync import AutomationSchedules
from contracts.names import automation_schedule
from contracts.search_attributes import DOMAIN, KIND, USER_SPACE
from store import automation_plans, automation_recovery
from store.automation_runs import FiringRules
from store.database import Database, Scope

RPC_TIMEOUT: Final = timedelta(seconds=5)
log = structlog.get_logger()


async def orphaned_schedules(client: Client, database: Database, scope: Scope) -> Mapping[str, bool]:
    """The automations of this scope whose schedule is there and should not be; each with whether it has a row.

    Raises:
        RPCError: Temporal does not answer, or does not know the search attributes yet.
    """
    listed = await _listed(client, scope)
    async with database.read(scope) as tx:
        states = await automation_recovery.states_of(tx, listed)
    return {
        automation_id: automation_id in states
        for automation_id in listed
        if states.get(automation_id) not in automation_plans.SCHEDULED
    }


async def remove_orphaned(client: Client, database: Database, scope: Scope, rules: FiringRules) -> int:
    """Take the schedules away that nothing stands behind; how many there were. Harmless when repeated.

    Raises:
        RPCError: as `orphaned_schedules`.
    """
    found = await orphaned_schedules(client, database, scope)
    for automation_id, has_row in found.items():
        if has_row:
            # Its owner may give it another time just now: whoever follows the row has the last word.
            await AutomationSchedules(database, client, rules).sync(scope, automation_id)
        else:
            await _delete(client, automation_id)
        log.warning("orphaned_schedule_removed", automation=automation_id, has_row=has_row)
    return len(found)


async def _listed(client: Client, scope: Scope) -> list[str]:
    """The automations that have schedules in Temporal, as far as its list is up to date."""
    prefix = automation_schedule("")
    wanted = {KIND: "automation", USER_SPACE: scope.user_space, DOMAIN: scope.domain}
    query = " AND ".join(f"{key.name} = '{value}'" for key, value in wanted.items())
    listed = await client.list_schedules(query, rpc_timeout=RPC_TIMEOUT)
    return [one.id.removeprefix(prefix) async for one in listed if one.id.startswith(prefix)]


async def _delete(client: Client, automation_id: str) -> None:
    try:
        await client.get_schedule_handle(automation_schedule(automation_id)).delete(rpc_timeout=RPC_TIMEOUT)
    except RPCError as error:
        # The list is late, or somebody else was faster.
        if error.status is not RPCStatusCode.NOT_FOUND or error.message.lower().startswith("namespace"):
            raise
