"""Choosing attachments for a send or a task: they exist in this scope, fit the limits, and are kept from now on."""

from collections.abc import Sequence

from sqlalchemy import select

from domain.limits import check_attachments
from domain.refusal import accepted, refuse
from store.database import Transaction
from store.tables_conversation import AttachmentRow


async def choose(tx: Transaction, attachment_ids: Sequence[str]) -> list[AttachmentRow]:
    """The named attachments in order (C7), marked as referenced.

    Raises:
        Refused: `invalid_params` for too many, too large or repeated ones; `not_found` for unknown ones (P1).
    """
    accepted(check_attachments(len(attachment_ids), 0))
    if len(set(attachment_ids)) != len(attachment_ids):
        raise refuse("invalid_params", "An attachment is named twice.", field="attachment_ids")
    if not attachment_ids:
        return []
    rows = await tx.session.scalars(
        select(AttachmentRow).where(
            AttachmentRow.user_space == tx.scope.user_space,
            AttachmentRow.domain == tx.scope.domain,
            AttachmentRow.attachment_id.in_(attachment_ids),
        )
    )
    found = {row.attachment_id: row for row in rows}
    if len(found) != len(attachment_ids):
        raise refuse("not_found", "An attachment does not exist, or was deleted unused. Upload it again.")
    chosen = [found[attachment_id] for attachment_id in attachment_ids]
    accepted(check_attachments(len(chosen), sum(row.size for row in chosen)))
    for row in chosen:
        row.referenced = True
    return chosen
