"""Sends on their way to channels outside of the page (N9): taken for an attempt, and what became of it.

The hard thing is that every attempt is a fresh decision (N4): the person may have read the news meanwhile, or switched
the agent off. So an attempt is taken in a transaction of its own that checks everything, for the newest group that
still has news; when it succeeds, what is older for the same channel is merged into it. Taking leases the row for a
moment: a process that dies in between leaves it to be taken again, and that one repetition is all that can happen.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import and_, func, select, update

from domain.attention import may_say
from domain.attention_sending import next_push, retry
from domain.notification import Locator
from store import push_subscriptions, seen
from store.attention_announcing import DUE, PENDING, SENT
from store.attention_grounds import policy_for
from store.attention_locators import gone, locator_of
from store.database import Transaction
from store.tables_attention import AttentionGroupRow, AttentionSendRow, NotificationChannelRow, PushSubscriptionRow

LEASE: Final = timedelta(seconds=20)
"""Longer than any channel's time-out."""
MERGED, DROPPED, GONE, FAILED = "merged", "dropped", "gone", "failed"
GAVE_UP: Final = "gave_up"
CHANNEL_REMOVED: Final = "channel_removed"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to make: the group it announces, and where; `device` is set for a push."""

    group_id: str
    agent_id: str
    locator: Locator
    newest_at: datetime
    channel_id: str
    device: PushSubscriptionRow | None


async def take_due(tx: Transaction, agent_id: str, most: int) -> list[Attempt]:
    """The attempts that may be made now for the channels of this agent's due sends; at most `most`, one per channel.

    What may not be sent any more is dropped, with its reason; what has to wait is put off.
    """
    query = (
        select(AttentionSendRow.channel_id)
        .join(AttentionGroupRow, AttentionGroupRow.group_id == AttentionSendRow.group_id)
        .where(
            AttentionGroupRow.user_space == tx.scope.user_space,
            AttentionGroupRow.domain == tx.scope.domain,
            AttentionGroupRow.state == DUE,
            AttentionGroupRow.agent_id == agent_id,
            AttentionSendRow.state == PENDING,
            AttentionSendRow.due_at <= tx.now,
        )
        .distinct()
        .order_by(AttentionSendRow.channel_id)
        .limit(most)
    )
    channels = list(await tx.session.scalars(query))
    attempts = [await _attempt(tx, channel_id) for channel_id in channels]
    await settle_groups(tx)
    return [attempt for attempt in attempts if attempt is not None]


async def _attempt(tx: Transaction, channel_id: str) -> Attempt | None:
    device = await tx.session.get(PushSubscriptionRow, channel_id)
    channel = await tx.session.get(NotificationChannelRow, channel_id) if device is None else None
    place = device or channel
    if place is None or place.removed_at is not None:
        await _end_all(tx, channel_id, GONE, CHANNEL_REMOVED)
        return None
    earliest = next_push(None if device is None else device.last_sent_at, await _asked_to_wait(tx, channel_id), tx.now)
    if earliest > tx.now:
        await _put_off(tx, channel_id, earliest)
        return None
    while (found := await _newest_due(tx, channel_id)) is not None:
        send, group = found
        policy = await policy_for(tx, group.agent_id)
        locator = locator_of(group)
        refused = may_say(policy, await gone(tx, locator), seen=await seen.was_seen(tx, locator))
        if refused is not None:
            _end(tx, send, DROPPED, refused)
        elif policy.quiet_until is not None:
            # The hour of trying begins when it may be sent again (N8).
            send.due_at = send.first_at = policy.quiet_until
        else:
            send.due_at = tx.now + LEASE
            if device is not None:
                device.last_sent_at = tx.now
            await tx.session.flush()
            return Attempt(group.group_id, group.agent_id, locator, group.newest_at, channel_id, device)
        await tx.session.flush()
    return None


async def _newest_due(tx: Transaction, channel_id: str) -> tuple[AttentionSendRow, AttentionGroupRow] | None:
    query = (
        select(AttentionSendRow, AttentionGroupRow)
        .join(AttentionGroupRow, AttentionGroupRow.group_id == AttentionSendRow.group_id)
        .where(
            AttentionSendRow.channel_id == channel_id,
            AttentionSendRow.state == PENDING,
            AttentionSendRow.due_at <= tx.now,
        )
        .order_by(AttentionGroupRow.newest_at.desc(), AttentionGroupRow.group_id.desc())
        .limit(1)
    )
    row = (await tx.session.execute(query)).first()
    return None if row is None else (row[0], row[1])


async def _asked_to_wait(tx: Transaction, channel_id: str) -> list[datetime]:
    latest = await tx.session.scalar(
        select(func.max(AttentionSendRow.due_at)).where(
            AttentionSendRow.channel_id == channel_id, AttentionSendRow.state == PENDING, AttentionSendRow.tries > 0
        )
    )
    return [] if latest is None else [latest]


async def _put_off(tx: Transaction, channel_id: str, until: datetime) -> None:
    await tx.session.execute(
        update(AttentionSendRow)
        .where(
            AttentionSendRow.channel_id == channel_id,
            AttentionSendRow.state == PENDING,
            AttentionSendRow.due_at < until,
        )
        .values(due_at=until)
    )


async def sent(tx: Transaction, attempt: Attempt) -> int:
    """The channel took it: everything older that waited for this channel is merged into it; how many were."""
    send = await _pending(tx, attempt)
    if send is not None:
        _end(tx, send, SENT, None)
    older = select(AttentionGroupRow.group_id).where(AttentionGroupRow.newest_at <= attempt.newest_at)
    merged = await tx.session.execute(
        update(AttentionSendRow)
        .where(
            AttentionSendRow.channel_id == attempt.channel_id,
            AttentionSendRow.state == PENDING,
            AttentionSendRow.group_id != attempt.group_id,
            AttentionSendRow.group_id.in_(older),
        )
        .values(state=MERGED, ended_at=tx.now)
        .returning(AttentionSendRow.group_id)
    )
    count = len(merged.all())
    await settle_groups(tx)
    return count


async def channel_gone(tx: Transaction, attempt: Attempt, status: int | None) -> None:
    """The channel is no more: a subscription that its service says has ended is removed, nothing more is sent (N9)."""
    if attempt.device is not None:
        row = await tx.session.get_one(PushSubscriptionRow, attempt.channel_id)
        push_subscriptions.end(tx, row, f"gone_{status}")
    await _end_all(tx, attempt.channel_id, GONE, CHANNEL_REMOVED)
    await settle_groups(tx)


async def try_later(tx: Transaction, attempt: Attempt, retry_after_s: float | None) -> bool:
    """The channel did not take it now: later, or not at all after an hour (N9); whether it is tried again."""
    send = await _pending(tx, attempt)
    if send is None:
        return False
    send.tries += 1
    due = retry(send.tries, send.first_at, tx.now, retry_after_s)
    if due is None:
        _end(tx, send, FAILED, GAVE_UP)
        await settle_groups(tx)
        return False
    send.due_at = due
    return True


async def rejected(tx: Transaction, attempt: Attempt, reason: str) -> None:
    """The channel would refuse the same again: recorded, and nothing else changes (N9)."""
    send = await _pending(tx, attempt)
    if send is not None:
        _end(tx, send, FAILED, reason)
        await settle_groups(tx)


async def settle_groups(tx: Transaction) -> None:
    """Close the announced groups of which nothing waits to be sent."""
    await tx.session.flush()
    waits = (
        select(AttentionSendRow.group_id)
        .where(and_(AttentionSendRow.group_id == AttentionGroupRow.group_id, AttentionSendRow.state == PENDING))
        .exists()
    )
    await tx.session.execute(
        update(AttentionGroupRow)
        .where(
            AttentionGroupRow.user_space == tx.scope.user_space,
            AttentionGroupRow.domain == tx.scope.domain,
            AttentionGroupRow.state == DUE,
            ~waits,
        )
        .values(state=SENT, closed_at=tx.now)
    )


async def _pending(tx: Transaction, attempt: Attempt) -> AttentionSendRow | None:
    row = await tx.session.get(AttentionSendRow, (attempt.group_id, attempt.channel_id))
    return row if row is not None and row.state == PENDING else None


async def _end_all(tx: Transaction, channel_id: str, state: str, reason: str) -> None:
    await tx.session.execute(
        update(AttentionSendRow)
        .where(AttentionSendRow.channel_id == channel_id, AttentionSendRow.state == PENDING)
        .values(state=state, reason=reason, ended_at=tx.now)
    )


def _end(tx: Transaction, send: AttentionSendRow, state: str, reason: str | None) -> None:
    send.state, send.reason, send.ended_at = state, reason, tx.now
