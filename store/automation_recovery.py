"""Automations after an outage (U1, U4): schedules are supplied again, firings followed again, missed times decided.

Temporal knows only the next instants of each automation; whatever it never heard of is found here, in the rows.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import select

from domain.automation import AutomationState
from domain.automation_firing import FiringState
from store import automation_plans, outbox
from store.automation_runs import FiringRules
from store.database import Transaction
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_host import OutboxRow

PASSED_OVER: Final = timedelta(seconds=5)
"""A time that its schedule has not brought within this is decided without it: Temporal passes over what falls between
its last look and an update, and one that is not there brings nothing. Both deciding the same time is harmless."""


async def tell_again(tx: Transaction) -> None:
    """Post what every automation's schedule and every firing that has not ended need; what waits already stays."""
    scheduled = select(AutomationRow.automation_id).where(
        AutomationRow.user_space == tx.scope.user_space,
        AutomationRow.domain == tx.scope.domain,
        AutomationRow.state.in_(automation_plans.SCHEDULED),
    )
    await _post_missing(tx, outbox.AUTOMATION_SYNC, (await tx.session.scalars(scheduled)).all())
    open_runs = (
        select(AutomationRunRow.run_id)
        .join(AutomationRow, AutomationRow.automation_id == AutomationRunRow.automation_id)
        .where(
            AutomationRow.user_space == tx.scope.user_space,
            AutomationRow.domain == tx.scope.domain,
            AutomationRunRow.state.in_([FiringState.RAN.value, FiringState.BUFFERED.value]),
            AutomationRunRow.ended_at.is_(None),
        )
    )
    await _post_missing(tx, outbox.AUTOMATION_FOLLOW, (await tx.session.scalars(open_runs)).all())


async def states_of(tx: Transaction, automation_ids: Collection[str]) -> dict[str, str]:
    """How these automations stand, by their ids; what has no row in this scope is not among them."""
    query = select(AutomationRow.automation_id, AutomationRow.state).where(
        AutomationRow.user_space == tx.scope.user_space,
        AutomationRow.domain == tx.scope.domain,
        AutomationRow.automation_id.in_(automation_ids),
    )
    return {automation_id: state for automation_id, state in (await tx.session.execute(query)).all()}


async def active_automations(tx: Transaction) -> list[AutomationRow]:
    """The active automations, oldest first."""
    query = (
        select(AutomationRow)
        .where(
            AutomationRow.user_space == tx.scope.user_space,
            AutomationRow.domain == tx.scope.domain,
            AutomationRow.state == AutomationState.ACTIVE.value,
        )
        .order_by(AutomationRow.automation_id)
    )
    return list(await tx.session.scalars(query))


def is_passed_over(row: AutomationRow, now: datetime) -> bool:
    """Whether a time of an automation was passed over: it is undecided, and maybe its schedule has run dry.

    Raises:
        Refused: `invalid_params` for a stored schedule that this version cannot read (U8).
    """
    return automation_plans.is_due(row, now - PASSED_OVER)


async def catch_up(tx: Transaction, automation_id: str, rules: FiringRules) -> None:
    """Decide what was passed over (U4), and have the schedule supplied again.

    Raises:
        Refused: as `is_passed_over`.
    """
    await automation_plans.settle_due(tx, automation_id, rules)
    await _post_missing(tx, outbox.AUTOMATION_SYNC, [automation_id])


async def _post_missing(tx: Transaction, kind: str, subjects: Iterable[str]) -> None:
    waiting = select(OutboxRow.subject_id).where(
        OutboxRow.user_space == tx.scope.user_space,
        OutboxRow.domain == tx.scope.domain,
        OutboxRow.done_at.is_(None),
        OutboxRow.kind == kind,
    )
    known = set(await tx.session.scalars(waiting))
    for subject in sorted(set(subjects) - known):
        outbox.post(tx, kind, subject)
