"""Channels that the person configured (N9): which there are, and as what they are shown; their addresses are secrets
and are kept by the credential store alone (P15).
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from domain.refusal import refuse
from store.database import Transaction
from store.tables_attention import NotificationChannelRow

Json = dict[str, Any]


async def active(tx: Transaction) -> list[NotificationChannelRow]:
    """The channels that are configured, oldest first."""
    query = (
        select(NotificationChannelRow)
        .where(
            NotificationChannelRow.user_space == tx.scope.user_space,
            NotificationChannelRow.domain == tx.scope.domain,
            NotificationChannelRow.removed_at.is_(None),
        )
        .order_by(NotificationChannelRow.channel_id)
    )
    return list(await tx.session.scalars(query))


async def channels_view(tx: Transaction) -> list[Json]:
    """The channels as the settings show them: never their addresses."""
    return [{"channel_id": row.channel_id, "kind": row.kind, "url": row.masked} for row in await active(tx)]


async def replace(tx: Transaction, kept: Sequence[str], added: Sequence[tuple[str, str, str]]) -> list[str]:
    """Make these the channels: `kept` by their ids, `added` as id, kind and what is shown; the ids that were removed.

    Raises:
        Refused: `not_found` for a kept one that is not there.
    """
    present = {row.channel_id: row for row in await active(tx)}
    if any(channel_id not in present for channel_id in kept):
        raise refuse("not_found", "No such notification channel.", field="changes.channels")
    removed = [row for channel_id, row in present.items() if channel_id not in kept]
    for row in removed:
        row.removed_at = tx.now
    tx.session.add_all(
        NotificationChannelRow(
            channel_id=channel_id,
            user_space=tx.scope.user_space,
            domain=tx.scope.domain,
            kind=kind,
            masked=masked,
            created_at=tx.now,
        )
        for channel_id, kind, masked in added
    )
    return [row.channel_id for row in removed]
