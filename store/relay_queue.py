"""What the relay may tell Temporal next (C2): due entries in order, and only as many open tasks as are admitted.

An entry that was put off holds back what comes later about the same subject, and nothing else. Nothing is written
here but admissions, together with the marks of what was relayed: one commit per batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Subquery, and_, func, select, update

from domain.task import TaskState
from store import outbox
from store.database import Transaction
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_host import OutboxRow
from store.tables_work import DeliveryRow, TaskRow

BUSY = (TaskState.ACCEPTED.value, TaskState.RUNNING.value)
"""States that count against the bound once a task is admitted; one that waits for a person uses nothing."""


@dataclass(frozen=True, slots=True)
class RelayEntry:
    """One entry with the row it is about, where its kind needs one."""

    entry_id: int
    kind: str
    subject_id: str
    tries: int
    task: TaskRow | None = None
    delivery: DeliveryRow | None = None
    firing: AutomationRunRow | None = None
    automation: AutomationRow | None = None


async def candidates(tx: Transaction, limit: int, max_open_tasks: int) -> list[RelayEntry]:
    """The next entries to relay, oldest first; starts of tasks beyond the bound are not among them."""
    due = await outbox.what_is_due(tx)
    others = await _others(tx, limit) if due.others else []
    starts = await _starts(tx, limit, max_open_tasks) if due.starts else []
    return sorted([*others, *starts], key=lambda entry: entry.entry_id)[:limit]


async def admit(tx: Transaction, task_ids: Sequence[str]) -> None:
    """Count these tasks against the bound from now on."""
    await tx.session.execute(
        update(TaskRow).where(TaskRow.task_id.in_(task_ids), TaskRow.admitted_at.is_(None)).values(admitted_at=tx.now)
    )


async def _others(tx: Transaction, limit: int) -> list[RelayEntry]:
    postponed = _postponed(tx)
    query = (
        select(OutboxRow, DeliveryRow, AutomationRunRow, AutomationRow)
        .outerjoin(
            DeliveryRow,
            and_(OutboxRow.kind == outbox.DELIVERY_START, DeliveryRow.delivery_id == OutboxRow.subject_id),
        )
        .outerjoin(
            AutomationRunRow,
            and_(OutboxRow.kind == outbox.AUTOMATION_FOLLOW, AutomationRunRow.run_id == OutboxRow.subject_id),
        )
        .outerjoin(AutomationRow, AutomationRow.automation_id == AutomationRunRow.automation_id)
        .outerjoin(postponed, postponed.c.subject_id == OutboxRow.subject_id)
        .where(*_due(tx, postponed), OutboxRow.kind != outbox.TASK_START)
        .order_by(OutboxRow.entry_id)
        .limit(limit)
    )
    return [
        RelayEntry(row.entry_id, row.kind, row.subject_id, row.tries, None, delivery, firing, automation)
        for row, delivery, firing, automation in (await tx.session.execute(query))
    ]


async def _starts(tx: Transaction, limit: int, max_open_tasks: int) -> list[RelayEntry]:
    postponed = _postponed(tx)
    query = (
        select(OutboxRow, TaskRow)
        .join(TaskRow, TaskRow.task_id == OutboxRow.subject_id)
        .outerjoin(postponed, postponed.c.subject_id == OutboxRow.subject_id)
        .where(*_due(tx, postponed), OutboxRow.kind == outbox.TASK_START)
        .order_by(and_(TaskRow.admitted_at.is_(None), TaskRow.parent_task_id.is_(None)), OutboxRow.entry_id)
        .limit(limit)
    )
    waiting = (await tx.session.execute(query)).all()
    if not waiting:
        return []
    open_tasks = await tx.session.scalar(
        select(func.count()).where(
            TaskRow.user_space == tx.scope.user_space,
            TaskRow.domain == tx.scope.domain,
            TaskRow.state.in_(BUSY),
            TaskRow.admitted_at.is_not(None),
        )
    )
    room = max_open_tasks - (open_tasks or 0)
    # A sub-task is never held back: its parent counts against the bound until it has ended, and would wait for ever.
    admitted = [_entry(row, task=task) for row, task in waiting if not _held_back(task)]
    fresh = [_entry(row, task=task) for row, task in waiting if _held_back(task)]
    return admitted + fresh[: max(0, room)]


def _held_back(task: TaskRow) -> bool:
    return task.admitted_at is None and task.parent_task_id is None


def _due(tx: Transaction, postponed: Subquery) -> tuple[ColumnElement[bool], ...]:
    return (
        OutboxRow.user_space == tx.scope.user_space,
        OutboxRow.domain == tx.scope.domain,
        OutboxRow.done_at.is_(None),
        OutboxRow.due_at <= tx.now,
        func.coalesce(postponed.c.first, OutboxRow.entry_id) >= OutboxRow.entry_id,
    )


def _postponed(tx: Transaction) -> Subquery:
    """The subjects with an entry that was put off, and the first of these: what comes later about them waits.

    Read once and joined: asked for each entry anew, a look would cost the square of what waits.
    """
    return (
        select(OutboxRow.subject_id, func.min(OutboxRow.entry_id).label("first"))
        .where(
            OutboxRow.user_space == tx.scope.user_space,
            OutboxRow.domain == tx.scope.domain,
            OutboxRow.done_at.is_(None),
            OutboxRow.due_at > tx.now,
        )
        .group_by(OutboxRow.subject_id)
        .subquery()
    )


def _entry(row: OutboxRow, *, task: TaskRow | None = None, delivery: DeliveryRow | None = None) -> RelayEntry:
    return RelayEntry(row.entry_id, row.kind, row.subject_id, row.tries, task, delivery)
