"""The transactional outbox (C2): what Temporal must be told is written with the fact itself, and relayed in order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import bindparam, delete, exists, func, select, update

from store.database import Transaction
from store.tables_host import OutboxRow

CONVERSATION_WAKE = "conversation.wake"
TASK_START = "task.start"
DELIVERY_START = "delivery.start"
EFFECT_DECIDED = "effect.decided"
TURN_STOP = "turn.stop"
ATTEMPT_LOOK = "attempt.look"
TASK_LOOK = "task.look"
STOP_START = "stop.start"
GRANT_START = "grant.start"
GRANT_LOOK = "grant.look"
ATTENTION_LOOK = "attention.look"
AUTOMATION_SYNC = "automation.sync"
AUTOMATION_FOLLOW = "automation.follow"
KEPT_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Due:
    """Whether starts of tasks are due, and whether anything else is."""

    starts: bool
    others: bool


_ENTRIES = OutboxRow.__table__
_IS_DUE = (
    _ENTRIES.c.user_space == bindparam("user_space"),
    _ENTRIES.c.domain == bindparam("domain"),
    _ENTRIES.c.done_at.is_(None),
    _ENTRIES.c.due_at <= bindparam("now"),
)
# Built once: a statement that is built anew costs as much as its execution.
_WHAT_IS_DUE = select(
    exists().where(*_IS_DUE, _ENTRIES.c.kind == bindparam("kind")),
    exists().where(*_IS_DUE, _ENTRIES.c.kind != bindparam("kind")),
)


def post(tx: Transaction, kind: str, subject_id: str) -> None:
    """Write an entry; it is relayed after the transaction has committed."""
    tx.session.add(
        OutboxRow(
            user_space=tx.scope.user_space,
            domain=tx.scope.domain,
            kind=kind,
            subject_id=subject_id,
            created_at=tx.now,
            due_at=tx.now,
            tries=0,
        )
    )


async def what_is_due(tx: Transaction) -> Due:
    """What a relay asks after every commit of anybody, so it costs one small read."""
    asked = {"user_space": tx.scope.user_space, "domain": tx.scope.domain, "now": tx.now, "kind": TASK_START}
    starts, others = (await tx.session.execute(_WHAT_IS_DUE, asked)).one()
    return Due(starts=bool(starts), others=bool(others))


async def due(tx: Transaction, limit: int, *, without: Sequence[str] = ()) -> Sequence[OutboxRow]:
    """The oldest entries that are due, in order; kinds in `without` are left where they are."""
    query = (
        select(OutboxRow)
        .where(
            OutboxRow.user_space == tx.scope.user_space,
            OutboxRow.domain == tx.scope.domain,
            OutboxRow.done_at.is_(None),
            OutboxRow.due_at <= tx.now,
            OutboxRow.kind.not_in(without),
        )
        .order_by(OutboxRow.entry_id)
        .limit(limit)
    )
    return (await tx.session.scalars(query)).all()


async def done(tx: Transaction, entry_ids: Sequence[int]) -> None:
    """Mark entries as relayed."""
    await tx.session.execute(update(OutboxRow).where(OutboxRow.entry_id.in_(entry_ids)).values(done_at=tx.now))


async def prune(tx: Transaction) -> None:
    """Forget entries that were relayed a while ago; what they were about has rows of its own."""
    await tx.session.execute(
        delete(OutboxRow).where(
            OutboxRow.user_space == tx.scope.user_space,
            OutboxRow.domain == tx.scope.domain,
            OutboxRow.done_at < tx.now - KEPT_FOR,
        )
    )


async def postpone(tx: Transaction, entry_id: int, delay_s: float) -> None:
    """Put off an entry that Temporal refused, so that it does not hold up the others."""
    await tx.session.execute(
        update(OutboxRow)
        .where(OutboxRow.entry_id == entry_id)
        .values(tries=OutboxRow.tries + 1, due_at=tx.now + timedelta(seconds=delay_s))
    )


async def depth(tx: Transaction) -> tuple[int, datetime | None]:
    """How many entries wait, and since when the oldest does."""
    row = (
        await tx.session.execute(
            select(func.count(), func.min(OutboxRow.created_at)).where(
                OutboxRow.user_space == tx.scope.user_space,
                OutboxRow.domain == tx.scope.domain,
                OutboxRow.done_at.is_(None),
            )
        )
    ).one()
    return row[0], row[1]
