"""Counts for operators (O10): how many of what, how old the oldest is. No texts, no ids (I9)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import case, func, select
from sqlalchemy.orm import aliased

from domain.attention import UNAGGREGATED
from domain.delivery import DeliveryState
from domain.intent import IntentState
from domain.task import ACTIVE, TaskState
from store import outbox
from store.database import Transaction
from store.tables_attention import AttentionGroupRow, AttentionSendRow
from store.tables_authority import EffectRow
from store.tables_control import IntentRow
from store.tables_conversation import TurnRow
from store.tables_host import WorkerRow
from store.tables_work import DeliveryRow, TaskRow

_AT_WORK = (TaskState.ACCEPTED, TaskState.RUNNING, TaskState.STOPPING)
WORKER_HEARD_WITHIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one user space at one moment; ages are seconds."""

    tasks: Mapping[str, int]
    turns: Mapping[str, int]
    deliveries: Mapping[str, int]
    effects: Mapping[str, int]
    delivery_lag_s: float
    outbox_depth: int
    outbox_age_s: float
    oldest_idle_task_s: float = 0.0
    """Since when nothing was heard of a task that is at work; one that waits for a person or a sub-task is not."""
    oldest_stop_s: float = 0.0
    """Age of the oldest stop that is not done."""
    oldest_submitted_s: float = 0.0
    """Since when the oldest submitted delivery waits for its turn's end."""
    attention: Mapping[str, int] = field(default_factory=dict)
    """Groups of news by state."""
    attention_sends: Mapping[str, int] = field(default_factory=dict)
    """Sends to channels outside of the page by state."""
    unaggregated: int = 0
    """Groups announced at once only because too many were open (N6)."""


async def figures(tx: Transaction) -> Figures:
    """Read all figures of this scope."""
    oldest_delivery = await tx.session.scalar(
        select(func.min(DeliveryRow.created_at)).where(
            DeliveryRow.user_space == tx.scope.user_space,
            DeliveryRow.domain == tx.scope.domain,
            DeliveryRow.state.in_((DeliveryState.WAITING.value, DeliveryState.SUBMITTED.value)),
        )
    )
    depth, oldest_entry = await outbox.depth(tx)
    return Figures(
        tasks=await _by_state(tx, TaskRow),
        turns=await _by_state(tx, TurnRow),
        deliveries=await _by_state(tx, DeliveryRow),
        effects=await _by_state(tx, EffectRow),
        delivery_lag_s=_age(tx, oldest_delivery),
        outbox_depth=depth,
        outbox_age_s=_age(tx, oldest_entry),
        oldest_idle_task_s=_age(tx, await _oldest_idle_task(tx)),
        oldest_stop_s=_age(tx, await _oldest_stop(tx)),
        oldest_submitted_s=_age(tx, await _oldest_submitted(tx)),
        attention=await _by_state(tx, AttentionGroupRow),
        attention_sends=await _sends(tx),
        unaggregated=await _unaggregated(tx),
    )


async def _sends(tx: Transaction) -> dict[str, int]:
    query = (
        select(AttentionSendRow.state, func.count())
        .join(AttentionGroupRow, AttentionGroupRow.group_id == AttentionSendRow.group_id)
        .where(AttentionGroupRow.user_space == tx.scope.user_space, AttentionGroupRow.domain == tx.scope.domain)
        .group_by(AttentionSendRow.state)
    )
    return {state: count for state, count in await tx.session.execute(query)}


async def _unaggregated(tx: Transaction) -> int:
    query = select(func.count()).where(
        AttentionGroupRow.user_space == tx.scope.user_space,
        AttentionGroupRow.domain == tx.scope.domain,
        AttentionGroupRow.reason == UNAGGREGATED,
    )
    return await tx.session.scalar(query) or 0


async def _oldest_idle_task(tx: Transaction) -> datetime | None:
    child = aliased(TaskRow)
    waits_for_child = (
        select(child.task_id)
        .where(child.parent_task_id == TaskRow.task_id, child.state.in_([state.value for state in ACTIVE]))
        .exists()
    )
    heard = case((TaskRow.progress_at > TaskRow.updated_at, TaskRow.progress_at), else_=TaskRow.updated_at)
    oldest: datetime | None = await tx.session.scalar(
        select(func.min(heard)).where(
            TaskRow.user_space == tx.scope.user_space,
            TaskRow.domain == tx.scope.domain,
            TaskRow.state.in_([state.value for state in _AT_WORK]),
            TaskRow.admitted_at.is_not(None),
            ~waits_for_child,
        )
    )
    return oldest


async def _oldest_stop(tx: Transaction) -> datetime | None:
    return await tx.session.scalar(
        select(func.min(IntentRow.created_at)).where(
            IntentRow.user_space == tx.scope.user_space,
            IntentRow.domain == tx.scope.domain,
            IntentRow.state.in_((IntentState.ACCEPTED.value, IntentState.RECONCILING.value)),
        )
    )


async def _oldest_submitted(tx: Transaction) -> datetime | None:
    return await tx.session.scalar(
        select(func.min(DeliveryRow.updated_at)).where(
            DeliveryRow.user_space == tx.scope.user_space,
            DeliveryRow.domain == tx.scope.domain,
            DeliveryRow.state == DeliveryState.SUBMITTED.value,
        )
    )


async def worker_heard(tx: Transaction, queue: str) -> bool:
    """Whether a worker of this queue was heard within 30 seconds."""
    newest = await tx.session.scalar(select(func.max(WorkerRow.heard_at)).where(WorkerRow.queue == queue))
    return newest is not None and tx.now - newest <= WORKER_HEARD_WITHIN


async def _by_state(
    tx: Transaction, row: type[TaskRow] | type[TurnRow] | type[DeliveryRow] | type[EffectRow] | type[AttentionGroupRow]
) -> dict[str, int]:
    query = (
        select(row.state, func.count())
        .where(row.user_space == tx.scope.user_space, row.domain == tx.scope.domain)
        .group_by(row.state)
    )
    return {state: count for state, count in await tx.session.execute(query)}


def _age(tx: Transaction, since: datetime | None) -> float:
    return 0.0 if since is None else max(0.0, (tx.now - since).total_seconds())
