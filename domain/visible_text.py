"""Text that cannot lie when it is shown: what has no shape of its own is spelled out as `⟦U+202E⟧` (E9).

The notation is injective (its own opening bracket is spelled out too): no two texts become the same by it.
"""

import unicodedata
from typing import Final

_BLANK_LETTERS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters and marks that are drawn as nothing, though Unicode files them under ordinary categories."""

_SHAPELESS: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_ORDINARY_SPACES: Final = frozenset(" \u3000")
_OPENING: Final = "\u27e6"
_CLOSING: Final = "\u27e7"


def is_invisible(character: str) -> bool:
    """Whether the character is a control, bidi control, zero-width, private or blank one, or half a surrogate pair."""
    return unicodedata.category(character) in _SHAPELESS or character in _BLANK_LETTERS


def make_visible(text: str, keep: str = "\t") -> str:
    """Spell out every character of the text that a reader could not see or that would move others (E9).

    Args:
        text: any text, unpaired surrogates included.
        keep: characters that the place of display shows faithfully by itself.
    """
    return "".join(_shown(character, keep) for character in text)


def _shown(character: str, keep: str) -> str:
    if character in keep or character in _ORDINARY_SPACES or (character.isascii() and character.isprintable()):
        return character
    if is_invisible(character) or character == _OPENING or unicodedata.category(character) == "Zs":
        return f"{_OPENING}U+{ord(character):04X}{_CLOSING}"
    return character
