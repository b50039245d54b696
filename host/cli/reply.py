"""Sends one input and follows its reply to the end, across lost connections (C4, H11, H13).

The request id makes sending again harmless: after a reconnect the same call reads the first one's receipt. What was
streamed is only a preview; the stored message is what counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from host.cli.reconnecting import reconnecting
from host.cli.rpc_client import RpcClient
from runtime.settings import Settings

Json = dict[str, Any]
ENDED: Final = frozenset({"completed", "failed", "stopped", "parked"})
PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class Input:
    """What to send, under which request id."""

    request_id: str
    text: str
    attachment_ids: tuple[str, ...] = ()

    async def send(self, client: RpcClient) -> Json:
        """Send it, or read the receipt of the same one sent earlier (I2)."""
        user_input = {"text": self.text, "attachment_ids": list(self.attachment_ids)}
        params = {"session_id": client.main_session}
        sent = await client.call("agents.send", params, request_id=self.request_id, user_input=user_input)
        receipt: Json = sent["receipt"]
        return receipt


@dataclass(frozen=True, slots=True)
class Reply:
    """How a reply ended: the turn's state, `done` where its end was missed, and the message stored for it, if any."""

    receipt: Json
    state: str
    message: Json | None


class Screen(Protocol):
    """Where a reply is shown while it is written."""

    def delta(self, text: str) -> None:
        """A piece of the reply."""

    def reset(self) -> None:
        """The reply begins again."""

    def card(self, card: Json) -> None:
        """The reply waits for a decision."""

    def lost(self) -> None:
        """The connection is lost; it is tried again."""


@dataclass
class Follower:
    """Follows one input's reply; `receipt` is None until it has been accepted."""

    settings: Settings
    said: Input
    screen: Screen
    receipt: Json | None = None
    _told_cards: set[str] = field(default_factory=set)

    async def reply(self) -> Reply:
        """Send the input and wait until its reply has ended.

        Raises:
            Unreachable: When nothing could be sent, or the host stays away for a minute.
            Refused: When the input is refused.
        """
        return await reconnecting(
            self.settings, self._send_and_follow, begun=lambda: self.receipt is not None, lost=self.screen.lost
        )

    async def _send_and_follow(self, client: RpcClient) -> Reply:
        self.receipt = await self.said.send(client)
        return await self._until_ended(client, self.receipt)

    async def _until_ended(self, client: RpcClient, receipt: Json) -> Reply:
        turn_id = receipt["turn_id"]
        if receipt["state"] != "accepted":
            return Reply(receipt, receipt["state"], await _reply_to(client, receipt))
        await self._show_cards(client, turn_id)
        while True:
            event = await client.event()
            if event["topic"] == "approvals":
                await self._show_cards(client, turn_id)
            elif event.get("turn_id") == turn_id and self._take(event):
                return Reply(receipt, event["state"], await _message(client, event.get("message_seq")))

    def _take(self, event: Mapping[str, Any]) -> bool:
        """Show what an event of this turn says; whether it says that the turn has ended."""
        if event["topic"] == "turn.delta":
            self.screen.delta(event["text"])
        elif event["topic"] == "turn.reset":
            self.screen.reset()
        return event["topic"] == "turn.state" and event["state"] in ENDED

    async def _show_cards(self, client: RpcClient, turn_id: str) -> None:
        for card in (await client.call("agents.approvals.list", {"state": "pending"}))["items"]:
            if card.get("turn_id") == turn_id and card["approval_id"] not in self._told_cards:
                self._told_cards.add(card["approval_id"])
                self.screen.card(card)


async def _message(client: RpcClient, seq: int | None) -> Json | None:
    if seq is None:
        return None
    wanted = {"session_id": client.main_session, "after_seq": seq - 1, "limit": 1}
    items: list[Json] = (await client.call("agents.history", wanted))["items"]
    return items[0] if items else None


async def _reply_to(client: RpcClient, receipt: Json) -> Json | None:
    """The stored reply to an input whose turn has ended: the last message of that turn."""
    after, found = receipt["message_seq"], None
    while True:
        wanted = {"session_id": client.main_session, "after_seq": after, "limit": PAGE}
        page = await client.call("agents.history", wanted)
        for message in page["items"]:
            if message["turn_id"] == receipt["turn_id"] and message["role"] == "assistant":
                found = message
        if found is not None or not page["has_more"]:
            return found
        after = page["items"][-1]["seq"]
