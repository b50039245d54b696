"""Receipts and messages as the wire contract shows them (api.md): metadata of attachments only, no paths (C10)."""

from typing import Any

from sqlalchemy import select

from domain.refusal import refuse
from store.database import Transaction
from store.run_reading import attachments_of
from store.spaces import main_session
from store.tables_conversation import AttachmentRow, MessageAttachmentRow, MessageRow, TurnRow
from store.tables_host import ReceiptRow
from store.tables_work import DeliveryRow
from store.task_views import activity_view as activity_view
from store.task_views import artifact_of as artifact_of
from store.task_views import delivery_view as delivery_view
from store.task_views import task_detail as task_detail
from store.task_views import task_page as task_page
from store.task_views import task_view as task_view
from store.wire_time import wire_time

Json = dict[str, Any]


def receipt_view(receipt: ReceiptRow) -> Json:
    """A request receipt."""
    view: Json = {
        "request_id": receipt.request_id,
        "method": receipt.method,
        "state": receipt.state,
        "accepted_at": wire_time(receipt.accepted_at),
    }
    named = {
        "turn_id": receipt.turn_id,
        "message_seq": receipt.message_seq,
        "task_id": receipt.task_id,
        "intent_id": receipt.intent_id,
        "delivery_id": receipt.delivery_id,
        "error": receipt.error,
    }
    return view | {key: value for key, value in named.items() if value is not None}


async def message_views(
    tx: Transaction, session_id: str, before: int | None, after: int | None, limit: int
) -> tuple[list[Json], bool]:
    """Messages of the main session, oldest first, and whether there are more in the direction that was read.

    Args:
        tx: The unit of work.
        session_id: The main session.
        before: Only messages with smaller sequences; the newest of them.
        after: Only messages with greater sequences; the oldest of them, unless `before` is given too.
        limit: The most messages.
    """
    await main_session(tx, session_id)
    query = select(MessageRow).where(MessageRow.session_id == session_id)
    if before is not None:
        query = query.where(MessageRow.seq < before)
    if after is not None:
        query = query.where(MessageRow.seq > after)
    forward = after is not None and before is None
    order = MessageRow.seq.asc() if forward else MessageRow.seq.desc()
    rows = list((await tx.session.scalars(query.order_by(order).limit(limit + 1))).all())
    more = len(rows) > limit
    shown = sorted(rows[:limit], key=lambda row: row.seq)
    attachments = await attachments_of(tx, session_id, [row.seq for row in shown])
    deliveries = await _deliveries(tx, shown)
    receipts = await _receipts(tx, shown)
    silent = await _silently_ended(tx, shown)
    views = [_message(row, attachments[row.seq], deliveries, receipts) for row in shown]
    return [
        view | {"turn_state": silent[view["turn_id"]]} if view["turn_id"] in silent else view for view in views
    ], more


async def _silently_ended(tx: Transaction, rows: list[MessageRow]) -> dict[str, str]:
    """Turns of inputs that ended without a message, by turn id: a reply that was stopped before its first word (S8)."""
    ids = [row.turn_id for row in rows if row.role == "user" and row.turn_id is not None]
    query = select(TurnRow.turn_id, TurnRow.state).where(
        TurnRow.turn_id.in_(ids), TurnRow.message_seq.is_(None), TurnRow.state.in_(["stopped", "failed"])
    )
    return {turn_id: state for turn_id, state in await tx.session.execute(query)}


async def _receipts(tx: Transaction, rows: list[MessageRow]) -> dict[str, ReceiptRow]:
    ids = [row.request_id for row in rows if row.request_id is not None]
    query = select(ReceiptRow).where(
        ReceiptRow.user_space == tx.scope.user_space,
        ReceiptRow.domain == tx.scope.domain,
        ReceiptRow.request_id.in_(ids),
    )
    return {row.request_id: row for row in await tx.session.scalars(query)}


async def _deliveries(tx: Transaction, rows: list[MessageRow]) -> dict[str, DeliveryRow]:
    ids = [row.delivery_id for row in rows if row.delivery_id is not None]
    found = await tx.session.scalars(select(DeliveryRow).where(DeliveryRow.delivery_id.in_(ids)))
    return {row.delivery_id: row for row in found}


def _message(
    row: MessageRow,
    attachments: list[AttachmentRow],
    deliveries: dict[str, DeliveryRow],
    receipts: dict[str, ReceiptRow],
) -> Json:
    view: Json = {
        "session_id": row.session_id,
        "seq": row.seq,
        "role": row.role,
        "text": row.text,
        "time": wire_time(row.time),
        "turn_id": row.turn_id,
        "origin": row.origin,
        "attachments": [attachment_view(attachment) for attachment in attachments],
        "reaction_eligible": False,
        "reactions": {"revision": 0},
    }
    if row.delivery_id is not None and row.delivery_id in deliveries:
        delivery = deliveries[row.delivery_id]
        view["delivery"] = {
            "delivery_id": delivery.delivery_id,
            "kind": delivery.kind,
            f"{delivery.owner_kind}_id": delivery.owner_id,
        }
    if row.request_id is not None and row.request_id in receipts:
        view["receipt"] = receipt_view(receipts[row.request_id])
    if row.interrupted:
        view["interrupted"] = True
    if row.approval_id is not None:
        view["card"] = row.approval_id
    return view


def attachment_view(row: AttachmentRow) -> Json:
    """An attachment's metadata (C10)."""
    return {
        "attachment_id": row.attachment_id,
        "name": row.name,
        "media_type": row.media_type,
        "size": row.size,
        "sha256": row.sha256,
    }


async def message_attachment(tx: Transaction, session_id: str, seq: int, attachment_id: str) -> AttachmentRow:
    """An attachment of a message of the main session.

    Raises:
        Refused: `not_found` unless exactly this message carries it (P2).
    """
    await main_session(tx, session_id)
    query = (
        select(AttachmentRow)
        .join(MessageAttachmentRow, MessageAttachmentRow.attachment_id == AttachmentRow.attachment_id)
        .where(
            MessageAttachmentRow.session_id == session_id,
            MessageAttachmentRow.seq == seq,
            AttachmentRow.attachment_id == attachment_id,
        )
    )
    row = (await tx.session.scalars(query)).first()
    if row is None:
        raise refuse("not_found", "No such attachment of this message.")
    return row
