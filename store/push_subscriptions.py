"""Browsers' push subscriptions (N9): registered by the device itself, removed by it or by its push service."""

from typing import Final

from sqlalchemy import func, select

from domain.refusal import refuse
from store.database import Transaction
from store.tables_attention import PushSubscriptionRow

SUBSCRIPTIONS: Final = 64
UNREGISTERED: Final = "unregistered"


async def register(tx: Transaction, endpoint: str, p256dh: str, auth: str, principal: str) -> PushSubscriptionRow:
    """Register a subscription; the same endpoint again is the same one, with its newest keys and owner.

    Raises:
        Refused: `invalid_params` when 64 are registered.
    """
    active = (
        PushSubscriptionRow.user_space == tx.scope.user_space,
        PushSubscriptionRow.domain == tx.scope.domain,
        PushSubscriptionRow.removed_at.is_(None),
    )
    query = select(PushSubscriptionRow).where(*active, PushSubscriptionRow.endpoint == endpoint)
    row = (await tx.session.scalars(query)).first()
    if row is not None:
        row.p256dh, row.auth, row.principal = p256dh, auth, principal
        return row
    count = await tx.session.scalar(select(func.count()).select_from(PushSubscriptionRow).where(*active))
    if (count or 0) >= SUBSCRIPTIONS:
        message = f"{SUBSCRIPTIONS} browsers are subscribed already. Unsubscribe one that is not used any more."
        raise refuse("invalid_params", message, limit=SUBSCRIPTIONS)
    row = PushSubscriptionRow(
        subscription_id=tx.new_id("push"),
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        endpoint=endpoint,
        p256dh=p256dh,
        auth=auth,
        principal=principal,
        created_at=tx.now,
    )
    tx.session.add(row)
    return row


async def unregister(tx: Transaction, subscription_id: str, principal: str, *, is_owner: bool) -> None:
    """End a subscription; a device ends its own, the owner any. Ended again, it stays ended.

    Raises:
        Refused: `not_found` for an unknown one or another device's, alike (P1).
    """
    row = await tx.session.get(PushSubscriptionRow, subscription_id)
    own_scope = row is not None and (row.user_space, row.domain) == (tx.scope.user_space, tx.scope.domain)
    if row is None or not own_scope or not (is_owner or row.principal == principal):
        raise refuse("not_found", "No such push subscription.")
    end(tx, row, UNREGISTERED)


def end(tx: Transaction, row: PushSubscriptionRow, reason: str) -> None:
    """End a subscription, for the first reason that there is; where and how to push to that browser is forgotten."""
    if row.removed_at is None:
        row.removed_at, row.reason = tx.now, reason
        row.endpoint = row.p256dh = row.auth = ""
