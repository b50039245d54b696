"""What a notification may say (N1, N7): that an agent has news, and where it is. Never what the news is."""

from dataclasses import dataclass
from typing import Final, Literal

LocatorKind = Literal["message", "card"]
Language = Literal["en", "zh"]

WORDS: Final[dict[str, str]] = {"en": "Twin has news", "zh": "Twin 有新消息"}
"""One sentence for all agents: a name that the person gave one is the person's own, and channels are other people's."""


@dataclass(frozen=True, slots=True)
class Locator:
    """Where the news is: a message by session and sequence, or a card by its id (N1)."""

    kind: LocatorKind
    session_id: str | None = None
    seq: int | None = None
    card_id: str | None = None

    def wire(self) -> dict[str, str | int]:
        """The locator as clients and devices get it (api.md, event `notification`)."""
        if self.kind == "card":
            return {"kind": "card", "card_id": self.card_id or ""}
        return {"kind": "message", "session_id": self.session_id or "", "seq": self.seq or 0}


def message_at(session_id: str, seq: int) -> Locator:
    """The place of a stored message."""
    return Locator("message", session_id=session_id, seq=seq)


def card(card_id: str) -> Locator:
    """The place of an approval card."""
    return Locator("card", card_id=card_id)


def words(language: str) -> str:
    """The sentence of a notification in the person's language; English for one that is not known."""
    return WORDS.get(language, WORDS["en"])


def push_payload(agent_id: str, group_id: str, locator: Locator) -> dict[str, object]:
    """What a device gets (N7, N9): ids alone; it looks up the rest with its own credential."""
    return {"kind": "news", "agent_id": agent_id, "group_id": group_id, "locator": locator.wire()}
