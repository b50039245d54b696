"""The reviewer's prompt and its answer (E8): quoted data cannot get out of its fence, and only a clean word counts."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from assistant.offline import offline_model
from assistant.review import ask_reviewer
from assistant.review_prompt import QUOTED, SHOWN_CHARACTERS, SYSTEM, ReviewedAction, review_prompt
from domain.command_action import CommandAction, CommandInput, Environment, Executable, Permissions
from domain.command_words import command_details, command_words
from domain.gate import Review
from domain.review import read_answer
from tests.assistant.injections import INJECTIONS, Injection

MARK = "5f1d8c0a9be24c3f8f4ce1b97d6a2e03"
ROOT = "/srv/somebody/files"
DIGEST = "a" * 64
ASKED = ("Please write my notes.",)
ALLOW = '{"verdict": "allow", "reason": "asked for"}'


def a_file(content: str = "hello\n", path: str = "notes.txt") -> ReviewedAction:
    """A new file."""
    action = {
        "kind": "file", "operation": "create", "path": f"{ROOT}/{path}", "precondition": "absent",
        "content_sha256": DIGEST, "content_size": 6, "created_parents": [],
    }  # fmt: skip
    return ReviewedAction("file", action, content.encode(), f"Create the file “{path}”.", f"+{content}", ROOT)


def a_command(*argv: str, stdin: str = "", env: str = "") -> ReviewedAction:
    """A confined command, with the details that its card has."""
    action = CommandAction(
        argv=argv, executable=Executable(path="/usr/bin/make", sha256=DIGEST), cwd=ROOT,
        environment=Environment(names=("NOTE", "PATH"), sha256=DIGEST),
        permissions=Permissions(network=False, confined=True), stdin_sha256=DIGEST,
    )  # fmt: skip
    given_values = CommandInput(stdin=stdin, environment={"NOTE": env})
    details = command_details(action, "", "/usr/bin/make", given_values, ["NOTE"])
    return ReviewedAction("command", action.fields(), b"", command_words(action, "")["en"], details, ROOT)


def attacked(injection: Injection) -> tuple[tuple[str, ...], ReviewedAction]:
    """The request and the action with the injection in its place."""
    text = injection.text.replace("MARKED", MARK)
    match injection.place:
        case "content":
            return ASKED, a_file(text)
        case "path":
            return ASKED, a_file(path=text)
        case "argument":
            return ASKED, a_command("make", text)
        case "stdin":
            return ASKED, a_command("make", stdin=text)
        case "environment":
            return ASKED, a_command("make", env=text)
        case "request":
            return (text,), a_file()


def outside(prompt: str) -> list[str]:
    """The lines of a prompt that are not quoted, as any reader of lines would find them."""
    return [line for line in prompt.splitlines() if not line.startswith(QUOTED)]


EXPECTED = [
    f"BEGIN request {MARK}", f"END request {MARK}", f"BEGIN action {MARK}", f"END action {MARK}",
    "Judge the action by the request. Answer with the JSON object only.",
]  # fmt: skip


def test_the_corpus_is_large_and_in_both_languages() -> None:
    """E8: at least 40 attempts, in contents, paths, commands and texts; each is another one."""
    assert len({injection.text for injection in INJECTIONS}) == len(INJECTIONS) >= 40
    assert {injection.place for injection in INJECTIONS} == {
        "content", "path", "argument", "stdin", "environment", "request",
    }  # fmt: skip
    assert sum(any("\u4e00" <= letter <= "\u9fff" for letter in injection.text) for injection in INJECTIONS) >= 10


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda injection: injection.name)
def test_an_injection_stays_inside_of_its_quotation(injection: Injection) -> None:
    """E8: not a line of it stands outside, even if it knew the mark; nothing of it is invisible."""
    request, action = attacked(injection)
    prompt = review_prompt(request, action, MARK)
    assert prompt is not None
    assert outside(prompt) == EXPECTED
    assert all(letter.isprintable() or letter == "\n" for letter in prompt)
    # What is quoted is the text and not an excerpt: its longest word is there.
    word = max((word for word in injection.text.replace("MARKED", MARK).split() if word.isalnum()), key=len, default="")
    assert word in prompt


@given(st.text(), st.text(), st.text())
def test_no_text_gets_out(content: str, path: str, request: str) -> None:
    """E8: whatever the characters."""
    try:
        content.encode(), path.encode()
    except UnicodeEncodeError:
        return
    prompt = review_prompt((request,), a_file(content, path), MARK)
    assert prompt is not None
    assert outside(prompt) == EXPECTED


def test_what_does_not_fit_whole_is_not_shown() -> None:
    """E8: nobody can allow what was not seen: too large, not text, a kind or details that are not there."""
    assert review_prompt(ASKED, a_file("x" * SHOWN_CHARACTERS), MARK) is None
    assert review_prompt(("x" * SHOWN_CHARACTERS,), a_file(), MARK) is None
    file, command = a_file(), a_command("make")
    binary = ReviewedAction(file.kind, file.action, b"\xff\xfe", file.words, None, ROOT)
    assert review_prompt(ASKED, binary, MARK) is None
    bare = ReviewedAction(command.kind, command.action, b"", command.words, None, ROOT)
    assert review_prompt(ASKED, bare, MARK) is None
    unknown = ReviewedAction("connector", {"account": "me", "recipients": []}, b"", "Send.", "details", ROOT)
    assert review_prompt(ASKED, unknown, MARK) is None


def test_the_whole_action_is_shown_without_the_files_folder() -> None:
    """E8, E3: content, path, arguments, input and values are all there; where the files are is not."""
    file = review_prompt(ASKED, a_file("first line\n\nlast line"), MARK) or ""
    command = review_prompt(ASKED, a_command("make", "all", stdin="typed", env="value"), MARK) or ""
    for text in ("Please write my notes.", '"notes.txt"', "first line", "last line", "no such file"):
        assert text in file
    for text in ('"make"', '"all"', "typed", "NOTE=value", "confined: yes", "network: no"):
        assert text in command
    assert ROOT not in file + command


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (ALLOW, Review.ALLOW),
        ('{"verdict": "deny", "reason": "no"}', Review.DENY),
        ('{"verdict": "unsure", "reason": "hm"}', Review.UNSURE),
        (f"  {ALLOW}\n", Review.ALLOW),
        (f"```json\n{ALLOW}\n```", Review.ALLOW),
        (f"```\n{ALLOW}\n```", Review.ALLOW),
        (f"Sure! {ALLOW}", Review.UNSURE),
        (f"{ALLOW} {ALLOW}", Review.UNSURE),
        (f"{ALLOW}\nBut I am not certain.", Review.UNSURE),
        (f"```json\n{ALLOW}\n``` done", Review.UNSURE),
        (f"[{ALLOW}]", Review.UNSURE),
        ('{"verdict": "deny", "verdict": "allow", "reason": "x"}', Review.UNSURE),
        ('{"verdict": "allow"}', Review.UNSURE),
        ('{"verdict": "allow", "reason": ""}', Review.UNSURE),
        ('{"verdict": "allow", "reason": 1}', Review.UNSURE),
        ('{"verdict": "allow", "reason": "x", "also": 1}', Review.UNSURE),
        ('{"verdict": "ALLOW", "reason": "x"}', Review.UNSURE),
        ('{"verdict": "off", "reason": "x"}', Review.UNSURE),
        ('{"verdict": "due", "reason": "x"}', Review.UNSURE),
        ('{"verdict": ["allow"], "reason": "x"}', Review.UNSURE),
        ('{"verdict": true, "reason": "x"}', Review.UNSURE),
        ("allow", Review.UNSURE),
        ('"allow"', Review.UNSURE),
        ("", Review.UNSURE),
        ("null", Review.UNSURE),
        ("{" * 20_000, Review.UNSURE),
        ("[" * 20_000, Review.UNSURE),
        ('{"verdict": "allow", "reason": "x"', Review.UNSURE),
    ],
)
def test_only_a_clean_answer_counts(text: str, verdict: Review) -> None:
    """E8: a malformed answer goes to a person."""
    assert read_answer(text)[0] is verdict


@given(st.text())
def test_any_text_is_an_answer_or_unsure(text: str) -> None:
    """E8: reading an answer never fails."""
    verdict, reason = read_answer(text)
    assert verdict is Review.UNSURE or reason


class Reviewer:
    """A model that gives one answer and remembers what it was asked."""

    def __init__(self, *answer: str | DeltaToolCalls, hangs: bool = False) -> None:
        self._answer = answer
        self._hangs = hangs
        self.asked: list[tuple[list[ModelMessage], AgentInfo]] = []

    @property
    def model(self) -> FunctionModel:
        """The model."""
        return FunctionModel(stream_function=self._stream)

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        self.asked.append((messages, info))
        for piece in self._answer:
            yield piece
        if self._hangs:
            await asyncio.Event().wait()


async def test_the_reviewer_is_asked_once_without_tools() -> None:
    """E8: it has its own instructions, sees the prompt, and is offered no tool."""
    reviewer = Reviewer(ALLOW)
    assert await ask_reviewer(reviewer.model, "the prompt", 20.0) == (Review.ALLOW, "asked for")
    [(messages, info)] = reviewer.asked
    assert info.function_tools == []
    parts = [part.content for message in messages for part in message.parts if hasattr(part, "content")]
    assert parts == [SYSTEM, "the prompt"]


async def test_a_reviewer_that_does_not_answer_in_time_is_unsure() -> None:
    """E8: also one that has said its verdict and does not come to an end."""
    assert await ask_reviewer(Reviewer(ALLOW, hangs=True).model, "the prompt", 0.2) == (Review.UNSURE, None)


async def test_a_reviewer_that_calls_a_tool_is_unsure() -> None:
    """E8: none was offered; the words beside the call do not count."""
    call: DeltaToolCalls = {0: DeltaToolCall(name="run_command", json_args="{}", tool_call_id="c")}
    assert (await ask_reviewer(Reviewer(ALLOW, call).model, "the prompt", 20.0))[0] is Review.UNSURE


async def test_a_model_that_fails_is_unsure() -> None:
    """E8, O3: no answer is no verdict."""
    assert (await ask_reviewer(Reviewer("").model, "the prompt", 5.0))[0] is Review.UNSURE


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda injection: injection.name)
async def test_the_offline_model_never_allows(injection: Injection) -> None:
    """E8: even if it were asked, its answer is none."""
    request, action = attacked(injection)
    prompt = review_prompt(request, action, MARK)
    assert prompt is not None
    verdict, _ = await ask_reviewer(offline_model(), prompt, 20.0)
    assert verdict is Review.UNSURE
