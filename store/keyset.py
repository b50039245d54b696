"""Keyset paging: opaque cursors that name the last row's key, never an offset (T15, C13)."""

import base64
import binascii
import json

from domain.refusal import refuse


def cursor_after(*key: str | int) -> str:
    """The cursor of the page after the row with this key."""
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).decode().rstrip("=")


def text_key(cursor: str | None) -> str | None:
    """The one text key a cursor names; None without a cursor.

    Raises:
        Refused: `invalid_params` for anything that is no cursor of this list.
    """
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        key = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        key = None
    # Ids are ASCII; other text would at best find nothing, and what no database can be asked for would fail there.
    if (
        not (isinstance(key, list) and len(key) == 1 and isinstance(key[0], str) and key[0].isascii())
        or "\x00" in key[0]
    ):
        raise refuse("invalid_params", "cursor is not one of this list. Take next_cursor of the page before.")
    return key[0]
