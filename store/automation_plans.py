"""What an automation's Temporal schedule has to be (U1), read from the row: which instants come next, paused or gone.

The hard thing is how many instants: enough that one firing that could not renew them loses nothing, few enough that a
schedule of every second is no burden.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Final

from domain.automation import AutomationState
from domain.occurrences import instants_after, next_instants
from store.automation_runs import FiringRules, settle
from store.automations import automation_row, schedule_of_row
from store.database import Transaction
from store.tables_automations import AutomationRow

AHEAD: Final = 20
"""Instants that a renewed schedule has; it is renewed when half of them have passed, so at least 10 are there (U1)."""
AHEAD_FOR: Final = timedelta(minutes=10)
MOST_AHEAD: Final = 120
"""Short intervals get instants for ten minutes, or this many, so that a worker can be replaced meanwhile."""

LAST_YEAR: Final = 2100
"""A Temporal schedule takes no later year (tried); such a time is brought by the host's own look at the rows."""

SCHEDULED: Final = (AutomationState.ACTIVE.value, AutomationState.PAUSED.value)
"""Which have a schedule; a paused one keeps its own, since resuming is not the moment to find out that it was lost."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A schedule as it should be; `instants` is None where there should be none, because the automation has ended."""

    row: AutomationRow
    instants: tuple[datetime, ...] | None
    paused: bool


async def plan_of(tx: Transaction, automation_id: str) -> Plan:
    """The schedule that an automation should have now.

    Raises:
        Refused: `not_found`; `invalid_params` for a stored schedule that this version cannot read (U8).
    """
    row = await automation_row(tx, automation_id, deleted=True)
    if row.state not in SCHEDULED:
        return Plan(row, None, paused=False)
    return Plan(row, instants_ahead(row, tx.now), paused=row.state != AutomationState.ACTIVE.value)


def instants_ahead(row: AutomationRow, now: datetime) -> tuple[datetime, ...]:
    """The next instants of a row's schedule that Temporal is told."""
    schedule, after = schedule_of_row(row), max(now, row.decided_until)
    near = takewhile(lambda instant: instant <= now + AHEAD_FOR, instants_after(schedule, after))
    count = max(AHEAD, sum(1 for _ in islice(near, MOST_AHEAD)))
    return tuple(instant for instant in next_instants(schedule, after, count) if instant.year <= LAST_YEAR)


def is_due(row: AutomationRow, until: datetime) -> bool:
    """Whether an active automation has an undecided time up to `until`.

    Raises:
        Refused: `invalid_params` for a stored schedule that this version cannot read (U8).
    """
    if row.state != AutomationState.ACTIVE.value:
        return False
    coming = next_instants(schedule_of_row(row), row.decided_until, 1)
    return bool(coming) and coming[0] <= until


async def settle_due(tx: Transaction, automation_id: str, rules: FiringRules) -> None:
    """Decide what is due now and undecided: what Temporal passed over, because its schedule was just changed, say.

    Raises:
        Refused: as `plan_of`.
    """
    row = await automation_row(tx, automation_id, deleted=True)
    if row.state == AutomationState.ACTIVE.value:
        await settle(tx, row, tx.now, rules)
