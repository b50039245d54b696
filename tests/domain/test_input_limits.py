"""Limits of what a person and a task may say, at their edges (C8, T14, X2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.limits import check_attachments, check_engine, check_text, check_title
from domain.refusal import Refusal, Refused, accepted, refuse


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


@pytest.mark.parametrize("character", ["a", "é", "字", "🙂"], ids=["1-byte", "2-bytes", "3-bytes", "4-bytes"])
def test_texts_are_counted_in_bytes(character: str) -> None:
    """C8: 64,000 UTF-8 bytes are accepted, one more is refused with the limit and the value."""
    width = len(character.encode())
    fitting = character * (64_000 // width) + "x" * (64_000 % width)
    assert check_text(fitting) == fitting
    refused = check_text(fitting + "x")
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.details) == ("invalid_params", {"limit": 64_000, "value": 64_001, "field": "text"})


@pytest.mark.parametrize("broken", ["\ud800", "a\udfffb", "a\x00b", "\x00"])
def test_what_no_database_keeps_is_refused(broken: str) -> None:
    """C8: half a surrogate pair and NUL are refused, not stored and not replaced."""
    assert code(check_text(broken)) == "invalid_params"
    assert code(check_title(broken)) == "invalid_params"
    assert code(check_text(broken, may_be_empty=True)) == "invalid_params"


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000"])
def test_empty_text_only_with_attachments(blank: str) -> None:
    """C8: nothing said is accepted only where something is attached."""
    assert code(check_text(blank)) == "invalid_params"
    assert check_text(blank, may_be_empty=True) == blank
    assert code(check_title(blank)) == "invalid_params"


@pytest.mark.parametrize("character", ["a", "字", "🙂"])
def test_titles_are_counted_in_characters(character: str) -> None:
    """T14: 200 characters are accepted, one more is refused and never cut."""
    assert check_title(character * 200) == character * 200
    refused = check_title(character * 201)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.details) == ("invalid_params", {"limit": 200, "value": 201, "field": "title"})


@given(st.text(max_size=300))
def test_an_accepted_text_is_the_text_that_was_sent(text: str) -> None:
    """C7: what passes is unchanged; what does not pass is refused, one or the other."""
    answer = check_text(text)
    assert answer == text if text.strip() and "\x00" not in text else code(answer) == "invalid_params"


@pytest.mark.parametrize(
    ("count", "total", "refused"),
    [
        (0, 0, None),
        (16, 20 * 1024 * 1024, None),
        (17, 17, {"limit": 16, "value": 17, "field": "attachment_ids"}),
        (1, 20 * 1024 * 1024 + 1, {"limit": 20_971_520, "value": 20_971_521, "field": "attachment_ids"}),
    ],
)
def test_attachments_at_the_edges(count: int, total: int, refused: dict[str, object] | None) -> None:
    """C8: at most 16 attachments and 20 MiB together."""
    answer = check_attachments(count, total)
    if refused is None:
        assert answer == count
    else:
        assert isinstance(answer, Refusal)
        assert (answer.code, answer.details) == ("invalid_params", refused)


def test_only_the_built_in_engine_is_here() -> None:
    """X2: `native` with `standard` or `read_only`; an omitted mode is `standard`."""
    assert check_engine(None, None) == ("native", "standard")
    assert check_engine("native", "read_only") == ("native", "read_only")
    assert code(check_engine("codex", None)) == "engine_unavailable"
    assert code(check_engine("native", "unconfined")) == "invalid_params"
    assert code(check_engine(None, "anything")) == "invalid_params"


def test_a_refusal_unwinds_with_its_code_and_details() -> None:
    """P1: the boundary sees exactly the rule's refusal."""
    with pytest.raises(Refused) as caught:
        accepted(Refusal("not_found", "No such task.", {"limit": 1}))
    assert caught.value.refusal == refuse("not_found", "No such task.", limit=1).refusal
    assert accepted("fine") == "fine"
