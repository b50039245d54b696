"""The hand-off rule (P3) against the shared vectors and against generated structures."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.handoff import FORBIDDEN_KEYS, MAX_DEPTH, check_handoff

_CASES = json.loads((Path(__file__).parents[1] / "vectors" / "handoff.json").read_text(encoding="utf-8"))["cases"]

_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.from_regex(r"k[0-9]{1,3}", fullmatch=True), inner),
    max_leaves=20,
)


@pytest.mark.parametrize("case", _CASES, ids=[f"P3-{case['why']}" for case in _CASES])
def test_vectors(case: dict[str, Any]) -> None:
    """P3: each shared case is accepted or refused at its location."""
    refusal = check_handoff(case["input"])
    assert (refusal is None) == case["accepted"]
    if refusal is not None:
        assert refusal.code == "invalid_params"
        assert refusal.details["location"] == case["location"]
        assert case["location"] in refusal.message


@pytest.mark.parametrize(
    ("value", "location"),
    [
        ({"a": float("nan")}, "a"),
        ({"a": [1, float("inf")]}, "a[1]"),
        ({"a": {1: "x"}}, "a"),
        ({"a": {"b": object()}}, "a.b"),
        ({"a": (1, 2)}, "a"),
        ({"a": b"x"}, "a"),
        ([{"x": {1, 2}}], "[0].x"),
        ({"a": float("nan"), "cmd": 1}, "a"),
        ({"cmd": 1, "a": float("nan")}, "cmd"),
        ({"a": {"path": 1}, "cmd": 2}, "a.path"),
    ],
)
def test_first_fault_is_named(value: object, location: str) -> None:
    """P3: non-JSON values, non-string keys, NaN; the first fault in document order is the one that is named."""
    refusal = check_handoff(value)
    assert refusal is not None
    assert refusal.details["location"] == location


@pytest.mark.parametrize(
    "key",
    [
        "  path ",
        "Path\u200b",
        "\ufeffpath",
        "pa\u00adth",
        "pat\u2060h",
        "ＰＡＴＨ",
        "ｐａｔｈ",
        "python\ufe0f_file",
        "ﬁle",
    ],
)
def test_disguised_keys(key: str) -> None:
    """P3: trimmed, folded, normalised and without invisible characters; a ligature of another word stays free."""
    assert (check_handoff({key: 1}) is None) == (key == "ﬁle")


def test_depth_is_bounded() -> None:
    """O19: nesting beyond the limit is refused, not followed."""
    nested: object = 1
    for _ in range(MAX_DEPTH + 50_000):
        nested = [nested]
    refusal = check_handoff(nested)
    assert refusal is not None
    assert len(str(refusal.details["location"])) < 400


@given(_values)
def test_plain_data_passes(value: object) -> None:
    """P3: values are free."""
    assert check_handoff({"data": value}) is None


@given(_values, st.sampled_from(sorted(FORBIDDEN_KEYS)), st.lists(st.sampled_from(["list", "dict"]), max_size=6))
def test_forbidden_key_is_found_at_any_depth(value: object, key: str, wrapping: list[str]) -> None:
    """P3: any depth, in dicts and lists."""
    carrier: object = {"before": "x", key: value}
    for kind in wrapping:
        carrier = [carrier] if kind == "list" else {"inner": carrier}
    refusal = check_handoff(carrier)
    assert refusal is not None
    assert str(refusal.details["location"]).endswith(key)
