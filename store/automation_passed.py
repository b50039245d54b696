"""Times that have passed and fire no more (U3, U4): one record of them all, before a write ends what they belong to.

The hard thing is that every time has exactly one record: those up to `decided_until` have theirs already.
"""

from dataclasses import replace

from domain.automation import AutomationState
from domain.automation_firing import FiringState, Reason, due_times
from domain.refusal import Refused
from store.automation_firings import decided_after, record
from store.automations import schedule_of_row
from store.database import Transaction
from store.tables_automations import AutomationRow


async def pass_over(tx: Transaction, row: AutomationRow, reason: Reason) -> None:
    """Record what is due under the row's schedule and undecided as skipped, and count from now on (U3, U4).

    Times of an automation that is paused were skipped for that, whatever ends its schedule now.
    """
    until = max(row.decided_until, tx.now)
    known = await decided_after(tx, row.automation_id, row.decided_until)
    try:
        due = due_times(schedule_of_row(row), row.decided_until, until, tx.now, 0, known)
    except Refused:
        due = []
    due = [each for each in due if each.nominal_time not in known]
    row.decided_until = until
    if due:
        passed = replace(due[-1], count=sum(each.count for each in due))
        paused = row.state == AutomationState.PAUSED.value
        why = Reason.PAUSED if paused else reason
        await record(tx, row, passed, FiringState.SKIPPED, why, row.schedule_revision)
