"""Channels outside of the page, with real bytes (N4, N7, N9, P15): a push service and a webhook on loopback."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.attention_sending import AttentionSending, topic_of
from adapters.credential_store import CredentialStore
from adapters.notification_secrets import NotificationSecrets
from contracts.attention import AttentionRef, AttentionSent
from store import push_subscriptions
from store.tables_attention import PushSubscriptionRow
from tests.attention_acts import channel, groups, make_sends_due, news, prefer, rested, sends
from tests.control_plane import Plane
from tests.push_service import Answer, PushService, Webhook


@pytest.fixture
def secrets(tmp_path: Path) -> NotificationSecrets:
    return NotificationSecrets(lambda: CredentialStore(tmp_path, None))


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as running:
        yield running


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    with Webhook() as running:
        yield running


async def subscribed(plane: Plane, service: PushService) -> str:
    """A browser of the push service; its subscription id."""
    given = service.subscribe()
    async with plane.database.write(plane.scope) as tx:
        row = await push_subscriptions.register(tx, given.endpoint, given.p256dh, given.auth, "owner")
    return row.subscription_id


async def send(plane: Plane, secrets: NotificationSecrets) -> AttentionSent:
    """What the workflow has done when something is due."""
    await make_sends_due(plane)
    ref = AttentionRef(user_space=plane.scope.user_space, domain=plane.scope.domain, agent_id="twin")
    return await AttentionSending(plane.database, secrets).send(ref)


async def test_a_push_carries_the_place_and_nothing_else(
    plane: Plane, service: PushService, secrets: NotificationSecrets
) -> None:
    """N7, N9: encrypted for the browser, with the installation's key, and replaced by the agent's next one."""
    await subscribed(plane, service)
    place = await news(plane)
    assert await send(plane, secrets) == AttentionSent(sent=1)
    [push] = service.pushes
    [group] = await groups(plane)
    assert json.loads(push.payload) == {
        "kind": "news", "agent_id": "twin", "group_id": group.group_id, "locator": place.wire(),
    }  # fmt: skip
    assert push.headers["topic"] == topic_of("twin")
    assert push.application_server_key == (await secrets.push_key()).application_server_key()
    assert (await send(plane, secrets)) == AttentionSent()
    assert len(service.pushes) == 1


async def test_a_webhook_gets_one_sentence_in_the_persons_language(
    plane: Plane, webhook: Webhook, secrets: NotificationSecrets, caplog: pytest.LogCaptureFixture
) -> None:
    """N7, N9, P15: no text and no id; its address is read where secrets are kept, and is in no row and no log."""
    caplog.set_level(logging.INFO)
    channel_id = f"channel-{plane.scope.user_space}"
    await secrets.keep(channel_id, webhook.url("/zqtoken"))
    await channel(plane, channel_id)
    await prefer(plane, language="zh")
    await news(plane)
    assert await send(plane, secrets) == AttentionSent(sent=1)
    [message] = webhook.messages()
    assert (message["title"], message["message"]) == ("Twin 有新消息", "Twin 有新消息")
    assert "private words" not in json.dumps(message)
    assert "zqtoken" not in caplog.text
    assert [row.state for row in await sends(plane)] == ["sent"]


@pytest.mark.parametrize(
    ("answer", "sent", "state", "reason"),
    [
        (Answer(410), AttentionSent(failed=1), "gone", "channel_removed"),
        (Answer(404), AttentionSent(failed=1), "gone", "channel_removed"),
        (Answer(400), AttentionSent(failed=1), "failed", "rejected_400"),
        (Answer(429, {"Retry-After": "120"}), AttentionSent(later=1), "pending", None),
        (Answer(503), AttentionSent(later=1), "pending", None),
        (Answer(instead="reset"), AttentionSent(later=1), "pending", None),
    ],
)
async def test_what_a_push_service_answers_concerns_its_send_alone(
    plane: Plane,
    service: PushService,
    secrets: NotificationSecrets,
    answer: Answer,
    sent: AttentionSent,
    state: str,
    reason: str | None,
) -> None:
    """N9: recorded, retried later or removed; the other browser has its push."""
    other = await subscribed(plane, service)
    subscription = await subscribed(plane, service)
    await news(plane)
    path = service.address
    rows = {row.subscription_id: row.endpoint for row in await plane.rows(PushSubscriptionRow)}
    usual = service.take

    def take(request: object) -> Answer | None:
        taken = usual(request)  # type: ignore[arg-type]
        return answer if f"{path}{request.path}" == rows[subscription] else taken  # type: ignore[attr-defined]

    service.take = take  # type: ignore[method-assign]
    assert await send(plane, secrets) == sent.model_copy(update={"sent": 1})
    found = {row.channel_id: (row.state, row.reason) for row in await sends(plane)}
    assert found == {other: ("sent", None), subscription: (state, reason)}
    removed = await plane.only(PushSubscriptionRow, PushSubscriptionRow.subscription_id == subscription)
    assert (removed.removed_at is not None) == (state == "gone")


async def test_a_retry_delivers_the_newest_place_once(
    plane: Plane, service: PushService, secrets: NotificationSecrets
) -> None:
    """N9: what failed and what came since are one push."""
    await subscribed(plane, service)
    service.answer_next(Answer(500))
    await news(plane)
    assert await send(plane, secrets) == AttentionSent(later=1)
    newest = await news(plane)
    await rested(plane)
    assert await send(plane, secrets) == AttentionSent(sent=1, merged=1)
    assert json.loads(service.pushes[-1].payload)["locator"] == newest.wire()
    assert [row.state for row in await groups(plane)] == ["sent", "sent"]


async def test_a_step_repeated_after_a_crash_sends_at_most_once_more(
    plane: Plane, service: PushService, secrets: NotificationSecrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N9: a process that dies between the answer and the record; the repetition has the same topic, and replaces."""
    await subscribed(plane, service)
    await news(plane)

    async def dies(*_given: object) -> int:
        raise ConnectionError("the process died here")

    with monkeypatch.context() as patched:
        patched.setattr("store.attention_sends.sent", dies)
        with pytest.raises(ConnectionError):
            await send(plane, secrets)
    assert [row.state for row in await sends(plane)] == ["pending"]
    assert await send(plane, secrets) == AttentionSent(), "half a minute has not passed"
    await rested(plane)
    assert await send(plane, secrets) == AttentionSent(sent=1)
    assert len(service.pushes) == 2
    assert len({push.headers["topic"] for push in service.pushes}) == 1


async def test_a_channel_without_its_address_is_over(plane: Plane, secrets: NotificationSecrets) -> None:
    """P15: a secret that was forgotten, or a store that was lost, fails the channel's sends and nothing else."""
    await channel(plane, f"channel-{plane.scope.user_space}")
    await news(plane)
    assert await send(plane, secrets) == AttentionSent(failed=1)
    assert [row.state for row in await groups(plane)] == ["sent"]
