"""Deliveries (D1-D7): opened with the fact they bring, submitted under their own request id, settled once."""

from sqlalchemy import func, select

from domain.delivery import DELIVERY, SETTLED, DeliveryEvent, DeliveryKind, DeliveryState
from domain.refusal import accepted, refuse
from domain.request import OWN
from domain.turn import TurnKind
from store import attention, changes, outbox, receipts
from store.database import Transaction
from store.spaces import next_position, space_of
from store.tables_conversation import TurnRow
from store.tables_work import DeliveryRow
from store.turn_queue import queue_turn

METHOD = "delivery.submit"
TASK, AUTOMATION = "task", "automation"
"""Kinds of owners of a delivery (D1)."""


async def open_delivery(
    tx: Transaction, kind: DeliveryKind, *, task_id: str, requirement_version: int, attempt: int, subject_id: str
) -> DeliveryRow:
    """Open a task's delivery in the transaction of the fact; it takes its place in the queue now (D7)."""
    return await _open(
        tx, kind, TASK, task_id, requirement_version=requirement_version, attempt=attempt, subject_id=subject_id
    )


async def open_notice(tx: Transaction, automation_id: str, binding_revision: int, run_id: str) -> DeliveryRow:
    """Open an automation's notice about one of its firings (U6, U7)."""
    return await _open(
        tx, DeliveryKind.NOTICE, AUTOMATION, automation_id,
        requirement_version=binding_revision, attempt=0, subject_id=run_id,
    )  # fmt: skip


async def _open(
    tx: Transaction,
    kind: DeliveryKind,
    owner_kind: str,
    owner_id: str,
    *,
    requirement_version: int,
    attempt: int,
    subject_id: str,
) -> DeliveryRow:
    delivery_id = tx.new_id("delivery")
    delivery = DeliveryRow(
        delivery_id=delivery_id,
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        owner_kind=owner_kind,
        owner_id=owner_id,
        requirement_version=requirement_version,
        attempt=attempt,
        kind=kind.value,
        subject_id=subject_id,
        state=DeliveryState.WAITING.value,
        position=await next_position(tx),
        request_id=f"{OWN}{delivery_id}",
        created_at=tx.now,
        updated_at=tx.now,
    )
    tx.session.add(delivery)
    await tx.session.flush()
    outbox.post(tx, outbox.DELIVERY_START, delivery_id)
    return delivery


async def submit(tx: Transaction, delivery_id: str) -> DeliveryRow:
    """Have the conversation accept a waiting delivery: receipt and queued turn (D3). Submitted again, it stays."""
    delivery = await delivery_row(tx, delivery_id)
    if delivery.state != DeliveryState.WAITING.value:
        return delivery
    space = await space_of(tx)
    content = {"delivery_id": delivery_id}
    receipt = await receipts.find(tx, delivery.request_id)
    if receipt is None:
        receipt = await receipts.accept(tx, delivery.request_id, METHOD, content, principal="host", state="accepted")
    turn = await queue_turn(
        tx, tx.new_id("turn"), TurnKind.DELIVERY, space.main_session_id,
        run_id="", principal="host", request_id=delivery.request_id, delivery_id=delivery_id,
        position=delivery.position,
    )  # fmt: skip
    turn.run_id = turn.turn_id
    receipt.turn_id, receipt.delivery_id = turn.turn_id, delivery_id
    delivery.turn_id = turn.turn_id
    settle(tx, delivery, DeliveryEvent.SUBMIT)
    return delivery


async def submit_earlier(tx: Transaction, position: int) -> bool:
    """Submit waiting deliveries whose place is before `position`, in order; whether there were any."""
    query = (
        select(DeliveryRow.delivery_id)
        .where(
            DeliveryRow.user_space == tx.scope.user_space,
            DeliveryRow.domain == tx.scope.domain,
            DeliveryRow.state == DeliveryState.WAITING.value,
            DeliveryRow.position < position,
        )
        .order_by(DeliveryRow.position)
    )
    waiting = (await tx.session.scalars(query)).all()
    for delivery_id in waiting:
        await submit(tx, delivery_id)
    return bool(waiting)


def settle(tx: Transaction, delivery: DeliveryRow, event: DeliveryEvent, *, reason: str | None = None) -> None:
    """Move a delivery along its lifecycle and tell clients; an illegal move is refused (I7)."""
    delivery.state = accepted(DELIVERY.advance(DeliveryState(delivery.state), event)).value
    delivery.reason = reason
    delivery.updated_at = tx.now
    if delivery.owner_kind == TASK:
        changes.notify(tx, "tasks", task_id=delivery.owner_id)
    else:
        changes.notify(tx, "automations")
    changes.notify(tx, "activity")


async def settle_turn(tx: Transaction, turn: TurnRow, event: DeliveryEvent, *, reason: str | None = None) -> None:
    """Move the delivery that a turn carries, if it carries one and is the one it was submitted with."""
    if turn.delivery_id is None:
        return
    delivery = await delivery_row(tx, turn.delivery_id)
    if delivery.turn_id == turn.turn_id and delivery.state == DeliveryState.SUBMITTED.value:
        delivery.message_seq = turn.message_seq
        settle(tx, delivery, event, reason=reason)
        if event is DeliveryEvent.STORE:
            await attention.delivered(tx, delivery, turn)


async def open_count(tx: Transaction, owner_id: str) -> int:
    """How many of an owner's deliveries are not settled."""
    query = (
        select(func.count())
        .select_from(DeliveryRow)
        .where(DeliveryRow.owner_id == owner_id, DeliveryRow.state.not_in([state.value for state in SETTLED]))
    )
    return await tx.session.scalar(query) or 0


async def delivery_row(tx: Transaction, delivery_id: str) -> DeliveryRow:
    """A delivery of this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    delivery = await tx.session.get(DeliveryRow, delivery_id)
    if delivery is None or (delivery.user_space, delivery.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such delivery.")
    return delivery
