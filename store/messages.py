"""Appending messages to a session: sequences without gaps, one transaction with what they belong to."""

from collections.abc import Sequence

from domain.refusal import refuse
from store import changes
from store.database import Transaction
from store.tables_conversation import MessageAttachmentRow, MessageRow, SessionRow


async def append(
    tx: Transaction,
    session_id: str,
    *,
    role: str,
    origin: str,
    text: str,
    turn_id: str | None = None,
    request_id: str | None = None,
    delivery_id: str | None = None,
    approval_id: str | None = None,
    interrupted: bool = False,
    attachment_ids: Sequence[str] = (),
) -> MessageRow:
    """Store a message at the session's next sequence and tell clients that the conversation has grown."""
    session = await tx.session.get(SessionRow, session_id)
    if session is None:
        raise refuse("main_session_missing", "The conversation's record is missing. Restore it from a backup.")
    session.last_seq += 1
    message = MessageRow(
        session_id=session_id,
        seq=session.last_seq,
        role=role,
        origin=origin,
        text=text,
        time=tx.now,
        turn_id=turn_id,
        request_id=request_id,
        delivery_id=delivery_id,
        approval_id=approval_id,
        interrupted=interrupted,
    )
    tx.session.add(message)
    if session.kind == "main":
        changes.notify(tx, "conversation", last_seq=message.seq)
    await tx.session.flush()
    tx.session.add_all(
        MessageAttachmentRow(session_id=session_id, seq=message.seq, place=place, attachment_id=attachment_id)
        for place, attachment_id in enumerate(attachment_ids)
    )
    return message
