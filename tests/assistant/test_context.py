"""Context assembly (C6): bounded, deterministic, recorded, and never in a shape that a provider would reject."""

import json
from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.condense import estimate_tokens, key_sentences, one_line, sentences, shorten
from assistant.context import MISSING_RESULT, AssembledContext, assemble
from assistant.context_reduction import cost, item_tokens
from contracts.model_io import AssistantStep, ContextItem, HostNote, ToolCall, ToolResult, UserText

_texts = st.text(alphabet=st.sampled_from("ab .\n字句。😀`"), min_size=1, max_size=300)


def _step(number: int, text: str, calls: int) -> list[ContextItem]:
    made = tuple(
        ToolCall(call_id=f"c{number}_{at}", name="read_file", arguments=json.dumps({"path": text[:20]}))
        for at in range(calls)
    )
    return [
        AssistantStep(text=text, calls=made, seq=number),
        *(ToolResult(call_id=call.call_id, name=call.name, content=text * 3) for call in made),
    ]


@st.composite
def _turn(draw: st.DrawFn, number: int) -> list[ContextItem]:
    items: list[ContextItem] = [HostNote(text=draw(_texts))] if draw(st.booleans()) else []
    items.append(UserText(text=draw(_texts), seq=number * 10))
    for at in range(draw(st.integers(0, 2))):
        items.extend(_step(number * 10 + at + 1, draw(_texts), draw(st.integers(1, 3))))
    items.extend(_step(number * 10 + 9, draw(_texts), 0))
    return items


@st.composite
def _history(draw: st.DrawFn) -> list[ContextItem]:
    return [item for number in range(1, draw(st.integers(0, 8)) + 1) for item in draw(_turn(number))]


@st.composite
def _current(draw: st.DrawFn) -> list[ContextItem]:
    items: list[ContextItem] = [UserText(text=draw(_texts), seq=1000)]
    for at in range(draw(st.integers(0, 3))):
        items.extend(_step(2000 + at, draw(_texts), draw(st.integers(1, 3))))
    return items


def _well_paired(items: Sequence[ContextItem]) -> bool:
    expected: list[str] = []
    for item in items:
        if isinstance(item, ToolResult):
            if not expected or item.call_id != expected.pop(0):
                return False
        elif expected:
            return False
        elif isinstance(item, AssistantStep):
            expected = [call.call_id for call in item.calls]
    return not expected


def _words_of(items: Sequence[ContextItem]) -> list[str]:
    return [item.text for item in items if not isinstance(item, ToolResult)]


@settings(max_examples=150)
@given(_history(), _current(), st.integers(50, 6_000))
def test_budget_pairs_and_current(history: list[ContextItem], current: list[ContextItem], budget: int) -> None:
    """C6: within the budget, the run's own words always there and last, calls and results never parted."""
    context = assemble("system", history, current, budget)
    unshortened = [item for item in current if not isinstance(item, ToolResult)]
    never_smaller = cost(unshortened) + sum(230 for item in current if isinstance(item, ToolResult))
    assert context.record.estimated_tokens == estimate_tokens("system") + cost(context.items)
    assert context.record.estimated_tokens <= max(budget, estimate_tokens("system") + never_smaller)
    assert _words_of(context.items)[-len(unshortened) :] == _words_of(unshortened)
    assert _well_paired(context.items)


@given(_history(), _current(), st.integers(50, 6_000))
def test_same_input_same_context(history: list[ContextItem], current: list[ContextItem], budget: int) -> None:
    """C6: deterministic, and the record is JSON."""
    first, second = (assemble("system", history, current, budget) for _ in range(2))
    assert first == second
    assert json.loads(first.record.model_dump_json())["budget_tokens"] == budget


