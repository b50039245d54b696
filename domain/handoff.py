"""The rule for structured hand-offs between agents and layers (P3): data only, nothing that names what to execute.

The hard thing is that a key can be disguised (width, case, invisible characters); values stay free.
"""

import math
import unicodedata
from collections.abc import Iterator

from domain.refusal import Refusal

FORBIDDEN_KEYS = frozenset({"input_path", "output_path", "path", "command", "cmd", "shell", "python", "python_file"})
MAX_DEPTH = 64
"""Levels of nesting a hand-off may have; deeper ones serve no purpose and would exhaust a recursive reader."""

_LOCATION_CHARACTERS = 300

_Node = tuple[str, object, int]


def check_handoff(payload: object) -> Refusal | None:
    """Refuse a hand-off that carries an executable field or is not plain JSON data (P3).

    Args:
        payload: The decoded structure: dicts, lists, strings, finite numbers, booleans and null.

    Returns:
        None when it may pass, else `invalid_params` with the `location` of the first fault in document order.
    """
    pending: list[_Node] = [("", payload, 0)]
    while pending:
        location, value, depth = pending.pop()
        if depth > MAX_DEPTH:
            return _fault(location, f"is nested deeper than {MAX_DEPTH} levels")
        if isinstance(value, dict):
            fault, children = _members(value, location, depth)
            # What stands before a faulty key is still looked at first: the location is the first one in the document.
            if fault is not None:
                pending.append((fault[0], fault[1], depth))
            pending.extend(reversed(children))
        elif isinstance(value, _Fault):
            return _fault(location, value.words)
        elif isinstance(value, list):
            pending.extend(reversed([(f"{location}[{at}]", item, depth + 1) for at, item in enumerate(value)]))
        elif (words := _scalar_fault(value)) is not None:
            return _fault(location, words)
    return None


class _Fault:
    """A faulty key, queued at its place in the document."""

    def __init__(self, words: str) -> None:
        self.words = words


def _members(value: dict[object, object], location: str, depth: int) -> tuple[tuple[str, _Fault] | None, list[_Node]]:
    """The members before the first faulty key, and that key's fault."""
    children: list[_Node] = []
    for key, item in value.items():
        if not isinstance(key, str):
            return (location, _Fault("has a key that is not a string")), children
        place = f"{location}.{key}" if location else key
        if _plain_key(key) in FORBIDDEN_KEYS:
            return (place, _Fault("is a field that hand-offs may not carry; say it in words instead")), children
        children.append((place, item, depth + 1))
    return None, children


def _plain_key(key: str) -> str:
    """The key as a lenient reader would understand it: visible characters only, folded, trimmed."""
    # Folding can produce what normalising must fold again (and the reverse), so both run until nothing changes.
    seen = key
    while True:
        folded = unicodedata.normalize("NFKC", "".join(_visible(seen))).casefold().strip()
        if folded == seen:
            return folded
        seen = folded


def _visible(key: str) -> Iterator[str]:
    return (char for char in key if unicodedata.category(char) != "Cf" and char not in _INVISIBLE)


_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0") | frozenset(
    chr(code) for code in range(0xFE00, 0xFE10)
)
"""Zero-width or blank characters outside the format category: joiners, fillers, variation selectors."""


def _scalar_fault(value: object) -> str | None:
    if value is None or isinstance(value, str | bool | int):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else "is not a finite number"
    return "is not a JSON value"


def shown_location(location: str) -> str:
    """A location as it may be said and stored: keys come from a model and can be anything of any length."""
    plain = location.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
    return plain if len(plain) <= _LOCATION_CHARACTERS else plain[:_LOCATION_CHARACTERS] + "…"


def _fault(location: str, words: str) -> Refusal:
    shown = shown_location(location)
    return Refusal("invalid_params", f"The hand-off's field {shown or '(top level)'} {words}.", {"location": shown})
