"""How a turn ends (C4, D3, S8): its reply, its receipt and its delivery in one transaction, decided once."""

from sqlalchemy import select

from domain.approval import ApprovalState
from domain.delivery import DeliveryEvent
from domain.effect import EffectState
from domain.refusal import accepted
from domain.run import RunRef
from domain.turn import TURN, TurnEvent, TurnKind, TurnState
from store import changes, deliveries, outbox, receipts, turns
from store.database import Transaction
from store.messages import append
from store.run_steps import steps_of
from store.tables_authority import ApprovalRow, EffectRow
from store.tables_conversation import TurnRow


async def complete(tx: Transaction, run: RunRef) -> TurnRow:
    """Store a turn's reply; a delivery is delivered with it. A turn that has ended stays as it is (I7).

    A stop that was accepted before this transaction has won (S8, S10): then the turn ends stopped.
    """
    turn = await turns.turn_row(tx, run.turn_id or "")
    if turn.stop_requested_at is not None:
        return await stop(tx, run)
    if turn.state == TurnState.RUNNING.value:
        await _store_reply(tx, turn, await spoken(tx, turn))
        await _end(tx, turn, TurnEvent.COMPLETE)
        await deliveries.settle_turn(tx, turn, DeliveryEvent.STORE)
    return turn


async def fail(tx: Transaction, run: RunRef, reason: str, words: str) -> TurnRow:
    """End a turn that has no answer: an input gets `words` as its one stored reply (O3), a delivery nothing.

    A stop that was accepted before this transaction has won (S8, S10): then the turn ends stopped.
    """
    turn = await turns.turn_row(tx, run.turn_id or "")
    if turn.stop_requested_at is not None:
        return await stop(tx, run)
    if turn.state == TurnState.RUNNING.value:
        if turn.kind != TurnKind.DELIVERY.value:
            said = await spoken(tx, turn)
            await _store_reply(tx, turn, f"{said}\n\n{words}" if said else words)
        turn.reason = reason
        await _end(tx, turn, TurnEvent.FAIL)
        await deliveries.settle_turn(tx, turn, DeliveryEvent.FAIL, reason=reason)
    return turn


async def stop(tx: Transaction, run: RunRef) -> TurnRow:
    """End a stopped turn: what an input's turn had said is stored as interrupted, a delivery stores nothing (S8)."""
    turn = await turns.turn_row(tx, run.turn_id or "")
    if turn.state == TurnState.RUNNING.value:
        said = await spoken(tx, turn)
        if turn.kind != TurnKind.DELIVERY.value and said:
            await _store_reply(tx, turn, said, interrupted=True)
        turn.reason = "turn_stopped"
        await _end(tx, turn, TurnEvent.STOP)
        await deliveries.settle_turn(tx, turn, DeliveryEvent.FAIL, reason="turn_stopped")
    return turn


async def cut_turn(tx: Transaction, turn_id: str) -> None:
    """Stop the turn of a cancelled delivery: a queued one at once, a running one by its id (D3); it stores nothing."""
    turn = await turns.turn_row(tx, turn_id)
    if turn.state == TurnState.QUEUED.value:
        await _end(tx, turn, TurnEvent.STOP)
    elif turn.state == TurnState.RUNNING.value and turn.stop_requested_at is None:
        turn.stop_requested_at = tx.now
        outbox.post(tx, outbox.TURN_STOP, turn_id)


async def park(tx: Transaction, run: RunRef, *, only_if_queued: bool) -> bool:
    """Park a running turn whose card is still undecided: its reply ends with the card (C1).

    Repeated after a lost answer it says the same, also when the card was decided or withdrawn meanwhile: the turn has
    had its say, its continuation is told of the effect's end, and nobody will tell this turn any more.
    """
    turn = await turns.turn_row(tx, run.turn_id or "")
    if turn.state != TurnState.RUNNING.value:
        return True
    if turn.stop_requested_at is not None:
        return False
    if only_if_queued and await turns.queue_length(tx) == 0:
        return False
    card = await _waiting_card(tx, run.run_id)
    if card is None:
        return False
    await _store_reply(tx, turn, await spoken(tx, turn), approval_id=card.approval_id)
    await _end(tx, turn, TurnEvent.PARK)
    return True


async def _waiting_card(tx: Transaction, run_id: str) -> ApprovalRow | None:
    query = (
        select(ApprovalRow)
        .join(EffectRow, EffectRow.effect_id == ApprovalRow.effect_id)
        .where(
            EffectRow.run_id == run_id,
            EffectRow.state == EffectState.WAITING_DECISION.value,
            ApprovalRow.state == ApprovalState.PENDING.value,
        )
    )
    return (await tx.session.scalars(query)).first()


async def spoken(tx: Transaction, turn: TurnRow) -> str:
    """What a turn has said: the texts of its own steps, and what it was saying when it was stopped."""
    steps = (await steps_of(tx, [turn.run_id]))[turn.run_id]
    texts = [step.row.text for step in steps if step.row.turn_id == turn.turn_id and step.row.text.strip()]
    if turn.partial_text:
        texts.append(turn.partial_text)
    return "\n\n".join(texts)


async def _store_reply(
    tx: Transaction, turn: TurnRow, text: str, *, interrupted: bool = False, approval_id: str | None = None
) -> None:
    message = await append(
        tx,
        turn.session_id,
        role="assistant",
        origin="delivery" if turn.kind == TurnKind.DELIVERY.value else "reply",
        text=text,
        turn_id=turn.turn_id,
        delivery_id=turn.delivery_id,
        approval_id=approval_id,
        interrupted=interrupted,
    )
    turn.message_seq = message.seq


async def _end(tx: Transaction, turn: TurnRow, event: TurnEvent) -> None:
    turn.state = accepted(TURN.advance(TurnState(turn.state), event)).value
    turn.ended_at = tx.now
    turn.partial_text = None
    if turn.request_id is not None:
        receipt = await receipts.find(tx, turn.request_id)
        if receipt is not None:
            receipt.state = "done"
    changes.notify(tx, "turn.state", turn_id=turn.turn_id, state=turn.state, message_seq=turn.message_seq)