@given(_history(), _current(), st.integers(400, 6_000))
def test_history_is_a_suffix_of_whole_turns(
    history: list[ContextItem], current: list[ContextItem], budget: int
) -> None:
    """C6: the newest turns stand as they were, older ones only in the summary with their range."""
    context = assemble("system", history, current, budget)
    summary = context.record.summary
    stood = [item.seq for item in context.items if isinstance(item, UserText) and item.seq is not None]
    every = [item.seq for item in history if isinstance(item, UserText) and item.seq is not None]
    assert stood[:-1] == every[len(every) - len(stood) + 1 :]
    if len(stood) - 1 < len(every):
        assert summary is not None
        assert summary.turns == len(every) - len(stood) + 1
        assert summary.from_seq == every[0]
        assert summary.to_seq == every[summary.turns - 1] + 9
    else:
        assert summary is None


def _long_history() -> list[ContextItem]:
    items: list[ContextItem] = []
    for number in range(1, 41):
        items.append(UserText(text=f"Question {number}. " + "More words follow here. " * 40, seq=number * 2 - 1))
        items.append(AssistantStep(text=f"Answer {number}. " + "Long explanation. " * 40, seq=number * 2))
    return items


def _summary_of(context: AssembledContext) -> str:
    first = context.items[0]
    assert isinstance(first, HostNote)
    return first.text


def test_summary_names_its_range_and_is_one_note() -> None:
    """C6: older history is one note that says which messages it covers, first sentences only."""
    context = assemble("system", _long_history(), [UserText(text="now", seq=81)], 6_000)
    summary = context.record.summary
    assert summary is not None
    assert summary.shown
    text = _summary_of(context)
    assert f"messages 1 to {summary.to_seq}" in text
    assert f"- User ({(summary.to_seq or 0) - 1}): Question" in text
    assert "More words" not in text
    assert sum(isinstance(item, HostNote) for item in context.items) == 1


def test_record_holds_no_text() -> None:
    """I9, C6: ids and digests only."""
    context = assemble("SECRET-system", _long_history(), [UserText(text="SECRET-now", seq=81)], 6_000)
    dumped = context.record.model_dump_json()
    assert "SECRET" not in dumped
    assert "Question" not in dumped
    assert context.record.items[-1].seq == 81
    assert len(context.record.items[-1].sha256) == 64


def test_user_text_is_verbatim() -> None:
    """C6: what a person wrote is one item, unchanged, also when it is far over the budget."""
    text = '  {"json": "like"}\n[[say:x]]\t字' * 500
    context = assemble("system", _long_history(), [HostNote(text="note"), UserText(text=text, seq=1)], 500)
    assert context.items == (HostNote(text="note"), UserText(text=text, seq=1))


def test_oversized_results_are_shortened_visibly_and_stay_json() -> None:
    """C6: a tool result of the run is cut with a marker; an answer in JSON stays JSON and says that it is not whole."""
    call = ToolCall(call_id="c", name="read_file", arguments="{}")
    step = AssistantStep(text="", calls=(call,))
    content = json.dumps({"content": 'line "quoted"\n' * 20_000, "size": 1, "truncated": False})
    result = ToolResult(call_id="c", name="read_file", content=content)
    context = assemble("system", [], [UserText(text="go"), step, result], 4_000)
    shown = context.items[-1]
    assert isinstance(shown, ToolResult)
    fields = json.loads(shown.content)
    assert fields["truncated"] is True
    assert "characters left out by the host" in fields["content"]
    assert item_tokens(shown) <= 1_100


def test_arguments_of_earlier_steps_give_way_before_the_budget_does() -> None:
    """C6, T4: a long attempt that wrote large files still fits; the last step is whole."""
    items: list[ContextItem] = [UserText(text="go")]
    for at in range(10):
        call = ToolCall(
            call_id=f"c{at}", name="write_file", arguments=json.dumps({"path": "a", "content": "x" * 9_000})
        )
        items.append(AssistantStep(text="", calls=(call,), response_json="{}"))
        items.append(ToolResult(call_id=f"c{at}", name="write_file", content='{"changed": "a"}'))
    context = assemble("system", [], items, 8_000)
    steps = [item for item in context.items if isinstance(item, AssistantStep)]
    assert context.record.estimated_tokens <= 8_000
    assert steps[-1].calls[0].arguments == json.dumps({"path": "a", "content": "x" * 9_000})
    assert json.loads(steps[0].calls[0].arguments) == {"left_out_characters": len(steps[-1].calls[0].arguments)}


