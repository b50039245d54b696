"""JSON-RPC errors: the standard's numbers for malformed calls, -32000 for what the product refuses (api.md)."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from domain.fault_words import fault_words, field_path
from domain.refusal import Refusal, refuse

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REFUSED: Final = -32000

_NUMBERS: Final = {"invalid_params": INVALID_PARAMS, "method_not_found": METHOD_NOT_FOUND}
_LIMITS: Final = ("max_length", "min_length", "le", "ge", "lt", "gt")


def error_object(number: int, message: str, code: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Build the `error` member of an answer."""
    return {"code": number, "message": message, "data": {**(details or {}), "code": code}}


def of_refusal(refusal: Refusal) -> dict[str, Any]:
    """The error of an expected refusal; its code is the stable one."""
    number = _NUMBERS.get(refusal.code, REFUSED)
    return error_object(number, refusal.message, refusal.code, refusal.details)


def refusal_of_validation(error: ValidationError) -> Refusal:
    """Say which parameter is wrong, which limit it breaks and by what value; never what it holds."""
    first = error.errors(include_url=False)[0]
    path = field_path(first)
    details: dict[str, str | int | float] = {"field": path} if path else {}
    context = first.get("ctx", {})
    limit = next((context[name] for name in _LIMITS if name in context), None)
    if isinstance(limit, (int, float)):
        details["limit"] = limit
        given = first.get("input")
        value = context.get("actual_length", len(given) if isinstance(given, str) else given)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 2**53:
            details["value"] = value
    words = "Unknown field" if first["type"] == "extra_forbidden" else fault_words(first)
    return Refusal("invalid_params", f"{path}: {words}." if path else f"{words}.", details)


def invalid_params(message: str, **details: str | int) -> Exception:
    """A refusal of the parameters: `raise invalid_params("…", field="cursor")`."""
    return refuse("invalid_params", message, **details)
