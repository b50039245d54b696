"""The media type of a text by its name; anything not proven to be text never gets a text type (C9)."""

from typing import Final

TEXT: Final = "text/plain"
UNKNOWN: Final = "application/octet-stream"

_BY_EXTENSION: Final = {
    "md": "text/markdown",
    "markdown": "text/markdown",
    "csv": "text/csv",
    "json": "application/json",
}
_TEXT_CONTROLS: Final = frozenset("\t\n\r\f\x1b")


def text_media_type(name: str) -> str:
    """The type of content that is text: by the name's extension, else plain; never one that a browser would run."""
    _, dot, extension = name.rpartition(".")
    return _BY_EXTENSION.get(extension.casefold(), TEXT) if dot else TEXT


def reads_as_text(text: str) -> bool:
    """Whether decoded text looks written by a person or program, not like binary that happens to decode."""
    return all(character >= " " or character in _TEXT_CONTROLS for character in text) and "\x7f" not in text
