"""What the command line writes: hostile text cannot move the terminal, and every terminal can show it."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.cli import printing
from host.cli.chat_screen import ChatScreen
from host.cli.reply import Reply
from host.cli.sending import LineScreen


@given(st.text(st.characters(codec=None)))
def test_shown_text_holds_no_controls(text: str) -> None:
    """E9, O18: whatever a model or file says, no control character reaches the terminal, but line ends and tabs."""
    shown = printing.shown(text)
    assert not [char for char in shown if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"]
    shown.encode("utf-8")


def test_an_escape_sequence_is_spelled_out() -> None:
    """E9: a sequence that would clear the screen is seen."""
    assert printing.shown("a\x1b[2Jb") == "a⟦U+001B⟧[2Jb"


def test_a_narrow_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    """O4: a terminal that cannot encode a letter does not make the command fail."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    printing.write("naïve 你好")
    assert raw.getvalue() == b"na?ve ??\n"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@contextmanager
def at_a_terminal() -> Iterator[Terminal]:
    """Standard streams that are a terminal; a fixture would be undone by pytest's own capture."""
    stream, typed = Terminal(), sys.stdin
    sys.stdin = Terminal()
    try:
        with redirect_stdout(stream):
            yield stream
    finally:
        sys.stdin = typed


def reply(text: str | None, state: str = "completed") -> Reply:
    return Reply({}, state, None if text is None else {"text": text})


def test_a_streamed_reply_is_not_repeated() -> None:
    """C4: what was streamed exactly is not written again at the end."""
    with at_a_terminal() as terminal:
        screen = LineScreen(live=True)
        screen.delta("hello ")
        screen.delta("there")
        screen.end(reply("hello there"))
    assert terminal.getvalue() == "hello there\n"


def test_a_reply_that_began_again() -> None:
    """C4: after a reset the reply begins on a new line; a stored text that differs is shown whole."""
    with at_a_terminal() as terminal:
        screen = LineScreen(live=True)
        screen.delta("first")
        screen.reset()
        screen.delta("second")
        screen.end(reply("third"))
    assert terminal.getvalue() == "first ...\nsecond\nthird\n"


def test_a_pipe_gets_the_stored_text_alone() -> None:
    """C4, O4: pieces cannot be taken back from a pipe, so they are not written there."""
    with at_a_terminal() as terminal:
        screen = LineScreen(live=False)
        screen.delta("first")
        screen.reset()
        screen.end(reply("stored"))
    assert terminal.getvalue() == "stored\n"


def test_chat_shows_each_text_once() -> None:
    """C4, H13: streamed replies end with their line; deliveries say whose result they are."""
    with at_a_terminal() as terminal:
        screen = ChatScreen(as_json=False)
        screen.prompt()
        screen.typed()
        screen.delta("turn_1", "hel")
        screen.prompt()
        screen.delta("turn_1", "lo")
        screen.message({"role": "assistant", "turn_id": "turn_1", "text": "hello"})
        screen.prompt()
        delivery = {"kind": "result", "task_id": "task_1"}
        screen.message({"role": "assistant", "turn_id": "turn_2", "text": "done", "delivery": delivery})
    assert terminal.getvalue() == "> twin: hello\n> \r\x1b[Ktwin (result of task_1): done\n"
