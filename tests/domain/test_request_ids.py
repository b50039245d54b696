"""Request ids and what makes two requests the same (I2, H11)."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.refusal import Refusal
from domain.request import check_request_id, content_digest

ALLOWED = string.ascii_letters + string.digits + "._:-"
CONTENT = st.dictionaries(
    st.text(max_size=8),
    st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(max_size=4)),
    max_size=5,
)


@given(st.text(ALLOWED, min_size=1, max_size=128))
def test_ids_of_the_grammar_are_taken_as_they_are(request_id: str) -> None:
    """H11: 1 to 128 characters of `[A-Za-z0-9._:-]`."""
    assert check_request_id(request_id) == request_id


@pytest.mark.parametrize(
    "request_id",
    ["", "a" * 129, "a b", "a\n", "\na", "a/b", "ä", "字", "１", "a\x00", "\ud800", "a\u200b"],
)
def test_everything_else_is_refused(request_id: str) -> None:
    """H11: no blank, no line end, no other script, not one character more."""
    refused = check_request_id(request_id)
    assert isinstance(refused, Refusal)
    assert refused.code == "invalid_params"


@given(CONTENT, CONTENT)
def test_equal_digests_mean_equal_content(one: dict[str, object], other: dict[str, object]) -> None:
    """I2: the same request is the same, another one is not."""
    assert (content_digest("m", one) == content_digest("m", other)) == (repr_of(one) == repr_of(other))


def repr_of(content: dict[str, object]) -> str:
    return repr(sorted(content.items()))


@given(CONTENT)
def test_the_order_of_fields_does_not_matter(content: dict[str, object]) -> None:
    """I2: a client may write its fields in any order."""
    assert content_digest("m", content) == content_digest("m", dict(reversed(content.items())))


def test_the_method_is_part_of_the_request() -> None:
    """I2: the same id for another method is another request."""
    assert content_digest("agents.send", {}) != content_digest("agents.stop_turn", {})


def test_the_order_of_attachments_matters() -> None:
    """C7: attachments are bound in order."""
    assert content_digest("m", {"ids": ["a", "b"]}) != content_digest("m", {"ids": ["b", "a"]})
