"""Retrying a delivery (D5, D6): the original reply is looked for first; the executor never runs again."""

from domain.delivery import DeliveryEvent, DeliveryState
from domain.refusal import refuse
from domain.turn import TurnKind
from store import deliveries, outbox, receipts
from store.database import Transaction
from store.spaces import space_of
from store.tables_conversation import TurnRow
from store.tables_host import ReceiptRow
from store.tables_work import DeliveryRow
from store.turn_queue import queue_turn

METHOD = "agents.tasks.retry_delivery"


async def retry_delivery(
    tx: Transaction, delivery_id: str, request_id: str, principal: str
) -> tuple[ReceiptRow, DeliveryRow]:
    """Submit a failed delivery again under its own id, or find that its reply is stored after all.

    Raises:
        Refused: `delivery_outcome_unknown` when nobody can tell what became of it, `delivery_not_failed` for any other
            state, `not_found`, `request_id_conflict`.
    """
    content = {"delivery_id": delivery_id}
    earlier = await receipts.repeated(tx, request_id, METHOD, content)
    delivery = await deliveries.delivery_row(tx, delivery_id)
    if earlier is not None:
        return earlier, delivery
    turn = await tx.session.get(TurnRow, delivery.turn_id) if delivery.turn_id is not None else None
    if delivery.state == DeliveryState.SUBMITTED.value and turn is None:
        raise refuse("delivery_outcome_unknown", "It is not known what became of this reply. Look at the conversation.")
    if delivery.state != DeliveryState.FAILED.value:
        raise refuse("delivery_not_failed", "Only a failed delivery can be retried.", state=delivery.state)
    if turn is not None and turn.message_seq is not None:
        delivery.message_seq = turn.message_seq
        deliveries.settle(tx, delivery, DeliveryEvent.STORE)
    else:
        await _submit_again(tx, delivery)
    receipt = await receipts.accept(tx, request_id, METHOD, content, principal=principal)
    receipt.delivery_id = delivery_id
    if delivery.owner_kind == deliveries.TASK:
        receipt.task_id = delivery.owner_id
    return receipt, delivery


async def _submit_again(tx: Transaction, delivery: DeliveryRow) -> None:
    space = await space_of(tx)
    turn = await queue_turn(
        tx,
        tx.new_id("turn"),
        TurnKind.DELIVERY,
        space.main_session_id,
        run_id="",
        principal="host",
        request_id=delivery.request_id,
        delivery_id=delivery.delivery_id,
    )
    turn.run_id = turn.turn_id
    original = await receipts.find(tx, delivery.request_id)
    if original is not None:
        original.state, original.turn_id = "accepted", turn.turn_id
    delivery.turn_id = turn.turn_id
    deliveries.settle(tx, delivery, DeliveryEvent.RETRY)
    outbox.post(tx, outbox.DELIVERY_START, delivery.delivery_id)
