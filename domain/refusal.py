"""The one shape of an expected "no".

A rule that refuses returns a `Refusal`; a boundary that has to unwind raises `Refused` around it. Both carry the
stable code of the wire contract, a sentence for a person, and details such as the broken limit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

Detail = str | int | float | bool | None
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An expected refusal: `code` is one of the wire contract's codes, `message` says what to do about it."""

    code: str
    message: str
    details: Mapping[str, Detail] = field(default_factory=dict)


class Refused(Exception):
    """Carries a `Refusal` out of a transaction or adapter; whoever catches it rolls back and reports the code."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(f"{refusal.code}: {refusal.message}")
        self.refusal = refusal


def refuse(code: str, message: str, **details: Detail) -> Refused:
    """Build the exception for a refusal: `raise refuse("not_found", "No such task.")`."""
    return Refused(Refusal(code, message, details))


def accepted(decision: T | Refusal) -> T:
    """Return the decision, or raise `Refused` when a pure rule answered with a refusal."""
    if isinstance(decision, Refusal):
        raise Refused(decision)
    return decision
