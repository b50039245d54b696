"""Edits replace exactly one passage and change nothing else (E1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.refusal import Refusal
from domain.text_edit import decode_text, encode_text, replace_once


@pytest.mark.parametrize(
    ("content", "old"), [("abc", "x"), ("aXbXc", "X"), ("aaa", "aa"), ("", "a"), ("abc", ""), ("a\r\nb", "a\nb")]
)
def test_not_exactly_once(content: str, old: str) -> None:
    """E1: a passage that is missing or there more than once, overlaps included, is `precondition_changed`."""
    answer = replace_once(content, old, "new")
    assert isinstance(answer, Refusal)
    assert answer.code == "precondition_changed"


@given(st.text(alphabet="abc", max_size=12), st.text(alphabet="abc", max_size=3), st.text(alphabet="xyz", max_size=3))
def test_replaces_iff_there_once(content: str, old: str, new: str) -> None:
    """E1: agrees with counting every position by hand."""
    positions = [at for at in range(len(content) + 1) if content.startswith(old, at)]
    answer = replace_once(content, old, new)
    if len(positions) == 1:
        assert answer == content[: positions[0]] + new + content[positions[0] + len(old) :]
    else:
        assert isinstance(answer, Refusal)


@given(st.text())
def test_text_round_trip(text: str) -> None:
    """E1: decoding and encoding keep byte order marks and line ends."""
    raw = encode_text(text)
    assert not isinstance(raw, Refusal)
    assert "\0" in text or decode_text(raw) == text
    assert decode_text(b"\xef\xbb\xbfa\r\n") == "\ufeffa\r\n"


@pytest.mark.parametrize("raw", [b"\0", b"\xff\xfe", b"caf\xe9", b"\xed\xa0\x80"])
def test_binary_is_no_text(raw: bytes) -> None:
    """E1: what is not UTF-8 text is `invalid_params`."""
    answer = decode_text(raw)
    assert isinstance(answer, Refusal)
    assert answer.code == "invalid_params"


def test_unpaired_surrogates_are_no_text() -> None:
    """E3: half a surrogate pair in new content is `invalid_params`."""
    answer = encode_text("a\ud800")
    assert isinstance(answer, Refusal)
    assert answer.code == "invalid_params"
