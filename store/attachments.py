"""Uploads (C9): their metadata, and which of them nobody has used and may be deleted."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import delete, select

from store.database import Transaction
from store.tables_conversation import AttachmentRow

UNUSED_FOR = timedelta(hours=24)


def add_upload(
    tx: Transaction, attachment_id: str, *, name: str, media_type: str, size: int, sha256: str
) -> AttachmentRow:
    """Record an upload whose bytes are in the managed store already; nothing refers to it yet."""
    row = AttachmentRow(
        attachment_id=attachment_id,
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        name=name,
        media_type=media_type,
        size=size,
        sha256=sha256,
        referenced=False,
        created_at=tx.now,
    )
    tx.session.add(row)
    return row


def upload_view(row: AttachmentRow) -> dict[str, Any]:
    """An upload as the wire shows it: no path, no bytes (C10)."""
    return {
        "attachment_id": row.attachment_id,
        "name": row.name,
        "media_type": row.media_type,
        "size": row.size,
        "sha256": row.sha256,
    }


async def names_of(tx: Transaction, attachment_ids: Sequence[str]) -> dict[str, str]:
    """The stored name of each of these attachments of the scope."""
    rows = await tx.session.execute(
        select(AttachmentRow.attachment_id, AttachmentRow.name).where(
            AttachmentRow.user_space == tx.scope.user_space,
            AttachmentRow.domain == tx.scope.domain,
            AttachmentRow.attachment_id.in_(attachment_ids),
        )
    )
    return {row.attachment_id: row.name for row in rows}


async def forget_unused(tx: Transaction) -> None:
    """Delete the rows of uploads that nothing has referred to for 24 hours (C9); their bytes go with the next sweep."""
    await tx.session.execute(
        delete(AttachmentRow).where(
            AttachmentRow.user_space == tx.scope.user_space,
            AttachmentRow.domain == tx.scope.domain,
            AttachmentRow.referenced.is_(False),
            AttachmentRow.created_at < tx.now - UNUSED_FOR,
        )
    )


async def kept_ids(tx: Transaction) -> set[str]:
    """The ids of all attachments whose bytes are needed, in every scope: one folder may serve one scope only."""
    return set(await tx.session.scalars(select(AttachmentRow.attachment_id)))
