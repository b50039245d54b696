"""Recovery at the host's start (T10, D6, D12, S9): whatever needs a workflow is told to Temporal again.

Starting is harmless where the workflow runs, so nothing has to be known about what Temporal still has: a lost
workflow, or a lost Temporal database, heals from the rows.
"""

from sqlalchemy import ColumnElement, insert, literal, select
from sqlalchemy.orm import InstrumentedAttribute

from domain.delivery import DeliveryEvent, DeliveryState
from domain.intent import IntentState
from domain.task import ACTIVE
from domain.turn import TurnState
from store import attention_waking, automation_recovery, deliveries, outbox
from store.database import Transaction
from store.tables_control import IntentRow
from store.tables_conversation import TurnRow
from store.tables_host import OutboxRow
from store.tables_work import DeliveryRow, TaskRow

_GOES_ON = (TurnState.QUEUED.value, TurnState.RUNNING.value)
_ENDED = (TurnState.COMPLETED.value, TurnState.FAILED.value, TurnState.STOPPED.value)
_UNFINISHED = (IntentState.ACCEPTED.value, IntentState.RECONCILING.value)
_OPEN = (DeliveryState.WAITING.value, DeliveryState.SUBMITTED.value)


async def recover(tx: Transaction) -> None:
    """Settle what the rows alone can settle, and post everything else that is not at its end once more."""
    await _settle_submitted(tx)
    await tx.session.flush()
    await _post_again(tx, outbox.CONVERSATION_WAKE, TurnRow.turn_id, TurnRow.state.in_(_GOES_ON))
    await _post_again(
        tx,
        outbox.TASK_START,
        TaskRow.task_id,
        TaskRow.state.in_([state.value for state in ACTIVE]),
        # One that was never admitted still has the entry it was accepted with.
        TaskRow.admitted_at.is_not(None),
    )
    await _post_again(tx, outbox.DELIVERY_START, DeliveryRow.delivery_id, DeliveryRow.state.in_(_OPEN))
    await _post_again(tx, outbox.STOP_START, IntentRow.intent_id, IntentRow.state.in_(_UNFINISHED))
    await attention_waking.look_at_all(tx)
    await automation_recovery.tell_again(tx)


async def _settle_submitted(tx: Transaction) -> None:
    """Settle submitted deliveries whose turn has ended: stored is delivered, anything else failed (D6)."""
    query = (
        select(DeliveryRow, TurnRow)
        .join(TurnRow, TurnRow.turn_id == DeliveryRow.turn_id)
        .where(
            DeliveryRow.user_space == tx.scope.user_space,
            DeliveryRow.domain == tx.scope.domain,
            DeliveryRow.state == DeliveryState.SUBMITTED.value,
            TurnRow.state.in_(_ENDED),
        )
    )
    for _delivery, turn in (await tx.session.execute(query)).all():
        if turn.message_seq is not None:
            await deliveries.settle_turn(tx, turn, DeliveryEvent.STORE)
        else:
            await deliveries.settle_turn(tx, turn, DeliveryEvent.FAIL, reason=turn.reason or "turn_failed")


async def _post_again(
    tx: Transaction, kind: str, subject: InstrumentedAttribute[str], *conditions: ColumnElement[bool]
) -> None:
    """Post an entry for every row of this scope that meets the conditions and has none that waits already."""
    table = subject.class_
    # A list that is read once: asked for each row anew, a start would cost the square of what waits.
    waiting = select(OutboxRow.subject_id).where(
        OutboxRow.user_space == tx.scope.user_space,
        OutboxRow.domain == tx.scope.domain,
        OutboxRow.done_at.is_(None),
        OutboxRow.kind == kind,
    )
    now = literal(tx.now, OutboxRow.created_at.type)
    chosen = (
        select(literal(tx.scope.user_space), literal(tx.scope.domain), literal(kind), subject, now, now, literal(0))
        .where(table.user_space == tx.scope.user_space, table.domain == tx.scope.domain, *conditions)
        .where(subject.not_in(waiting))
        # An expression: by the bare id SQLite would walk everything that ever was in order, not the few that are open.
        .order_by(subject.concat(""))
    )
    columns = ["user_space", "domain", "kind", "subject_id", "created_at", "due_at", "tries"]
    await tx.session.execute(insert(OutboxRow).from_select(columns, chosen))
