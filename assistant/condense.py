"""Token estimates, shortening, and extractive summaries: deterministic arithmetic on text, no model.

The hard thing is Chinese: there is no space to split at, a character is about a token, and a word is two characters.
"""

import math
import re
from collections import Counter

_TOKENS_PER_ASCII = 0.4
_TOKENS_PER_WIDE = 1.5
_TOKENS_PER_ASTRAL = 3.0
ITEM_TOKENS = 8
"""What roles and separators cost around one message."""

_BREAK = re.compile(r"(?<=[。！？])(?![。！？”」])|(?<=[.!?])\s+")
_WORD = re.compile(r"[a-z0-9à-öø-ÿ]+|[\u3400-\u9fff\u3040-\u30ff\uac00-\ud7af]+")
_MARKUP = re.compile(r"^\s*(?:#{1,6}\s+|[-*+]\s+|>\s*|\d+[.)]\s+)+")
_STOP_WORDS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "have", "in", "is", "it", "its", "of"}
    | {"on", "or", "that", "the", "this", "to", "was", "were", "will", "with"}
)


def estimate_tokens(text: str) -> int:
    """Estimate from above how many tokens a text costs, without knowing the model's tokeniser (C6).

    ASCII counts 2.5 characters a token (prose needs 4, dense code about 3), every other character of the basic plane
    1.5 tokens (Chinese needs 0.6 to 1.3), every character beyond it 3 (emoji).
    """
    total = len(text)
    ascii_characters = len(text.encode("ascii", "ignore"))
    astral = len(text.encode("utf-16-le", "surrogatepass")) // 2 - total
    wide = total - ascii_characters - astral
    return int(ascii_characters * _TOKENS_PER_ASCII + wide * _TOKENS_PER_WIDE + astral * _TOKENS_PER_ASTRAL) + 1


def one_line(text: str, characters: int) -> str:
    """The text on one line, cut at a word with an ellipsis when it is longer than `characters`."""
    line = " ".join(text.split())
    if len(line) <= characters:
        return line
    cut = line[: characters - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > characters // 2 else cut).rstrip() + "…"


def shorten(text: str, tokens: int) -> str:
    """Keep head and tail within about `tokens`, with a marker that says how much was left out between them.

    The marker itself may exceed a budget that is smaller than the marker.
    """
    if estimate_tokens(text) <= tokens:
        return text
    room = tokens - estimate_tokens(_marker(len(text)))
    head, tail = _fitting(text, room * 2 // 3), _fitting(text, room // 3, from_end=True)
    left_out = len(text) - head - tail
    return text[:head] + _marker(left_out) + (text[len(text) - tail :] if tail else "")


def _marker(characters: int) -> str:
    return f"\n[… {characters} characters left out by the host …]\n"


def _fitting(text: str, tokens: int, *, from_end: bool = False) -> int:
    """The number of characters from one end that cost at most `tokens`."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        piece = text[len(text) - middle :] if from_end else text[:middle]
        if estimate_tokens(piece) <= tokens:
            low = middle
        else:
            high = middle - 1
    return low


def sentences(text: str) -> list[str]:
    """Split into sentences and lines, without list and heading marks; empty ones are dropped."""
    found: list[str] = []
    for line in text.splitlines():
        plain = _MARKUP.sub("", line).strip()
        found.extend(piece for part in _BREAK.split(plain) if _WORD.search((piece := part.strip()).lower()))
    return found


def key_sentences(text: str, most: int = 5) -> list[str]:
    """The sentences that say most, in their order: scored by how often their words occur in the whole text."""
    every = sentences(text)
    wanted = min(most, max(1, -(-len(every) // 3)))
    if len(every) <= wanted or len(every) <= 2:
        return every
    weights = Counter(word for sentence in every for word in set(_words(sentence)))
    ranked = sorted(range(len(every)), key=lambda at: (-_score(every[at], weights, at), at))
    return [every[at] for at in sorted(ranked[:wanted])]


def _score(sentence: str, weights: Counter[str], at: int) -> float:
    words = set(_words(sentence))
    if not words:
        return 0.0
    # Divided by a root so that neither the longest sentence nor a two-word heading wins by its length alone.
    weight = sum(weights[word] for word in words) / math.sqrt(len(words) + 3)
    return weight * (1.2 if at == 0 else 1.0)


def _words(sentence: str) -> list[str]:
    words: list[str] = []
    for run in _WORD.findall(sentence.lower()):
        if run[0] <= "ÿ":
            words.extend([run] if run not in _STOP_WORDS else [])
        else:
            words.extend(run[at : at + 2] for at in range(len(run) - 1))
    return words
