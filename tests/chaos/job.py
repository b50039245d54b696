"""One piece of work of a round: what people do about it, and what must be true of it when everything rests."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from tests.blackbox.rpc_client import Json

LARGE = 100_000


def of_size(size: int) -> str:
    """What stands for the content of a large file."""
    return f"<{size} bytes>"


@dataclass
class FileChange:
    """One effect's file: its content before, and after exactly one dispatch."""

    path: str
    before: str | None
    after: str

    def found(self, folder: Path) -> str | None:
        """What is there now; of a large file only its size."""
        path = folder / self.path
        if not path.exists():
            return None
        size = path.stat().st_size
        return path.read_text() if size < LARGE else of_size(size)


@dataclass(frozen=True)
class Stopped:
    """What was there at the moment at which a stop said that it is done."""

    seen_at: str
    """RFC 3339, by this machine's clock, which is the Steward's too."""
    steps: int
    effects: Mapping[str, str]
    """The state of each effect of what the stop covers."""
    files: Mapping[str, str | None]


@dataclass(frozen=True)
class Overtaken:
    """A person's own change of a file, made right after the worker had died while it wrote that file."""

    at: str
    effect_id: str
    content: str


@dataclass
class OwnWork:
    """A turn of the conversation that makes changes itself (A13): what it says before and after its cards."""

    turn_id: str
    before: str
    after: str
    is_stopped: bool = False
    cards: set[str] = field(default_factory=set)

    def parts(self, messages: Iterable[Json]) -> list[Json]:
        """The replies that belong to it: of its turn, with one of its cards, or with its last words."""
        replies = (message for message in messages if message["role"] == "assistant")
        return [reply for reply in replies if self._is_of(reply)]

    def _is_of(self, reply: Json) -> bool:
        return reply["turn_id"] == self.turn_id or reply.get("card") in self.cards or self.after in reply["text"]

    @property
    def text(self) -> str:
        """All that its replies say together."""
        return self.before if self.is_stopped else f"{self.before}\n\n{self.after}"


@dataclass
class Job:
    """One piece of work: what people do about it, and what must be true of it at rest."""

    tag: str
    card: Literal["allow", "deny", "leave"] = "allow"
    question: Literal["answer", "cancel", "leave"] = "answer"
    ends: Collection[str] = ("completed",)
    titles: list[str] = field(default_factory=list)
    changes: list[FileChange] = field(default_factory=list)
    results: dict[int, str] = field(default_factory=dict)
    """The text of the result's reply, by requirement version."""
    stop_wanted: bool = False
    stopped: Stopped | None = None
    own: OwnWork | None = None
    overtaken: Overtaken | None = None

    def owns_card(self, shown: Json) -> bool:
        """Whether a card or an effect of the conversation is about a file of this job."""
        return any(change.path in shown["words"] for change in self.changes)


@dataclass
class Reply:
    """What a send's turn must have left behind."""

    text: str
    may_be_cut: bool = False
    may_park: bool = False
    """It is told in parts, and checked with its job."""
