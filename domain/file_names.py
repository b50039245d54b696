"""The name a managed file gets on disk and on the page, made from whatever name a client sent (C9, P2).

One ordinary, portable component that looks like what it is: nothing hidden, nothing that reverses its own extension.
"""

import unicodedata
from typing import Final

from domain.visible_text import is_invisible

MAX_NAME_BYTES: Final = 200
FALLBACK_NAME: Final = "file"
WORKING_COPIES: Final = "attachments"
_MAX_EXTENSION_BYTES: Final = 20
_DEVICE_NAMES: Final = frozenset(
    {"con", "prn", "aux", "nul"} | {f"{port}{number}" for port in ("com", "lpt") for number in "123456789¹²³"}
)


def safe_name(name: str) -> str:
    """Turn a client's file name into a safe one; a safe name stays as it is (C9).

    Returns:
        NFC text of 1 to 200 UTF-8 bytes, without folders, leading dots, invisible or bidi characters and device names;
        the extension survives the cut.
    """
    base = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    shown = "".join(character for character in base if not is_invisible(character))
    shown = unicodedata.normalize("NFC", "".join(" " if character.isspace() else character for character in shown))
    trimmed = _trim(shown).lstrip(". ")
    stem, dot, extension = trimmed.rpartition(".")
    if not stem or len(extension.encode()) > _MAX_EXTENSION_BYTES:
        stem, dot, extension = trimmed, "", ""
    if stem.split(".", 1)[0].rstrip().casefold() in _DEVICE_NAMES:
        stem = f"_{stem}"
    room = MAX_NAME_BYTES - len(f"{dot}{extension}".encode())
    return f"{_trim(_cut(stem, room))}{dot}{extension}" or FALLBACK_NAME


def working_copy_path(attachment_id: str, name: str) -> str:
    """Where the working copy of an attachment stands, relative to the files root (C9)."""
    return f"{WORKING_COPIES}/{attachment_id}/{safe_name(name)}"


def _trim(text: str) -> str:
    return text.strip(" ").rstrip(". ")


def _cut(text: str, limit: int) -> str:
    return text.encode()[:limit].decode("utf-8", "ignore")
