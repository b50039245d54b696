"""What a chat looks like: messages, a reply while it is written, the prompt, or one JSON object a line.

The stored message is the truth: it is shown unless exactly its text has been streamed already.
"""

import json
import sys
from typing import Any

from host.cli.cards import print_card
from host.cli.grant_words import DEFAULT_LIFETIME_S, print_proposal
from host.cli.printing import note, shown, write
from host.cli.question_words import print_question

Json = dict[str, Any]
CLEAR_LINE = "\r\x1b[K"


class ChatScreen:
    """Writes one chat to stdout; with `as_json` every message, card and question is one JSON object a line."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._live = sys.stdout.isatty() and not as_json
        self._prompts = self._live and sys.stdin.isatty()
        self._prompted = False
        self._turn_id: str | None = None
        self._streamed = ""

    @property
    def asks(self) -> bool:
        """Whether a person sees what is asked, and types the next line."""
        return self._prompts

    def delta(self, turn_id: str, text: str) -> None:
        """Show a piece of a reply."""
        if not self._live:
            return
        if self._turn_id != turn_id:
            self._clear()
            write("twin: ", end="")
            self._turn_id, self._streamed = turn_id, ""
        self._streamed += text
        write(shown(text), end="")

    def reset(self, turn_id: str) -> None:
        """The reply begins again, on a new line."""
        if self._turn_id == turn_id:
            self._break()

    def message(self, message: Json) -> None:
        """Show a stored message."""
        if self._as_json:
            self._json({"message": message})
            return
        if self._turn_id == message["turn_id"] and self._streamed == message["text"]:
            write("")
            self._turn_id = None
            return
        self._break()
        if message["text"]:
            write(f"{_speaker(message)}: {shown(message['text'])}")

    def card(self, card: Json) -> None:
        """Show a card and ask."""
        if self._as_json:
            self._json({"approval": card})
            return
        self._break()
        write("")
        print_card(card)
        write("Allow this once? y: yes, n: no, Enter: later. ")

    def permission(self, request: Json) -> None:
        """Show what a task asks to be allowed; at a terminal, ask."""
        if self._as_json:
            self._json({"permission": request})
            return
        self._break()
        write("")
        print_proposal(request, DEFAULT_LIFETIME_S)
        if self._prompts:
            write("Allow this task? y: yes, Enter: later. ")
        else:
            note(f"  steward grants issue {request['task_id']}")

    def question(self, question: Json) -> None:
        """Show a question; at a terminal, ask."""
        if self._as_json:
            self._json({"question": question})
            return
        self._break()
        write("")
        print_question(question)
        if self._prompts:
            write(f"Answer by {'a number or ' if question['options'] else ''}your words; Enter: later. ")
        else:
            note(f"  steward questions answer {question['question_id']} ANSWER")

    def note(self, text: str) -> None:
        """Say something about the chat itself."""
        self._break()
        note(text)

    def prompt(self) -> None:
        """Show that something may be typed, unless a reply is being written."""
        if self._prompts and not self._prompted and self._turn_id is None:
            write("> ", end="")
            self._prompted = True

    def typed(self) -> None:
        """A line was typed: the terminal has moved on to the next one."""
        self._prompted = False

    def _break(self) -> None:
        self._clear()
        if self._turn_id is not None:
            write("")
            self._turn_id = None

    def _clear(self) -> None:
        if self._prompted:
            write(CLEAR_LINE, end="")
            self._prompted = False

    @staticmethod
    def _json(value: Json) -> None:
        write(json.dumps(value, ensure_ascii=False))


def _speaker(message: Json) -> str:
    if message["role"] == "user":
        return "you"
    delivery = message.get("delivery")
    return "twin" if delivery is None else f"twin ({delivery['kind']} of {delivery.get('task_id', 'an automation')})"
