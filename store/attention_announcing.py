"""Announcing a group (N7, N9): the page's notice at once, and one send for every other channel of the person."""

from datetime import datetime

from sqlalchemy import func, literal, select, union_all

from domain.attention import first_attempt
from store import changes
from store.attention_locators import locator_of
from store.database import Transaction
from store.tables_attention import AttentionGroupRow, AttentionSendRow, NotificationChannelRow, PushSubscriptionRow

DUE, SENT = "due", "sent"
PENDING = "pending"
PUSH = "push"
TOPIC = "notification"


async def announce(tx: Transaction, group: AttentionGroupRow) -> bool:
    """Announce a group now, an open or a new one; whether its agent's workflow has to be told of something to send.

    It has not when it looks by itself at the first moment at which this may be sent.
    """
    locator = locator_of(group).wire()
    changes.notify(tx, TOPIC, group_id=group.group_id, agent_id=group.agent_id, locator=locator)
    channels = await _channels(tx)
    group.state = DUE if channels else SENT
    group.closed_at = None if channels else tx.now
    tx.session.add(group)
    await tx.session.flush()
    if not channels:
        return False
    first = first_attempt(group.newest_at, tx.now)
    waiting = await earliest_pending(tx, group.agent_id)
    tx.session.add_all(_send(group, channel_id, kind, first) for channel_id, kind in channels)
    await tx.session.flush()
    return waiting is None or waiting > first


async def earliest_pending(tx: Transaction, agent_id: str) -> datetime | None:
    """When the first of the agent's sends is due, None when nothing waits to be sent."""
    return await tx.session.scalar(
        select(func.min(AttentionSendRow.due_at))
        .join(AttentionGroupRow, AttentionGroupRow.group_id == AttentionSendRow.group_id)
        .where(
            AttentionGroupRow.user_space == tx.scope.user_space,
            AttentionGroupRow.domain == tx.scope.domain,
            AttentionGroupRow.state == DUE,
            AttentionGroupRow.agent_id == agent_id,
            AttentionSendRow.state == PENDING,
        )
    )


async def _channels(tx: Transaction) -> list[tuple[str, str]]:
    devices = select(PushSubscriptionRow.subscription_id, literal(PUSH)).where(
        PushSubscriptionRow.user_space == tx.scope.user_space,
        PushSubscriptionRow.domain == tx.scope.domain,
        PushSubscriptionRow.removed_at.is_(None),
    )
    services = select(NotificationChannelRow.channel_id, NotificationChannelRow.kind).where(
        NotificationChannelRow.user_space == tx.scope.user_space,
        NotificationChannelRow.domain == tx.scope.domain,
        NotificationChannelRow.removed_at.is_(None),
    )
    return [(channel_id, kind) for channel_id, kind in await tx.session.execute(union_all(devices, services))]


def _send(group: AttentionGroupRow, channel_id: str, kind: str, first: datetime) -> AttentionSendRow:
    return AttentionSendRow(
        group_id=group.group_id,
        channel_id=channel_id,
        kind=kind,
        state=PENDING,
        reason=None,
        tries=0,
        first_at=first,
        due_at=first,
    )
