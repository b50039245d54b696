"""What waits for the person in a chat: cards, questions and permissions, asked one at a time (E10, T9, A11).

Whatever was settled elsewhere meanwhile is not asked any more. At a pipe questions are shown and not asked: any line
could be an answer, and a program's next line is mostly not meant as one.
"""

from dataclasses import dataclass
from typing import Any, Final, Protocol

from domain.refusal import Refused
from host.cli.cards import decide, get_card
from host.cli.chat_screen import ChatScreen
from host.cli.grant_words import DEFAULT_LIFETIME_S, issue, requests
from host.cli.printing import local_time
from host.cli.question_words import answer_of, open_questions, respond
from host.cli.rpc_client import RpcClient

Json = dict[str, Any]
DECISIONS: Final = {"y": "allow_once", "yes": "allow_once", "n": "deny", "no": "deny"}


class Asked(Protocol):
    """One thing that is asked."""

    @property
    def id(self) -> str:
        """Its id on the wire."""

    @property
    def gone(self) -> str:
        """What to say when somebody else was faster."""

    @property
    def later(self) -> str:
        """How to settle it later."""

    @property
    def choices(self) -> str:
        """What to say to a line that is no answer."""

    def show(self, screen: ChatScreen) -> None:
        """Show it and ask."""

    async def answer(self, client: RpcClient, line: str) -> str | None:
        """Settle it by a line; what became of it, or None when the line is no answer."""


class Waiting:
    """The queue of what is asked."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._queue: list[Asked] = []
        self._known: set[str] = set()

    @property
    def asks(self) -> bool:
        """Whether the next line is an answer."""
        return bool(self._queue)

    async def refresh(self, client: RpcClient) -> None:
        """Take up what is new, forget what was settled elsewhere, and ask what is first now."""
        cards = (await client.call("agents.approvals.list", {"state": "pending"}))["items"]
        questions = await open_questions(client)
        wanted = await requests(client)
        ids = {card["approval_id"] for card in cards} | {question["question_id"] for question in questions}
        ids |= {request["proposal_id"] for request in wanted}
        first = self._queue[0] if self._queue else None
        self._queue = [asked for asked in self._queue if asked.id in ids]
        if first is not None and first not in self._queue:
            self._screen.note(first.gone)
        for card in reversed(cards):
            if self._is_new(card["approval_id"]):
                self._take(_Card(await get_card(client, card["approval_id"])))
        for question in reversed(questions):
            if self._is_new(question["question_id"]):
                self._take(_Question(question))
        for request in reversed(wanted):
            if self._is_new(request["proposal_id"]):
                self._take(_Permission(request))
        if self._queue and self._queue[0] is not first:
            self._queue[0].show(self._screen)

    async def answer(self, client: RpcClient, line: str) -> None:
        """Settle what is asked by a line, or put it off by an empty one; then ask the next."""
        asked = self._queue[0]
        words: str | None = asked.later
        if line:
            try:
                words = await asked.answer(client, line)
            except Refused as refused:
                words = str(refused)
        if words is None:
            self._screen.note(asked.choices)
            return
        self._queue.remove(asked)
        self._screen.note(words)
        if self._queue:
            self._queue[0].show(self._screen)

    def _is_new(self, key: str) -> bool:
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def _take(self, asked: Asked) -> None:
        # The next line of a pipe is something to say: only a person at a terminal is asked.
        if self._screen.asks:
            self._queue.append(asked)
        else:
            asked.show(self._screen)


@dataclass(frozen=True)
class _Card:
    card: Json
    gone = "That card has been decided elsewhere."
    choices = "Please answer y, n, or Enter for later."

    @property
    def id(self) -> str:
        return str(self.card["approval_id"])

    @property
    def later(self) -> str:
        return f"Later: steward approvals allow {self.id}"

    def show(self, screen: ChatScreen) -> None:
        screen.card(self.card)

    async def answer(self, client: RpcClient, line: str) -> str | None:
        decision = DECISIONS.get(line.lower())
        if decision is None:
            return None
        return f"It is {(await decide(client, self.card, decision))['approval']['state']}."


@dataclass(frozen=True)
class _Question:
    question: Json
    gone = "That question has been answered or closed elsewhere."
    choices = "Please answer, or Enter for later."

    @property
    def id(self) -> str:
        return str(self.question["question_id"])

    @property
    def later(self) -> str:
        return f"Later: steward questions answer {self.id} ANSWER"

    def show(self, screen: ChatScreen) -> None:
        screen.question(self.question)

    async def answer(self, client: RpcClient, line: str) -> str | None:
        await respond(client, self.question, answer_of(self.question, line))
        return "Answered; its task goes on."


@dataclass(frozen=True)
class _Permission:
    request: Json
    gone = "That permission was given elsewhere, or is not asked for any more."
    choices = "Please answer y, or Enter for later."

    @property
    def id(self) -> str:
        return str(self.request["proposal_id"])

    @property
    def later(self) -> str:
        return f"Later: steward grants issue {self.request['task_id']}"

    def show(self, screen: ChatScreen) -> None:
        screen.permission(self.request)

    async def answer(self, client: RpcClient, line: str) -> str | None:
        if DECISIONS.get(line.lower()) != "allow_once":
            return None
        result = await issue(client, self.request, DEFAULT_LIFETIME_S)
        return f"The task is allowed until {local_time(result['expires_at'])}. To take it back: steward grants"
