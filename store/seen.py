"""How far the person has seen the main conversation (N2): told by a page that shows it in a focused window."""

from domain.notification import Locator
from domain.refusal import refuse
from store.database import Transaction
from store.spaces import main_session
from store.tables_attention import SeenRow


async def note(tx: Transaction, session_id: str, up_to_seq: int) -> int:
    """Record what was seen; it never goes back. Returns how far it is now.

    Raises:
        Refused: `session_mismatch` for another session; `invalid_params` beyond its newest message.
    """
    session = await main_session(tx, session_id)
    if up_to_seq > session.last_seq:
        message = f"The conversation has {session.last_seq} messages; nobody has seen more of it."
        raise refuse("invalid_params", message, field="up_to_seq", limit=session.last_seq, value=up_to_seq)
    row = await tx.session.get(SeenRow, session_id)
    if row is None:
        row = SeenRow(session_id=session_id, up_to_seq=0, seen_at=tx.now)
        tx.session.add(row)
    if up_to_seq > row.up_to_seq:
        row.up_to_seq, row.seen_at = up_to_seq, tx.now
    return row.up_to_seq


async def was_seen(tx: Transaction, locator: Locator) -> bool:
    """Whether the person has seen the message at a locator; a card is seen by deciding it."""
    if locator.kind != "message":
        return False
    row = await tx.session.get(SeenRow, locator.session_id)
    return row is not None and (locator.seq or 0) <= row.up_to_seq