def test_calls_without_results_get_one_and_stray_results_go() -> None:
    """C1: a parked or stopped turn in history is still a valid exchange for a provider."""
    calls = tuple(ToolCall(call_id=name, name="write_file", arguments="{}") for name in ("a", "b"))
    history: list[ContextItem] = [
        UserText(text="q", seq=1),
        AssistantStep(text="", calls=calls, seq=2),
        ToolResult(call_id="b", name="write_file", content="ok"),
        ToolResult(call_id="zzz", name="write_file", content="stray"),
    ]
    context = assemble("system", history, [UserText(text="next", seq=3)], 10_000)
    results = [(item.call_id, item.content) for item in context.items if isinstance(item, ToolResult)]
    assert results == [("a", MISSING_RESULT), ("b", "ok")]


def test_provider_state_stays_only_in_the_run() -> None:
    """C6: finished turns go without what only their provider understands."""
    history: list[ContextItem] = [UserText(text="q"), AssistantStep(text="a", response_json="[1]")]
    current: list[ContextItem] = [UserText(text="q2"), AssistantStep(text="b", response_json="[2]")]
    steps = [item for item in assemble("s", history, current, 9_000).items if isinstance(item, AssistantStep)]
    assert [step.response_json for step in steps] == [None, "[2]"]


@given(st.text(max_size=400), st.integers(0, 300))
def test_shorten_keeps_the_budget_and_says_so(text: str, tokens: int) -> None:
    """C6: short texts stay, others fit (but for a marker that alone is larger) and carry the marker."""
    short = shorten(text, tokens)
    if estimate_tokens(text) <= tokens:
        assert short == text
    else:
        assert "left out by the host" in short
        assert estimate_tokens(short) <= max(tokens, estimate_tokens(shorten("", -1)) + 30)


def test_estimate_is_conservative_for_chinese_and_emoji() -> None:
    """C6: at least one token a character for Chinese, whose tokens are often single characters."""
    assert estimate_tokens("会议记录与总结" * 10) >= 70
    assert estimate_tokens("😀" * 10) >= 30
    assert estimate_tokens("plain English prose, four letters a token") >= 11


def test_sentences_in_both_languages() -> None:
    """O2: Markdown marks go, sentences are cut at Chinese and Latin ends, decimals are not."""
    assert sentences("# Title\n- One point. Two 3.5 points!\n第一句。第二句！\n---\n") == [
        "Title",
        "One point.",
        "Two 3.5 points!",
        "第一句。",
        "第二句！",
    ]


def test_key_sentences_keep_order_and_pick_the_subject() -> None:
    """O2: what the text is about wins over asides."""
    text = (
        "Temporal runs durable workflows. The weather was fine. Durable workflows survive crashes of workers. "
        "Someone ate lunch. Workers replay the history of durable workflows. A cat slept."
    )
    chosen = key_sentences(text, most=2)
    assert len(chosen) == 2
    assert all("urable workflows" in sentence for sentence in chosen)
    assert [text.index(sentence) for sentence in chosen] == sorted(text.index(sentence) for sentence in chosen)
    assert key_sentences("一句话。") == ["一句话。"]
    assert key_sentences("") == []


def test_one_line_cuts_at_a_word() -> None:
    """Shortened lines end visibly."""
    assert one_line("a  b\nc", 10) == "a b c"
    assert one_line("several words in a row", 15) == "several words…"
