"""What a model is shown (C6): the run's own items always, history as far as the budget reaches, the rest summarised.

Pure and deterministic. The hard thing is that providers reject a call without its result, so nothing here may part
them, and that every reduction must be visible to the model and recorded.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from assistant.condense import ITEM_TOKENS, estimate_tokens
from assistant.context_reduction import cost, fit_current, item_tokens, shorten_results, summary_note, text_of
from contracts.model_io import AssistantStep, ContextItem, HostNote, ToolResult, UserText

HISTORY_RESULT_TOKENS = 1_000
"""Tool results of earlier turns are rarely needed again: each is cut to this."""

SUMMARY_SHARE = 4
SUMMARY_TOKENS = 2_000
"""A summary gets a quarter of what history may use, and never more than this."""

MISSING_RESULT = "No result of this call was recorded: the run it belongs to ended before."


class ItemRecord(BaseModel):
    """One item that went in: what it was and the digest of its text, never the text (I9)."""

    model_config = ConfigDict(frozen=True)

    kind: str
    sha256: str
    tokens: int
    seq: int | None = None
    call_id: str | None = None


class SummaryRecord(BaseModel):
    """What the summary stands for: whole turns with the sequence range they covered, as far as known."""

    model_config = ConfigDict(frozen=True)

    turns: int
    from_seq: int | None
    to_seq: int | None
    shown: bool


class ContextRecord(BaseModel):
    """The recorded facts of one assembly (C6): ids and digests, JSON-able."""

    model_config = ConfigDict(frozen=True)

    version: int = 1
    budget_tokens: int
    estimated_tokens: int
    system_sha256: str
    items: tuple[ItemRecord, ...]
    summary: SummaryRecord | None = None


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """The system prompt and the items for one model step, and the record of them."""

    system: str
    items: tuple[ContextItem, ...]
    record: ContextRecord


def assemble(
    system: str, history: Sequence[ContextItem], current: Sequence[ContextItem], budget_tokens: int
) -> AssembledContext:
    """Choose what the model sees (C6).

    Args:
        system: The system prompt; always whole.
        history: Earlier turns, oldest first.
        current: The run's own input and steps so far; always kept. Only tool results and the arguments of earlier
            calls in it are shortened, and only when they do not fit.
        budget_tokens: Estimated tokens of system prompt and items together; tool schemas and the reply are not in it.

    Returns:
        The items and their record. The estimate stays within the budget unless the part of `current` that is never
        shortened exceeds it alone.
    """
    kept_current = fit_current(_paired(current), budget_tokens - estimate_tokens(system))
    left = budget_tokens - estimate_tokens(system) - cost(kept_current)
    turns = [shorten_results(turn, HISTORY_RESULT_TOKENS) for turn in _turns(_without_provider_state(_paired(history)))]
    kept = _newest(turns, left)
    omitted = turns[: len(turns) - len(kept)]
    summary: SummaryRecord | None = None
    head: list[ContextItem] = []
    if omitted:
        room = min(SUMMARY_TOKENS, max(left, 0) // SUMMARY_SHARE)
        kept = _newest(turns, left - room)
        omitted = turns[: len(turns) - len(kept)]
        from_seq, to_seq = _sequence_range(omitted)
        note = summary_note(omitted, from_seq, to_seq, room - ITEM_TOKENS)
        head = [note] if note else []
        summary = SummaryRecord(turns=len(omitted), from_seq=from_seq, to_seq=to_seq, shown=note is not None)
    items = (*head, *(item for turn in kept for item in turn), *kept_current)
    return AssembledContext(system, items, _record(system, items, budget_tokens, summary))


def _newest(turns: Sequence[Sequence[ContextItem]], room: int) -> list[Sequence[ContextItem]]:
    kept: list[Sequence[ContextItem]] = []
    for turn in reversed(turns):
        room -= cost(turn)
        if room < 0:
            break
        kept.append(turn)
    return kept[::-1]


def _paired(items: Sequence[ContextItem]) -> list[ContextItem]:
    """Give every call exactly one result, right behind its step; results that belong to no step are dropped."""
    paired: list[ContextItem] = []
    for at, item in enumerate(items):
        if isinstance(item, ToolResult):
            continue
        paired.append(item)
        if isinstance(item, AssistantStep) and item.calls:
            found = _results_after(items, at)
            paired.extend(
                found.get(call.call_id, ToolResult(call_id=call.call_id, name=call.name, content=MISSING_RESULT))
                for call in item.calls
            )
    return paired


def _results_after(items: Sequence[ContextItem], step_at: int) -> dict[str, ToolResult]:
    found: dict[str, ToolResult] = {}
    for item in items[step_at + 1 :]:
        if isinstance(item, AssistantStep):
            break
        if isinstance(item, ToolResult):
            found.setdefault(item.call_id, item)
    return found


def _without_provider_state(items: Sequence[ContextItem]) -> list[ContextItem]:
    # What only the provider understands matters inside its own tool loop; in finished turns it costs and says nothing.
    return [
        item.model_copy(update={"response_json": None}) if isinstance(item, AssistantStep) else item for item in items
    ]


def _turns(items: Sequence[ContextItem]) -> list[list[ContextItem]]:
    """Cut before every input that follows an answer, and between two answers."""
    turns: list[list[ContextItem]] = []
    answered = True
    for item in items:
        opens = isinstance(item, HostNote | UserText) or (isinstance(item, AssistantStep) and answered)
        if not turns or (answered and opens):
            turns.append([])
        turns[-1].append(item)
        answered = isinstance(item, AssistantStep) and not item.calls
    return turns


def _sequence_range(turns: Sequence[Sequence[ContextItem]]) -> tuple[int | None, int | None]:
    found = [
        item.seq
        for turn in turns
        for item in turn
        if isinstance(item, UserText | AssistantStep) and item.seq is not None
    ]
    return (min(found), max(found)) if found else (None, None)


def _record(
    system: str, items: Sequence[ContextItem], budget_tokens: int, summary: SummaryRecord | None
) -> ContextRecord:
    return ContextRecord(
        budget_tokens=budget_tokens,
        estimated_tokens=estimate_tokens(system) + cost(items),
        system_sha256=_sha256(system),
        items=tuple(
            ItemRecord(
                kind=item.kind,
                sha256=_sha256(text_of(item)),
                tokens=item_tokens(item),
                seq=item.seq if isinstance(item, UserText | AssistantStep) else None,
                call_id=item.call_id if isinstance(item, ToolResult) else None,
            )
            for item in items
        ),
        summary=summary,
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
