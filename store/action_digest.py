"""The digest of an action (E2): SHA-256 of its canonical JSON (RFC 8785), in hexadecimal."""

import hashlib
from typing import Any

import rfc8785


def action_digest(action: dict[str, Any]) -> str:
    """Digest an action's fields; equal digests mean that exactly the same will happen."""
    return hashlib.sha256(rfc8785.dumps(action)).hexdigest()
