"""Request ids and the digest of what a request says (I2, H11)."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from domain.refusal import Refusal

OWN = "steward:"
"""Begins the request ids of what the host asks of itself, so that no client's id can stand in their way (I2)."""

_GRAMMAR = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)


def check_request_id(request_id: str) -> str | Refusal:
    """Return a client's id if it follows the wire contract's grammar and is not one of the host's own."""
    if request_id.startswith(OWN):
        return Refusal("invalid_params", "request_id may not begin with `steward:`; the host's own begin so.")
    return check_named_request_id(request_id)


def check_named_request_id(request_id: str) -> str | Refusal:
    """Return an id that is asked about if it follows the grammar: 1 to 128 characters of `[A-Za-z0-9._:-]`."""
    if _GRAMMAR.fullmatch(request_id):
        return request_id
    return Refusal("invalid_params", "request_id takes 1 to 128 characters of [A-Za-z0-9._:-].", {"limit": 128})


def content_digest(method: str, content: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal, of a request's method and content: equal digests mean the same request."""
    text = json.dumps([method, content], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
