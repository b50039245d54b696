"""Translation between context items and the provider-neutral messages of pydantic-ai, both ways.

The hard thing is that a model's output comes back as input of the next step: what one broken reply left behind (names,
ids, arguments no provider accepts) must not make every later request fail.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from assistant.context import AssembledContext
from contracts.model_io import AssistantStep, ContextItem, HostNote, ModelReply, ToolCall, ToolResult, UserText

ORIGIN = "steward_origin"
"""Key of the message metadata that says who wrote a user message; it is never sent to a provider."""
HOST, PERSON = "host", "person"

OPENING_NOTE = "The conversation so far:"
"""Stands first where history begins with an answer: several providers require a user message there."""

_NAME_CHARACTERS = 64
_ID_CHARACTERS = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def to_messages(context: AssembledContext) -> list[ModelMessage]:
    """Lay the items out as provider-neutral messages: each user text and each note is a message of its own (C6)."""
    messages: list[ModelMessage] = []
    if context.system:
        messages.append(ModelRequest(parts=[SystemPromptPart(context.system)]))
    if context.items and isinstance(context.items[0], AssistantStep):
        messages.append(_user_message(OPENING_NOTE, HOST))
    for item in context.items:
        _append(messages, item)
    return messages


def _append(messages: list[ModelMessage], item: ContextItem) -> None:
    match item:
        case HostNote():
            messages.append(_user_message(item.text, HOST))
        case UserText():
            # A message may consist of attachments only; providers reject an empty text.
            if item.text.strip():
                messages.append(_user_message(item.text, PERSON))
        case AssistantStep():
            messages.append(_response(item))
        case ToolResult():
            part = ToolReturnPart(tool_name=item.name, content=item.content, tool_call_id=item.call_id)
            last = messages[-1] if messages else None
            if isinstance(last, ModelRequest) and all(isinstance(part, ToolReturnPart) for part in last.parts):
                messages[-1] = replace(last, parts=[*last.parts, part])
            else:
                messages.append(ModelRequest(parts=[part]))


def _user_message(text: str, origin: str) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)], metadata={ORIGIN: origin})


def _response(step: AssistantStep) -> ModelResponse:
    kept = _kept_response(step.response_json) if step.response_json else None
    if kept is not None:
        return replace(kept, parts=[_sendable(part) for part in kept.parts])
    parts: list[ModelResponsePart] = [TextPart(step.text)] if step.text or not step.calls else []
    parts.extend(
        _sendable(ToolCallPart(tool_name=call.name, args=call.arguments, tool_call_id=call.call_id))
        for call in step.calls
    )
    return ModelResponse(parts=parts)


def _kept_response(response_json: str) -> ModelResponse | None:
    try:
        messages = ModelMessagesTypeAdapter.validate_json(response_json)
    except ValidationError:
        # Kept by another version of the library: text and calls are stored apart and are enough.
        return None
    return messages[0] if len(messages) == 1 and isinstance(messages[0], ModelResponse) else None


def _sendable(part: ModelResponsePart) -> ModelResponsePart:
    """Wrap arguments that are no JSON object: several servers decode them and would fail the whole request."""
    if not isinstance(part, ToolCallPart) or not isinstance(part.args, str):
        return part
    try:
        valid = isinstance(json.loads(part.args or "{}"), dict)
    except (ValueError, RecursionError):
        valid = False
    if valid and part.args:
        return part
    return replace(part, args=json.dumps({"invalid_json": part.args}) if part.args else "{}")


def to_reply(response: ModelResponse, text: str, model: str) -> ModelReply:
    """Build the reply of a finished step.

    Args:
        response: The provider-neutral response.
        text: The visible text exactly as it was streamed.
        model: The configured model's name, used when the provider told none.
    """
    cleaned = replace(response, parts=_cleaned(response.parts))
    calls = tuple(
        ToolCall(call_id=part.tool_call_id, name=part.tool_name, arguments=raw_arguments(part))
        for part in cleaned.parts
        if isinstance(part, ToolCallPart)
    )
    return ModelReply(
        text=text,
        calls=calls,
        response_json=ModelMessagesTypeAdapter.dump_json([cleaned]).decode(),
        input_tokens=response.usage.input_tokens,
        output_tokens=response.usage.output_tokens,
        model=response.model_name or model,
    )


def raw_arguments(part: ToolCallPart) -> str:
    """The call's arguments as the model sent them."""
    if isinstance(part.args, str):
        return part.args
    return json.dumps(part.args, ensure_ascii=False) if part.args else ""


def storable(text: str) -> str:
    """Replace what no database keeps (NUL, unpaired surrogates) by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def _cleaned(parts: Sequence[ModelResponsePart]) -> list[ModelResponsePart]:
    cleaned: list[ModelResponsePart] = []
    used: set[str] = set()
    for part in parts:
        if isinstance(part, TextPart):
            cleaned.append(replace(part, content=storable(part.content)))
        elif isinstance(part, ToolCallPart):
            call_id = _unused_id(part.tool_call_id, used)
            used.add(call_id)
            changes: dict[str, Any] = {
                "tool_name": _UNSAFE.sub("_", part.tool_name)[:_NAME_CHARACTERS] or "unnamed",
                "tool_call_id": call_id,
                "args": storable(raw_arguments(part)),
            }
            cleaned.append(replace(part, **changes))
        else:
            cleaned.append(part)
    return cleaned


def _unused_id(proposed: str, used: set[str]) -> str:
    """A call id that every provider accepts and that is unique within its step."""
    base = _UNSAFE.sub("_", proposed)[:_ID_CHARACTERS] or "call"
    if base not in used:
        return base
    number = 2
    while (candidate := f"{base[: _ID_CHARACTERS - 6]}_{number}") in used:
        number += 1
    return candidate
