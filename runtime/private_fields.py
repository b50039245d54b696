"""What may appear in a log line: ids, states, codes and counts; never a person's text, paths or secrets (I9, O11).

Own events are filtered by field name and length. Lines of libraries are rebuilt from their template, with only those
arguments that look like identifiers; an exception is shown by types and places, since its message may quote its input.
"""

import logging
import re
import sys
import traceback
from collections.abc import MutableMapping
from pathlib import PurePath
from typing import Any

DROPPED = "[dropped]"
LONGEST_VALUE = 256
MOST_FRAMES = 12

PRIVATE_NAMES = frozenset({
    "answer", "api_key", "arguments", "authorization", "body", "content", "cookie", "credential", "diff", "file",
    "filename", "instructions", "link", "message_text", "note", "parameters", "password", "path", "prompt", "query",
    "secret", "snippet", "statement", "stderr", "stdin", "stdout", "summary", "text", "title", "token", "url",
})  # fmt: skip
IDENTIFIER = re.compile(r"[A-Za-z0-9._:\-]{1,128}")

EventDict = MutableMapping[str, Any]


def drop_private_fields(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Replace private fields at any depth and cut long strings; a structlog processor."""
    for key in list(event):
        if not key.startswith("_"):
            event[key] = _clean(key, event[key])
    return event


def _clean(key: str, value: object) -> object:
    if key.lower() in PRIVATE_NAMES:
        return DROPPED
    if isinstance(value, dict):
        return {str(name): _clean(str(name), part) for name, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean("", part) for part in value]
    if isinstance(value, BaseException):
        return exception_outline(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    text = str(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(text)} characters)"


def library_message(record: logging.LogRecord) -> str:
    """Return what may be shown of a library's log record: its template's first line with harmless arguments."""
    if record.name == "py.warnings":
        return _warning_category(record.getMessage())
    template = str(record.msg)
    arguments = record.args
    if isinstance(arguments, dict):
        arguments = {name: _harmless(value) for name, value in arguments.items()}
    elif arguments:
        arguments = tuple(_harmless(value) for value in arguments)
    try:
        message = template % arguments if arguments else template
    except (TypeError, ValueError, KeyError):
        message = template
    return message.partition("\n")[0][:LONGEST_VALUE]


def _warning_category(formatted: str) -> str:
    found = re.search(r":\d+: (\w+): ", formatted)
    return f"{found.group(1)} was raised" if found else "a warning was raised"


def _harmless(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str) and IDENTIFIER.fullmatch(value):
        return value
    return f"[{type(value).__name__}]"


def outline_exception(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Replace `exc_info` by the outline of the exception; a structlog processor."""
    given = event.pop("exc_info", None)
    if given is True:
        given = sys.exception()
    elif isinstance(given, tuple):
        given = given[1]
    if isinstance(given, BaseException):
        event["exception"] = exception_outline(given)
    return event


def exception_outline(error: BaseException) -> str:
    """Return the types of an exception and its causes, with the innermost places, without any message."""
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(parts) < MOST_FRAMES:
        frames = traceback.extract_tb(current.__traceback__)[-MOST_FRAMES:]
        places = " > ".join(f"{PurePath(frame.filename).name}:{frame.lineno}:{frame.name}" for frame in frames)
        code = getattr(getattr(current, "refusal", None), "code", None) or getattr(current, "type", None)
        kind = type(current).__name__ + (f"({code})" if isinstance(code, str) and IDENTIFIER.fullmatch(code) else "")
        parts.append(f"{kind} at {places}" if places else kind)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return " from ".join(parts)
