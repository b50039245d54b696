"""How context items are made smaller (C6): tool results, arguments of earlier calls, and whole turns into a note.

What a person wrote and what the model said in words is never touched here.
"""

import json
from collections.abc import Sequence

from assistant.condense import ITEM_TOKENS, estimate_tokens, one_line, sentences, shorten
from contracts.model_io import AssistantStep, ContextItem, HostNote, ToolCall, ToolResult, UserText

RESULT_SHARE = 4
"""One tool result of the current run may use a quarter of the room."""

PROTECTED_RESULT_TOKENS = 200
"""What is left of a tool result when the room is exhausted: enough for an error or the beginning of a file."""

ARGUMENT_CHARACTERS = 400
"""Arguments of earlier calls up to this length are kept even when the room is exhausted."""

_LINE_CHARACTERS = 160


def text_of(item: ContextItem) -> str:
    """All text of an item that reaches the model."""
    if isinstance(item, AssistantStep):
        plain = item.text + "".join(f"{call.name}{call.arguments}" for call in item.calls)
        return max(plain, item.response_json or "", key=estimate_tokens)
    return item.content if isinstance(item, ToolResult) else item.text


def item_tokens(item: ContextItem) -> int:
    """What one item costs, by estimate."""
    return estimate_tokens(text_of(item)) + ITEM_TOKENS


def cost(items: Sequence[ContextItem]) -> int:
    """What the items cost together, by estimate."""
    return sum(item_tokens(item) for item in items)


def shorten_results(items: Sequence[ContextItem], tokens: int) -> list[ContextItem]:
    """The items with every tool result cut to about `tokens`, visibly."""
    return [_shortened(item, tokens) for item in items]


def fit_current(items: Sequence[ContextItem], room: int) -> list[ContextItem]:
    """Make the run's own items fit, oldest first: tool results, then arguments of steps before the last one."""
    fitted = shorten_results(items, max(PROTECTED_RESULT_TOKENS, room // RESULT_SHARE))
    excess = cost(fitted) - room
    last_step = max((at for at, item in enumerate(fitted) if isinstance(item, AssistantStep)), default=-1)
    for reduce in (_stub_result, _stub_arguments):
        for at, item in enumerate(fitted):
            if excess <= 0:
                return fitted
            if reduce is _stub_arguments and at >= last_step:
                break
            fitted[at] = reduce(item)
            excess -= item_tokens(item) - item_tokens(fitted[at])
    return fitted


def summary_note(
    turns: Sequence[Sequence[ContextItem]], from_seq: int | None, to_seq: int | None, room: int
) -> HostNote | None:
    """One note that stands for whole turns: the first sentence of each message, newest messages first to get room.

    Returns:
        None when not even the note's head fits into `room` tokens.
    """
    span = f", messages {from_seq} to {to_seq}" if from_seq is not None else ""
    head = f"Earlier in this conversation ({len(turns)} turns{span}), shortened by the host to first sentences:"
    room -= estimate_tokens(head)
    if room < 0:
        return None
    lines: list[str] = []
    for item in reversed([item for turn in turns for item in turn]):
        line = _summary_line(item)
        if line is None:
            continue
        # The line break is part of what the next line costs.
        room -= estimate_tokens(line) + 1
        if room < 0:
            break
        lines.append(line)
    return HostNote(text="\n".join([head, *reversed(lines)]))


def _summary_line(item: ContextItem) -> str | None:
    if not isinstance(item, UserText | AssistantStep) or not item.text.strip():
        return None
    who = "User" if isinstance(item, UserText) else "Assistant"
    place = f" ({item.seq})" if item.seq is not None else ""
    first = next(iter(sentences(item.text)), item.text)
    return f"- {who}{place}: {one_line(first, _LINE_CHARACTERS)}"


def _shortened(item: ContextItem, tokens: int) -> ContextItem:
    if not isinstance(item, ToolResult) or estimate_tokens(item.content) <= tokens:
        return item
    content = _shortened_field(item.content, tokens)
    return item.model_copy(update={"content": content if content is not None else shorten(item.content, tokens)})


def _shortened_field(content: str, tokens: int) -> str | None:
    """Shorten the longest text inside a JSON answer, so that it stays JSON and says that it is not whole."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return None
    texts = [name for name, value in fields.items() if isinstance(value, str)] if isinstance(fields, dict) else []
    if not texts:
        return None
    longest = max(texts, key=lambda name: len(fields[name]))
    around = estimate_tokens(json.dumps({**fields, longest: "", "truncated": True}, ensure_ascii=False))
    room = tokens - around
    # Escapes make the encoded text longer than the text: less and less of it is kept until it fits.
    while room > 0:
        kept = {**fields, longest: shorten(fields[longest], room), "truncated": True}
        encoded = json.dumps(kept, ensure_ascii=False)
        if estimate_tokens(encoded) <= tokens:
            return encoded
        room = room * 3 // 4 - 1
    return None


def _stub_result(item: ContextItem) -> ContextItem:
    return _shortened(item, PROTECTED_RESULT_TOKENS)


def _stub_arguments(item: ContextItem) -> ContextItem:
    if not isinstance(item, AssistantStep) or all(len(call.arguments) <= ARGUMENT_CHARACTERS for call in item.calls):
        return item
    return item.model_copy(update={"calls": tuple(_stub_call(call) for call in item.calls), "response_json": None})


def _stub_call(call: ToolCall) -> ToolCall:
    if len(call.arguments) <= ARGUMENT_CHARACTERS:
        return call
    return call.model_copy(update={"arguments": json.dumps({"left_out_characters": len(call.arguments)})})
