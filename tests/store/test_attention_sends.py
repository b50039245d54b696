"""Sends to channels outside of the page (N4, N9): each attempt decided anew, spaced per device, merged, given up."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import update

from domain.refusal import Refused
from store import attention_sends, push_subscriptions, seen
from store.attention_sends import Attempt
from store.tables_attention import AttentionSendRow, PushSubscriptionRow
from tests.attention_acts import (
    agent,
    channel,
    device,
    groups,
    look,
    make_sends_due,
    news,
    prefer,
    rested,
    sends,
)
from tests.control_plane import Plane
from tests.store.test_attention import quiet_now


async def take(plane: Plane, agent_id: str = "twin") -> list[Attempt]:
    async with plane.database.write(plane.scope) as tx:
        return await attention_sends.take_due(tx, agent_id, 16)


async def took(plane: Plane, attempt: Attempt) -> int:
    async with plane.database.write(plane.scope) as tx:
        return await attention_sends.sent(tx, attempt)


async def states(plane: Plane) -> list[tuple[str, str | None]]:
    return [(send.state, send.reason) for send in await sends(plane)]


async def test_every_channel_gets_one_send_which_the_workflow_is_told_of(plane: Plane) -> None:
    """N9, N2: after the moment in which a page says that it was seen; the group ends when all of them have."""
    browser = await device(plane)
    await channel(plane, f"{plane.scope.user_space}-1")
    await news(plane)
    [group] = await groups(plane)
    assert group.state == "due"
    assert {(send.channel_id, send.kind) for send in await sends(plane)} == {
        (browser, "push"), (f"{plane.scope.user_space}-1", "apprise"),
    }  # fmt: skip
    assert (await look(plane)).state == "wait"
    assert await take(plane) == []
    await make_sends_due(plane)
    assert (await look(plane)).state == "send"
    attempts = await take(plane)
    assert {attempt.channel_id for attempt in attempts} == {send.channel_id for send in await sends(plane)}
    assert (await look(plane)).state == "wait", "what was taken is leased"
    assert await take(plane) == []
    for attempt in attempts:
        assert await took(plane, attempt) == 0
    assert await states(plane) == [("sent", None)] * 2
    assert [row.state for row in await groups(plane)] == ["sent"]
    assert (await look(plane)).state == "idle"


async def test_a_device_gets_one_push_in_thirty_seconds_with_the_newest_place(plane: Plane) -> None:
    """N9: of all agents; the others end as merged, and nothing is dropped for it."""
    other = await agent(plane)
    browser = await device(plane)
    await news(plane)
    await make_sends_due(plane)
    [first] = await take(plane)
    await took(plane, first)
    await news(plane)
    newest = await news(plane, other)
    await make_sends_due(plane)
    assert await take(plane) == []
    waiting = [send.due_at for send in await sends(plane) if send.state == "pending"]
    assert waiting == [_plus(await _last_sent(plane, browser), 30)] * 2
    await rested(plane)
    await make_sends_due(plane)
    [second] = await take(plane)
    assert (second.agent_id, second.locator) == (other, newest)
    assert await took(plane, second) == 1
    assert sorted(state for state, _ in await states(plane)) == ["merged", "sent", "sent"]
    assert (await look(plane)).state == (await look(plane, other)).state == "idle"


async def test_what_comes_while_a_push_is_under_way_is_not_merged_into_it(plane: Plane) -> None:
    """N9: its place is newer than the one that was sent."""
    await device(plane)
    await news(plane)
    await make_sends_due(plane)
    [attempt] = await take(plane)
    await news(plane)
    assert await took(plane, attempt) == 0
    assert [state for state, _ in await states(plane)] == ["sent", "pending"]


async def test_a_failing_channel_is_retried_for_an_hour_and_then_given_up(plane: Plane) -> None:
    """N9: with back-off; what a service asked for is kept for everything that goes there."""
    browser = await device(plane)
    await news(plane)
    await make_sends_due(plane)
    [attempt] = await take(plane)
    async with plane.database.write(plane.scope) as tx:
        assert await attention_sends.try_later(tx, attempt, 300)
        now = tx.now
    [send] = await sends(plane)
    assert (send.state, send.tries) == ("pending", 1)
    assert send.due_at == now + timedelta(seconds=300)
    await news(plane)
    await rested(plane)
    async with plane.database.write(plane.scope) as tx:
        fresh = AttentionSendRow.channel_id == browser, AttentionSendRow.tries == 0
        await tx.session.execute(update(AttentionSendRow).where(*fresh).values(due_at=tx.now))
    assert await take(plane) == []
    assert [row.due_at for row in await sends(plane)] == [now + timedelta(seconds=300)] * 2
    async with plane.database.write(plane.scope) as tx:
        old = AttentionSendRow.channel_id == browser, AttentionSendRow.tries == 1
        await tx.session.execute(update(AttentionSendRow).where(*old).values(first_at=tx.now - timedelta(hours=1)))
        assert not await attention_sends.try_later(tx, attempt, None)
    assert (await states(plane))[0] == ("failed", "gave_up")
    assert [row.state for row in await groups(plane)] == ["sent", "due"]


async def test_a_refused_push_is_recorded_and_a_gone_device_is_removed(plane: Plane) -> None:
    """N9: 404 and 410 remove the subscription and end what waits for it; other refusals end one send."""
    gone, kept = await device(plane, "https://push.example.com/1"), await device(plane, "https://push.example.com/2")
    await news(plane)
    await news(plane)
    await make_sends_due(plane)
    attempts = {attempt.channel_id: attempt for attempt in await take(plane)}
    async with plane.database.write(plane.scope) as tx:
        await attention_sends.channel_gone(tx, attempts[gone], 410)
        await attention_sends.rejected(tx, attempts[kept], "rejected_400")
    ended = {(send.channel_id, send.state, send.reason) for send in await sends(plane)}
    assert ended == {
        (gone, "gone", "channel_removed"), (kept, "failed", "rejected_400"), (kept, "pending", None),
    }  # fmt: skip
    row = await plane.only(PushSubscriptionRow, PushSubscriptionRow.subscription_id == gone)
    assert row.removed_at is not None
    assert (row.reason, row.endpoint, row.p256dh, row.auth) == ("gone_410", "", "", "")
    await news(plane)
    assert [send.channel_id for send in await sends(plane)].count(gone) == 2


@pytest.mark.parametrize("why", ["seen", "notifications_off"])
async def test_every_attempt_is_checked_anew(plane: Plane, why: str) -> None:
    """N4, N12: read or switched off between the notice and the attempt, or between two of them."""
    await device(plane)
    place = await news(plane)
    if why == "seen":
        async with plane.database.write(plane.scope) as tx:
            await seen.note(tx, plane.main_session_id, place.seq or 0)
    else:
        await prefer(plane, notifications={"enabled": False})
    await make_sends_due(plane)
    assert await take(plane) == []
    assert await states(plane) == [("dropped", why)]
    assert [row.state for row in await groups(plane)] == ["sent"]


async def test_quiet_hours_put_attempts_off(plane: Plane) -> None:
    """N8: nothing is sent in them, and the hour of trying begins at their end."""
    await device(plane)
    await news(plane)
    await prefer(plane, quiet_hours=quiet_now())
    await make_sends_due(plane)
    assert await take(plane) == []
    [send] = await sends(plane)
    assert send.state == "pending"
    assert send.first_at == send.due_at
    assert send.due_at - (await groups(plane))[0].newest_at > timedelta(minutes=59)


async def test_a_removed_channel_gets_nothing_more(plane: Plane) -> None:
    """N9: also what was on its way; the keys of that browser are not kept."""
    browser = await device(plane)
    await news(plane)
    async with plane.database.write(plane.scope) as tx:
        await push_subscriptions.unregister(tx, browser, "owner", is_owner=True)
        await push_subscriptions.unregister(tx, browser, "owner", is_owner=True)
    await make_sends_due(plane)
    assert await take(plane) == []
    assert await states(plane) == [("gone", "channel_removed")]
    row = await plane.only(PushSubscriptionRow, PushSubscriptionRow.subscription_id == browser)
    assert (row.reason, row.endpoint, row.p256dh, row.auth) == ("unregistered", "", "", "")


async def test_an_endpoint_is_one_subscription_and_a_device_ends_its_own(plane: Plane, other: Plane) -> None:
    """N9, H20: registered again it is the same; another device's or another space's is not found."""
    first = await device(plane, principal="device_1")
    assert await device(plane, principal="device_1") == first
    elsewhere = await device(other)
    for subscription_id, principal in ((first, "device_2"), (elsewhere, "device_1"), ("push_none", "device_1")):
        with pytest.raises(Refused, match="not_found"):
            async with plane.database.write(plane.scope) as tx:
                await push_subscriptions.unregister(tx, subscription_id, principal, is_owner=False)
    async with plane.database.write(plane.scope) as tx:
        await push_subscriptions.unregister(tx, first, "device_1", is_owner=False)
    assert await device(plane) != first


async def test_subscriptions_are_bounded(plane: Plane) -> None:
    """N9, N13: 64 browsers, then it is said which to end."""
    async with plane.database.write(plane.scope) as tx:
        for number in range(push_subscriptions.SUBSCRIPTIONS):
            await push_subscriptions.register(tx, f"https://push.example.com/{number}", "key", "auth", "owner")
        await tx.session.flush()
        with pytest.raises(Refused) as refused:
            await push_subscriptions.register(tx, "https://push.example.com/more", "key", "auth", "owner")
    assert refused.value.refusal.details["limit"] == push_subscriptions.SUBSCRIPTIONS


async def _last_sent(plane: Plane, subscription_id: str) -> datetime:
    row = await plane.only(PushSubscriptionRow, PushSubscriptionRow.subscription_id == subscription_id)
    assert row.last_sent_at is not None
    return row.last_sent_at


def _plus(moment: datetime, seconds: int) -> datetime:
    return moment + timedelta(seconds=seconds)
