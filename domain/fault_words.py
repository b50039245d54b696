"""What is wrong with a value, in words of a person (O3), from what pydantic found; never what the value holds.

pydantic's own sentences name classes of this program and call the characters of a text items; nobody outside can act
on that.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

_PLAIN: Final = {
    "missing": "must be given",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "none_required": "must be left out",
    "string_pattern_mismatch": "has characters that are not allowed here, or in a place where they are not",
}
_BOUNDS: Final = {
    "greater_than_equal": ("ge", "must be at least {}"),
    "greater_than": ("gt", "must be more than {}"),
    "less_than_equal": ("le", "must be at most {}"),
    "less_than": ("lt", "must be less than {}"),
}
_SHAPE: Final = re.compile(r"[A-Z][A-Za-z]*$|[a-z-]+\[")
_VALUE_ERROR: Final = "Value error, "


def fault_words(fault: Mapping[str, Any]) -> str:
    """What is wrong, to be read after the field's name; no full stop.

    Args:
        fault: one of `ValidationError.errors()`, with its context.
    """
    kind, context = str(fault["type"]), fault.get("ctx", {})
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return words.format(context[name])
    if kind in ("literal_error", "enum"):
        return f"must be {context['expected']}"
    if kind in ("string_too_short", "too_short"):
        least = context["min_length"]
        return "must not be empty" if least == 1 else f"must have at least {least} {_unit(kind, context)}"
    if kind in ("string_too_long", "too_long"):
        return f"must have at most {context['max_length']} {_unit(kind, context)}{_not(context)}"
    return str(fault["msg"]).removeprefix(_VALUE_ERROR)


def field_path(fault: Mapping[str, Any]) -> str:
    """Where the value is, in the names of the wire; empty for the whole.

    Where a value may be one of several shapes, pydantic names the class or the check of each between the fields. Only
    what is no field at all may look like one, and is named as it was given.
    """
    *above, last = fault["loc"] or ("",)
    parts = [str(part) for part in above if not _SHAPE.match(str(part))]
    if fault["type"] == "extra_forbidden" or not _SHAPE.match(str(last)):
        parts.append(str(last))
    return ".".join(parts)[:100]


def _unit(kind: str, context: Mapping[str, Any]) -> str:
    # A text whose own check comes before its length is counted by pydantic like anything that has one.
    return "characters" if kind.startswith("string_") or context.get("field_type") == "Value" else "entries"


def _not(context: Mapping[str, Any]) -> str:
    actual = context.get("actual_length")
    return f", not {actual}" if isinstance(actual, int) else ""
