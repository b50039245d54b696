"""What the first bytes of a file say about its kind; what a client claims is never asked (C9)."""

import codecs
from typing import Final

import filetype

from domain.media_type import UNKNOWN, reads_as_text, text_media_type

SNIFFED_BYTES: Final = 8192

_BUILT_ON_TEXT: Final = frozenset({"application/pdf", "application/rtf", "application/postscript"})
"""Kinds whose signature may stand before pure ASCII; any other signature on text is chance ("BM" begins a bitmap)."""


def sniff(head: bytes, name: str) -> str:
    """The media type of a file.

    Args:
        head: its first `SNIFFED_BYTES` bytes, or all of a shorter one.
        name: its safe name, which only distinguishes kinds of text.
    """
    guess = filetype.guess(head)
    signature = None if guess is None else str(guess.mime)
    if not _is_text(head):
        return signature or UNKNOWN
    return signature if signature in _BUILT_ON_TEXT else text_media_type(name)


def _is_text(head: bytes) -> bool:
    # Not final: the last character of the head may be cut in two.
    final = len(head) < SNIFFED_BYTES
    try:
        return reads_as_text(codecs.getincrementaldecoder("utf-8")().decode(head, final))
    except UnicodeDecodeError:
        return False
