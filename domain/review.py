"""What the automatic review may decide at all (E8, E16), and what counts as its answer.

The limits hold whatever a model says.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from domain.effect import EffectKind
from domain.gate import Review

REASON_CHARACTERS: Final = 500
_FENCE: Final = "```"
_FENCES: Final = ("```json\n", "```\n")
_CLEAN: Final = (Review.ALLOW, Review.DENY, Review.UNSURE)


def may_be_reviewed(kind: str, action: Mapping[str, Any]) -> bool:
    """Whether a review could allow this action: no unconfined command, nothing typed into a running program.

    What may not be allowed by a review is a person's to decide, so no model is asked about it. Kinds that are not
    named here are a person's as well.
    """
    if kind == EffectKind.COMMAND:
        return "process_id" not in action and action["permissions"]["confined"] is True
    if kind == EffectKind.CONNECTOR:
        return bool(action.get("account")) and "recipients" in action
    return kind == EffectKind.FILE


def read_answer(text: str) -> tuple[Review, str | None]:
    """Read a reviewer's answer: one JSON object with a verdict and a reason, alone or in one code fence (E8).

    Whatever is not clean (words around it, a second verdict, further fields, an empty or missing reason) is unsure.
    """
    try:
        answer = json.loads(_unfenced(text.strip()), object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        return Review.UNSURE, None
    if not isinstance(answer, dict) or set(answer) != {"verdict", "reason"}:
        return Review.UNSURE, None
    verdict, reason = answer["verdict"], answer["reason"]
    if verdict not in _CLEAN or not isinstance(reason, str) or not reason.strip():
        return Review.UNSURE, None
    return Review(verdict), reason.strip()[:REASON_CHARACTERS]


def _unfenced(text: str) -> str:
    for opening in _FENCES:
        if text.startswith(opening) and text.endswith(f"\n{_FENCE}"):
            return text[len(opening) : -len(_FENCE)]
    return text


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field is there twice")
    return found
