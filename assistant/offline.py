"""The offline model (O2): a deterministic model behind the same interface and tools as any other.

It sees exactly what a provider would be sent. The hard thing is reading its place in the run from the messages alone:
which message is the request, which are the host's notes, and what its calls gave back.
"""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from assistant.deliveries import fixed_delivery_sentence, language_of, read_delivery_note
from assistant.messages import HOST, ORIGIN, raw_arguments
from assistant.offline_asking import pass_on
from assistant.offline_executor import executor_step
from assistant.offline_grammar import parse
from assistant.offline_schedule_grammar import understand
from assistant.offline_scheduling import scheduling_step
from assistant.offline_steps import FileNames, MadeCall, Step, main_step
from assistant.offline_when import Unclear
from assistant.prompts import AttachmentLine, read_attachments_note, read_clock_note, read_questions_note
from assistant.tool_results import read_answer

NAME = "offline"

_WORD = re.compile(r"\S+\s*|\s+")


def offline_model() -> FunctionModel:
    """The model that answers when none is configured."""
    return FunctionModel(stream_function=_stream, model_name=NAME)


async def _stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    offered = frozenset(tool.name for tool in info.function_tools)
    step = next_step(messages, offered)
    if step.tool is not None:
        arguments = json.dumps(dict(step.arguments), ensure_ascii=False)
        identity = hashlib.sha256(f"{len(messages)}:{step.tool}:{arguments}".encode("utf-8", "replace")).hexdigest()
        yield {0: DeltaToolCall(name=step.tool, json_args=arguments, tool_call_id=f"call_{identity[:16]}")}
        return
    for word in _WORD.findall(step.text):
        yield word
        await asyncio.sleep(0)


def next_step(messages: Sequence[ModelMessage], offered: frozenset[str]) -> Step:
    """Decide what follows from what a provider would see: the messages and the names of the offered tools."""
    run = _read_run(messages)
    if not offered:
        return Step(text=_delivery(run))
    request = parse(run.request)
    language = language_of(run.request)
    files = FileNames(run.attachments)
    if "submit_result" in offered:
        return executor_step(request, run.made, files, language)
    clock = next((found for note in run.notes if (found := read_clock_note(note))), None)
    questions = [line for note in run.notes for line in read_questions_note(note)]
    # Once it is answered it is no longer among the open ones, but the call that passed it on is there.
    answering = bool(questions) or any(made.name == "answer_question" for made in run.made)
    understood = understand(run.request, clock) if clock is not None and "schedule_task" in offered else None
    # A question may be answered by a time; only what is a whole request is one.
    if clock is not None and understood is not None and not (answering and isinstance(understood, Unclear)):
        return scheduling_step(understood, run.made, files, clock.zone, language)
    if request is None and answering and run.request.strip() and "answer_question" in offered:
        return pass_on(run.request, questions, run.made, language)
    return main_step(request, run.made, files, offered, language)


@dataclass(frozen=True, slots=True)
class _Run:
    """The end of the conversation as the offline model understands it."""

    request: str = ""
    notes: tuple[str, ...] = ()
    attachments: tuple[AttachmentLine, ...] = ()
    made: tuple[MadeCall, ...] = ()


def _read_run(messages: Sequence[ModelMessage]) -> _Run:
    """Find the newest request: the last thing a person wrote, or a note about attachments that came without words."""
    run = _Run()
    start = 0
    pending: list[str] = []
    for index, message in enumerate(messages, 1):
        if isinstance(message, ModelResponse):
            # Notes belong to what follows them; a reminder inside a run says nothing about the request.
            pending = []
        for text, from_host in _user_texts(message):
            if from_host and not read_attachments_note(text):
                pending.append(text)
                continue
            found = [line for note in (*pending, text) for line in read_attachments_note(note)]
            run, start = _Run("" if from_host else text, tuple(pending), tuple(found)), index
            pending = [*pending, text] if from_host else []
    return replace(run, made=tuple(_made_calls(messages[start:])))


def _user_texts(message: ModelMessage) -> Iterator[tuple[str, bool]]:
    if isinstance(message, ModelRequest):
        from_host = (message.metadata or {}).get(ORIGIN) == HOST
        for part in message.parts:
            if isinstance(part, UserPromptPart) and isinstance(part.content, str):
                yield part.content, from_host


def _made_calls(messages: Sequence[ModelMessage]) -> Iterator[MadeCall]:
    answers = {
        part.tool_call_id: str(part.content)
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
    for message in messages:
        for part in message.parts if isinstance(message, ModelResponse) else ():
            if isinstance(part, ToolCallPart) and part.tool_call_id in answers:
                yield MadeCall(part.tool_name, _arguments(part), read_answer(answers[part.tool_call_id]))


def _arguments(part: ToolCallPart) -> dict[str, object]:
    try:
        arguments = json.loads(raw_arguments(part) or "{}")
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _delivery(run: _Run) -> str:
    note = next((found for text in reversed(run.notes) if (found := read_delivery_note(text))), None)
    if note is None:
        return run.request
    sentence = fixed_delivery_sentence(note.kind, note.title, language_of(note.title, run.request))
    return "\n\n".join([sentence, run.request, *(["\n".join(note.further)] if note.further else [])])
