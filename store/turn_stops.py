"""Stopping the running reply (S8): exactly the named turn, decided in the accepting transaction."""

from domain.refusal import accepted
from domain.turn import TURN, TurnEvent, TurnState
from store import changes, effects, outbox, receipts
from store.database import Transaction
from store.spaces import main_session
from store.tables_host import ReceiptRow
from store.turns import turn_row

METHOD = "agents.stop_turn"


async def stop_turn(tx: Transaction, session_id: str, turn_id: str, request_id: str, principal: str) -> ReceiptRow:
    """Stop a running or parked turn; the receipt's outcome is `stopping`, `stopped` or `turn_not_running`.

    A card that still waits is withdrawn at once, so that nothing of the turn starts after this transaction (I3).

    Raises:
        Refused: `not_found` for an unknown turn, `session_mismatch`, `request_id_conflict`.
    """
    content = {"session_id": session_id, "turn_id": turn_id}
    earlier = await receipts.repeated(tx, request_id, METHOD, content)
    if earlier is not None:
        return earlier
    await main_session(tx, session_id)
    turn = await turn_row(tx, turn_id)
    receipt = await receipts.accept(tx, request_id, METHOD, content, principal=principal)
    receipt.turn_id = turn_id
    if turn.state == TurnState.RUNNING.value:
        turn.stop_requested_at = turn.stop_requested_at or tx.now
        await effects.withdraw_run(tx, turn.run_id)
        outbox.post(tx, outbox.TURN_STOP, turn_id)
        receipt.outcome = "stopping"
    elif turn.state == TurnState.PARKED.value and await effects.withdraw_run(tx, turn.run_id):
        turn.state = accepted(TURN.advance(TurnState.PARKED, TurnEvent.STOP)).value
        changes.notify(tx, "turn.state", turn_id=turn_id, state=turn.state, message_seq=turn.message_seq)
        receipt.outcome = "stopped"
    else:
        receipt.outcome = "turn_not_running"
    return receipt
