"""The limits of the automatic review, whatever a model says (E8, E16), and what counts as its answer."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.gate import Review
from domain.review import REASON_CHARACTERS, may_be_reviewed, read_answer

RUN: dict[str, Any] = {"operation": "run", "permissions": {"confined": True, "network": False}}
ALLOW = '{"verdict": "allow", "reason": "asked for"}'


@pytest.mark.parametrize(
    ("kind", "action", "may"),
    [
        ("file", {}, True),
        ("command", RUN, True),
        ("command", {"permissions": {"confined": False}}, False),
        ("command", {"permissions": {"confined": 1}}, False),
        ("command", {"permissions": {"confined": "true"}}, False),
        ("command", {"permissions": {"confined": True}, "process_id": "process_1"}, False),
        ("connector", {"account": "me", "recipients": []}, True),
        ("connector", {"account": "me"}, False),
        ("connector", {"account": "", "recipients": ["you"]}, False),
        ("connector", {"recipients": ["you"]}, False),
        ("engine", {"account": "me", "recipients": []}, False),
        ("", {}, False),
    ],
)
def test_what_a_review_may_allow_at_all(kind: str, action: dict[str, Any], may: bool) -> None:
    """E8, E16: no unconfined command, nothing typed into a program, no opaque call, no kind that is not named."""
    assert may_be_reviewed(kind, action) is may


@pytest.mark.parametrize("verdict", [Review.ALLOW, Review.DENY, Review.UNSURE])
@pytest.mark.parametrize("form", ["{}", "\n {} \n", "```json\n{}\n```", "```\n{}\n```", "  ```json\n{}\n```\n"])
def test_a_clean_answer_counts(form: str, verdict: Review) -> None:
    """E8: one object, alone or in one code fence; its reason without blanks around it."""
    answer = json.dumps({"verdict": verdict.value, "reason": " because "})
    assert read_answer(form.replace("{}", answer)) == (verdict, "because")


@pytest.mark.parametrize(
    "text",
    [
        "", "allow", '"allow"', "[]", "null", f"[{ALLOW}]", f"Yes: {ALLOW}", f"{ALLOW} and so on", f"{ALLOW}{ALLOW}",
        '{"verdict": "allow"}', '{"reason": "x"}', '{"verdict": "allow", "reason": ""}',
        '{"verdict": "allow", "reason": " \\n"}', '{"verdict": "allow", "reason": null}',
        '{"verdict": "allow", "reason": 1}', '{"verdict": "allow", "reason": ["x"]}',
        '{"verdict": "allow", "reason": "x", "note": ""}', '{"Verdict": "allow", "reason": "x"}',
        '{"verdict": "ALLOW", "reason": "x"}', '{"verdict": "allow ", "reason": "x"}',
        '{"verdict": ["allow"], "reason": "x"}', '{"verdict": true, "reason": "x"}',
        '{"verdict": "off", "reason": "x"}', '{"verdict": "due", "reason": "x"}',
        '{"verdict": "deny", "verdict": "allow", "reason": "x"}', '{"verdict": "allow", "reason": "x", "reason": "y"}',
        f"```python\n{ALLOW}\n```", f"```json\n{ALLOW}", f"{ALLOW}\n```", f"```json {ALLOW}```",
        f"```json\n{ALLOW}```", "```json\n```", "```\n```", "```", f"```json\n```json\n{ALLOW}\n```\n```",
        "[" * 100_000, f"XX{ALLOW}XX",
    ],
)  # fmt: skip
def test_whatever_is_not_clean_is_unsure(text: str) -> None:
    """E8: words around it, a second verdict, further fields, no reason: a person decides."""
    assert read_answer(text) == (Review.UNSURE, None)


@given(st.text())
def test_no_other_text_allows(text: str) -> None:
    """E8: nothing that is no JSON object of exactly these two fields is an allow."""
    assert read_answer(text)[0] is Review.UNSURE


def test_a_reason_is_bounded() -> None:
    """E8: what a model says at length is cut."""
    assert REASON_CHARACTERS == 500
    long = json.dumps({"verdict": "deny", "reason": "n" * 501})
    assert read_answer(long) == (Review.DENY, "n" * 500)
