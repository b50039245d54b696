"""Sending to channels outside of the page (N9): what may be sent is taken, tried side by side, and recorded.

Every attempt is decided by rows right before it is made, so a retry or replay of this step decides anew (N4). What a
channel answers concerns its own send alone: no failure here reaches the result that is announced.
"""

import asyncio
import base64
import hashlib
import json
from typing import Final

from temporalio import activity

from activities.heartbeat import beating
from activities.scopes import scope_of
from adapters.apprise_channel import notify
from adapters.credential_store import CredentialsUnavailable
from adapters.notification_secrets import NotificationSecrets
from adapters.web_push import PushOutcome, send_push
from adapters.web_push_subscription import PushSubscription
from contracts.attention import AttentionActivities, AttentionRef, AttentionSent
from domain.notification import push_payload, words
from domain.user_settings import in_force
from store import attention_sends, user_settings
from store.attention_sends import Attempt
from store.database import Database, Transaction

SIDE_BY_SIDE: Final = 16
"""Channels tried at once; what is left is due and is taken by the next step."""
TTL_S: Final = 3600
"""How long a push service keeps a push for a device that is not there: as long as this host would try."""
BUSY: Final = PushOutcome("busy")


class AttentionSending(AttentionActivities):
    """The sends of an agent's attention; served by the host, which has the channels' secrets."""

    def __init__(self, database: Database, secrets: NotificationSecrets) -> None:
        self._database = database
        self._secrets = secrets

    @activity.defn(name="attention.send")
    async def send(self, agent: AttentionRef) -> AttentionSent:
        """Try the channels that are due for the agent's announced groups, each after a fresh check (N4, N9)."""
        async with beating():
            async with self._database.write(scope_of(agent)) as tx:
                attempts = await attention_sends.take_due(tx, agent.agent_id, SIDE_BY_SIDE)
                sentence = words(in_force(await user_settings.choices(tx))["language"])
            outcomes = await asyncio.gather(*(self._try(attempt, sentence) for attempt in attempts))
            counts = {"sent": 0, "merged": 0, "later": 0, "failed": 0}
            async with self._database.write(scope_of(agent)) as tx:
                for attempt, outcome in zip(attempts, outcomes, strict=True):
                    await _record(tx, attempt, outcome, counts)
        return AttentionSent(**counts)

    async def _try(self, attempt: Attempt, sentence: str) -> PushOutcome:
        try:
            return await (self._push(attempt) if attempt.device is not None else self._notify(attempt, sentence))
        except CredentialsUnavailable:
            activity.logger.warning("a channel's secret cannot be read now")
            return BUSY

    async def _push(self, attempt: Attempt) -> PushOutcome:
        assert attempt.device is not None
        device = PushSubscription(attempt.device.endpoint, attempt.device.p256dh, attempt.device.auth)
        payload = json.dumps(push_payload(attempt.agent_id, attempt.group_id, attempt.locator)).encode()
        key = await self._secrets.push_key()
        return await send_push(device, payload, key, ttl_s=TTL_S, topic=topic_of(attempt.agent_id))

    async def _notify(self, attempt: Attempt, sentence: str) -> PushOutcome:
        address = await self._secrets.address(attempt.channel_id)
        if address is None:
            return PushOutcome("gone")
        return PushOutcome("delivered") if await notify(address, sentence, sentence) == "sent" else BUSY


def topic_of(agent_id: str) -> str:
    """What makes a push service replace an older push of the same agent that still waits there (RFC 8030).

    A hash: the service learns nothing of the agent. A push repeated after a crash replaces itself by this.
    """
    return base64.urlsafe_b64encode(hashlib.sha256(agent_id.encode()).digest())[:32].decode("ascii")


async def _record(tx: Transaction, attempt: Attempt, outcome: PushOutcome, counts: dict[str, int]) -> None:
    match outcome.outcome:
        case "delivered":
            counts["sent"] += 1
            counts["merged"] += await attention_sends.sent(tx, attempt)
        case "busy":
            again = await attention_sends.try_later(tx, attempt, outcome.retry_after_s)
            counts["later" if again else "failed"] += 1
        case "gone":
            await attention_sends.channel_gone(tx, attempt, outcome.status)
            counts["failed"] += 1
        case "rejected":
            await attention_sends.rejected(tx, attempt, f"rejected_{outcome.status}")
            counts["failed"] += 1
