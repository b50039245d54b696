"""The conversation's queue (C1): one turn at a time, in order of acceptance, inputs and deliveries alike."""

from sqlalchemy import bindparam, func, select

from domain.refusal import accepted, refuse
from domain.run import RunKind, RunRef
from domain.turn import TURN, TurnEvent, TurnKind, TurnState
from store import changes, deliveries
from store.database import Transaction
from store.tables_conversation import TurnRow
from store.turn_queue import queue_turn

_FIRST = (
    select(TurnRow)
    .where(
        TurnRow.user_space == bindparam("user_space"),
        TurnRow.domain == bindparam("domain"),
        TurnRow.state == bindparam("state"),
    )
    .order_by(TurnRow.position)
    .limit(1)
)
"""Built once: a statement that is built anew costs as much as its execution."""


async def queue_continuation(tx: Transaction, *, run_id: str, effect_id: str) -> TurnRow:
    """Queue the turn that goes on with a parked loop after its card was decided, denied or invalidated (C1)."""
    parked = await newest_of_run(tx, run_id)
    if parked.state == TurnState.PARKED.value:
        # From now on the continuation is the turn that runs or waits; the parked one has said what it had to say.
        parked.state = accepted(TURN.advance(TurnState.PARKED, TurnEvent.COMPLETE)).value
        changes.notify(tx, "turn.state", turn_id=parked.turn_id, state=parked.state, message_seq=parked.message_seq)
    return await queue_turn(
        tx, tx.new_id("turn"), TurnKind.CONTINUATION, parked.session_id,
        run_id=run_id, principal=parked.principal, permission_mode=parked.permission_mode,
        input_seq=parked.input_seq, effect_id=effect_id,
    )  # fmt: skip


async def newest_of_run(tx: Transaction, run_id: str) -> TurnRow:
    """The newest turn that carries the run: the first one, or its latest continuation."""
    query = select(TurnRow).where(TurnRow.run_id == run_id).order_by(TurnRow.position.desc()).limit(1)
    turn = (await tx.session.scalars(query)).first()
    if turn is None:
        raise refuse("not_found", "No such turn.")
    return turn


async def first_of_run(tx: Transaction, run_id: str) -> TurnRow:
    """The turn that began the run; its continuations act for the same input (C1, A13)."""
    query = select(TurnRow).where(TurnRow.run_id == run_id).order_by(TurnRow.position).limit(1)
    turn = (await tx.session.scalars(query)).first()
    if turn is None:
        raise refuse("not_found", "No such turn.")
    return turn


async def running_turn(tx: Transaction) -> TurnRow | None:
    """The turn that runs, if any."""
    return await _first(tx, TurnState.RUNNING)


async def any_queued(tx: Transaction) -> bool:
    """Whether a turn waits."""
    return await _first(tx, TurnState.QUEUED) is not None


async def next_turn(tx: Transaction) -> TurnRow | None:
    """Begin the next turn, or return the one that runs already; None when nothing is queued.

    A delivery that took its place earlier goes first, also when its own workflow has not submitted it yet (D7).
    """
    running = await _first(tx, TurnState.RUNNING)
    if running is not None:
        return running
    turn = await _first(tx, TurnState.QUEUED)
    if turn is None:
        return None
    if await deliveries.submit_earlier(tx, turn.position):
        turn = await _first(tx, TurnState.QUEUED) or turn
    turn.state = accepted(TURN.advance(TurnState(turn.state), TurnEvent.BEGIN)).value
    turn.started_at = tx.now
    changes.notify(tx, "turn.state", turn_id=turn.turn_id, state=turn.state)
    return turn


async def queue_length(tx: Transaction) -> int:
    """How many turns wait in the scope's queue."""
    query = (
        select(func.count())
        .select_from(TurnRow)
        .where(
            TurnRow.user_space == tx.scope.user_space,
            TurnRow.domain == tx.scope.domain,
            TurnRow.state == TurnState.QUEUED.value,
        )
    )
    return await tx.session.scalar(query) or 0


async def turn_row(tx: Transaction, turn_id: str) -> TurnRow:
    """A turn of this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    turn = await tx.session.get(TurnRow, turn_id)
    if turn is None or (turn.user_space, turn.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such turn.")
    return turn


def turn_run(turn: TurnRow) -> RunRef:
    """The run that a turn carries out."""
    return RunRef(
        kind=RunKind.TURN,
        user_space=turn.user_space,
        domain=turn.domain,
        run_id=turn.run_id,
        turn_id=turn.turn_id,
        agent_id=turn.agent_id,
    )


async def _first(tx: Transaction, state: TurnState) -> TurnRow | None:
    asked = {"user_space": tx.scope.user_space, "domain": tx.scope.domain, "state": state.value}
    return (await tx.session.scalars(_FIRST, asked)).first()
