"""Accepting a person's input (C2): message, turn, receipt, outbox entry and notices in one transaction."""

from dataclasses import asdict, dataclass

from domain.limits import check_engine, check_text
from domain.refusal import accepted, refuse
from domain.turn import TurnKind
from store import receipts
from store.attachment_choice import choose
from store.database import Transaction
from store.messages import append
from store.spaces import main_session
from store.tables_host import ReceiptRow
from store.turn_queue import queue_turn

METHOD = "agents.send"


@dataclass(frozen=True, slots=True)
class Send:
    """One input as the client sent it, exactly (C7)."""

    session_id: str
    request_id: str
    text: str
    attachment_ids: tuple[str, ...] = ()
    engine: str | None = None
    permission_mode: str | None = None
    mcp_server_ids: tuple[str, ...] = ()


async def accept_send(tx: Transaction, send: Send, principal: str) -> ReceiptRow:
    """Accept an input, or return the receipt of the same request (I1, I2).

    Raises:
        Refused: a code of C8, H6, X2 or P1; nothing is stored then.
    """
    content = {key: value for key, value in asdict(send).items() if key != "request_id"}
    content["attachment_ids"], content["mcp_server_ids"] = list(send.attachment_ids), list(send.mcp_server_ids)
    earlier = await receipts.repeated(tx, send.request_id, METHOD, content)
    if earlier is not None:
        return earlier
    await main_session(tx, send.session_id)
    accepted(check_text(send.text, may_be_empty=bool(send.attachment_ids)))
    _, permission_mode = accepted(check_engine(send.engine, send.permission_mode))
    if send.mcp_server_ids:
        raise refuse("not_found", "No such MCP server.")
    attachments = await choose(tx, send.attachment_ids)
    receipt = await receipts.accept(tx, send.request_id, METHOD, content, principal=principal, state="accepted")
    turn_id = tx.new_id("turn")
    message = await append(
        tx,
        send.session_id,
        role="user",
        origin="user",
        text=send.text,
        turn_id=turn_id,
        request_id=send.request_id,
        attachment_ids=[row.attachment_id for row in attachments],
    )
    await queue_turn(
        tx, turn_id, TurnKind.INPUT, send.session_id,
        run_id=turn_id, principal=principal, permission_mode=permission_mode, request_id=send.request_id,
        input_seq=message.seq,
    )  # fmt: skip
    receipt.turn_id, receipt.message_seq = turn_id, message.seq
    return receipt
