"""The record of a user space: its main session for ever, its queue positions, its composition (H6, H7)."""

from sqlalchemy import func, select

from domain.refusal import refuse
from store.database import Transaction
from store.tables_conversation import SessionRow, SpaceRow


async def open_space(tx: Transaction, composition: str) -> SpaceRow:
    """Open the scope at host start: initialise it once, count a changed composition, insist on the main session.

    Raises:
        Refused: `main_session_missing` when the space was initialised and its main session is gone (H6).
    """
    space = await tx.session.get(SpaceRow, (tx.scope.user_space, tx.scope.domain))
    if space is None:
        return await _initialise(tx, composition)
    await main_session(tx, space.main_session_id)
    if space.composition != composition:
        space.composition = composition
        space.graph_generation += 1
    return space


async def _initialise(tx: Transaction, composition: str) -> SpaceRow:
    orphan = await tx.session.scalar(
        select(func.count())
        .select_from(SessionRow)
        .where(SessionRow.user_space == tx.scope.user_space, SessionRow.domain == tx.scope.domain)
    )
    if orphan:
        raise refuse(
            "main_session_missing", "The space has sessions but no record. Restore the backup of its database."
        )
    session_id = tx.new_id("session")
    space = SpaceRow(
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        main_session_id=session_id,
        next_position=1,
        graph_generation=1,
        composition=composition,
        created_at=tx.now,
    )
    session = SessionRow(
        session_id=session_id,
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        kind="main",
        agent_id="twin",
        last_seq=0,
        created_at=tx.now,
    )
    tx.session.add_all([space, session])
    await tx.session.flush()
    return space


async def space_of(tx: Transaction) -> SpaceRow:
    """The scope's record.

    Raises:
        Refused: `main_session_missing` when it is not there.
    """
    space = await tx.session.get(SpaceRow, (tx.scope.user_space, tx.scope.domain))
    if space is None:
        raise refuse("main_session_missing", "This user space was never opened, or its record is gone.")
    return space


async def main_session(tx: Transaction, session_id: str) -> SessionRow:
    """The main session with this id.

    Raises:
        Refused: `session_mismatch` when it is another session; `main_session_missing` when its record is gone.
    """
    space = await space_of(tx)
    if session_id != space.main_session_id:
        raise refuse("session_mismatch", "This host serves another main session. Call initialize again.")
    session = await tx.session.get(SessionRow, session_id)
    if session is None:
        raise refuse("main_session_missing", "The main conversation's record is missing. Restore it from a backup.")
    return session


async def next_position(tx: Transaction) -> int:
    """Take the next place in the conversation's queue; places are unique and given in order of acceptance (C1, D7)."""
    space = await space_of(tx)
    position = space.next_position
    space.next_position = position + 1
    return position
