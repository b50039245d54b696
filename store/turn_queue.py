"""Putting a turn into the conversation's queue; what begins and ends it is in `store.turns` and `store.turn_ends`."""

from domain.turn import TurnKind, TurnState
from store import changes, outbox
from store.database import Transaction
from store.spaces import next_position, space_of
from store.tables_conversation import TurnRow


async def queue_turn(
    tx: Transaction,
    turn_id: str,
    kind: TurnKind,
    session_id: str,
    *,
    run_id: str,
    principal: str,
    permission_mode: str = "standard",
    request_id: str | None = None,
    input_seq: int | None = None,
    delivery_id: str | None = None,
    effect_id: str | None = None,
    position: int | None = None,
) -> TurnRow:
    """Put a turn into the conversation's queue, at `position` or at its end, and have the conversation woken."""
    space = await space_of(tx)
    turn = TurnRow(
        turn_id=turn_id,
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        session_id=session_id,
        run_id=run_id,
        kind=kind.value,
        state=TurnState.QUEUED.value,
        position=position if position is not None else await next_position(tx),
        agent_id="twin",
        permission_mode=permission_mode,
        principal=principal,
        request_id=request_id,
        input_seq=input_seq,
        delivery_id=delivery_id,
        effect_id=effect_id,
        graph_generation=space.graph_generation,
        created_at=tx.now,
    )
    tx.session.add(turn)
    await tx.session.flush()
    outbox.post(tx, outbox.CONVERSATION_WAKE, turn_id)
    changes.notify(tx, "turn.state", turn_id=turn_id, state=turn.state)
    return turn
