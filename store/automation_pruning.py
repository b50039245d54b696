"""Forgetting old records of firings (U8): each automation keeps what domain.automation_history says, and no more.

What to forget is looked for in a read, by index; it is forgotten in a short write that looks again whether something
refers to it. A record that has not ended, that a delivery is about, or that Temporal is yet to be told of, stays.
"""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select

from domain.automation import AutomationState
from domain.automation_history import KEPT, KEPT_ALWAYS, KEPT_AT_LEAST, KEPT_FOR
from domain.delivery import SETTLED
from store import outbox
from store.automations import automation_row
from store.database import Transaction
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_host import OutboxRow
from store.tables_work import DeliveryRow

_SETTLED = [state.value for state in SETTLED]


async def grown(tx: Transaction) -> list[str]:
    """The ids of automations that may have records to forget; one look at an index, since mostly there are none."""
    records, oldest = func.count(), func.min(AutomationRunRow.nominal_time)
    deleted = AutomationRow.state == AutomationState.DELETED.value
    query = (
        select(AutomationRow.automation_id)
        .join(AutomationRunRow, AutomationRunRow.automation_id == AutomationRow.automation_id)
        .where(AutomationRow.user_space == tx.scope.user_space, AutomationRow.domain == tx.scope.domain)
        .group_by(AutomationRow.automation_id)
        .having(or_(records > KEPT, and_(oldest < tx.now - KEPT_FOR, or_(records > KEPT_ALWAYS, deleted))))
    )
    return list(await tx.session.scalars(query))


async def forgettable(tx: Transaction, automation_id: str, limit: int) -> list[str]:
    """The ids of at most `limit` records of an automation that are kept no longer, the oldest first."""
    row = await automation_row(tx, automation_id, deleted=True)
    always = 0 if row.state == AutomationState.DELETED.value else KEPT_ALWAYS
    old = await _passed(tx, automation_id, always, tx.now - KEPT_FOR)
    many = await _passed(tx, automation_id, KEPT, tx.now - KEPT_AT_LEAST)
    before = max((time for time in (old, many) if time is not None), default=None)
    if before is None:
        return []
    query = (
        select(AutomationRunRow.run_id)
        .where(
            AutomationRunRow.automation_id == automation_id,
            AutomationRunRow.nominal_time <= before,
            *_ended_for_all(tx),
        )
        .order_by(AutomationRunRow.nominal_time)
        .limit(limit)
    )
    return list(await tx.session.scalars(query))


async def forget(tx: Transaction, run_ids: Sequence[str]) -> None:
    """Forget records that were found forgettable, but for those that something refers to by now."""
    await tx.session.execute(
        delete(AutomationRunRow)
        .where(AutomationRunRow.run_id.in_(run_ids), *_ended_for_all(tx))
        .execution_options(synchronize_session=False)
    )


async def _passed(tx: Transaction, automation_id: str, newest: int, before: datetime) -> datetime | None:
    """The last nominal time that is neither of the `newest` nor after `before`; None where there is none."""
    query = (
        select(AutomationRunRow.nominal_time)
        .where(AutomationRunRow.automation_id == automation_id)
        .order_by(AutomationRunRow.nominal_time.desc())
        .offset(newest)
        .limit(1)
    )
    time = await tx.session.scalar(query)
    return None if time is None else min(time, before)


def _ended_for_all(tx: Transaction) -> tuple[ColumnElement[bool], ...]:
    """Nothing is to come of it, and nobody refers to it: its notice reads it whenever it is told again."""
    run = AutomationRunRow
    about_it = exists().where(
        DeliveryRow.owner_kind == "automation",
        DeliveryRow.owner_id == run.automation_id,
        DeliveryRow.subject_id == run.run_id,
    )
    on_its_way = exists().where(
        DeliveryRow.owner_kind == "task",
        DeliveryRow.owner_id == run.task_id,
        DeliveryRow.requirement_version == run.requirement_version,
        DeliveryRow.state.not_in(_SETTLED),
    )
    to_be_told = exists().where(
        OutboxRow.user_space == tx.scope.user_space,
        OutboxRow.domain == tx.scope.domain,
        OutboxRow.done_at.is_(None),
        OutboxRow.kind == outbox.AUTOMATION_FOLLOW,
        OutboxRow.subject_id == run.run_id,
    )
    return (
        run.ended_at < tx.now - KEPT_AT_LEAST,
        or_(run.task_id.is_(None), ~on_its_way),
        ~about_it,
        ~to_be_told,
    )
