"""The preview on an approval card: a bounded diff in which nothing is hidden (E9).

The hard thing is bounded work: common ends are cut off first, and only a small changed middle is compared line by line.
"""

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from domain.refusal import Refusal
from domain.text_edit import decode_text
from domain.visible_text import make_visible

MAX_PREVIEW_BYTES: Final = 64 * 1024
MAX_PREVIEW_LINES: Final = 200
TOO_LARGE: Final = "no preview (too large)"
NOT_TEXT: Final = "no preview (not text)"

_CONTEXT_LINES: Final = 3
_MAX_INPUT_BYTES: Final = 1024 * 1024
_MAX_COMPARED_LINES: Final = 1000
_NO_NEWLINE: Final = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Preview:
    """A diff as plain text, or the reason why there is none."""

    diff: str | None
    reason: str | None = None


def unified_preview(before: bytes | None, after: bytes, limit_bytes: int = MAX_PREVIEW_BYTES) -> Preview:
    """Show what a write changes, as hunks of a unified diff without file names (E9).

    Control, bidi and invisible characters are spelled out (`⟦U+202E⟧`); carriage returns are left out where every line
    of both sides ends with one.

    Args:
        before: the present content; None for a new file.
        after: the content to be written.
        limit_bytes: the most UTF-8 bytes the diff may have; it never has over 200 lines either.
    """
    if len(before or b"") > _MAX_INPUT_BYTES or len(after) > _MAX_INPUT_BYTES:
        return Preview(None, TOO_LARGE)
    old, new = decode_text(before or b""), decode_text(after)
    if isinstance(old, Refusal) or isinstance(new, Refusal):
        return Preview(None, NOT_TEXT)
    old_lines, new_lines = _without_common_returns(_lines(old), _lines(new))
    diff = _diff(old_lines, new_lines)
    if diff is None or len(diff) > MAX_PREVIEW_LINES:
        return Preview(None, TOO_LARGE)
    text = "\n".join(diff)
    return Preview(None, TOO_LARGE) if len(text.encode()) > limit_bytes else Preview(text)


def _lines(text: str) -> list[str]:
    """Lines with their newline; only a line feed ends a line, whatever else a display might break at."""
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


def _without_common_returns(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    everywhere = all(line.endswith("\r\n") for lines in (old, new) for line in lines)
    if not everywhere:
        return old, new
    return [f"{line[:-2]}\n" for line in old], [f"{line[:-2]}\n" for line in new]


def _diff(old: list[str], new: list[str]) -> list[str] | None:
    shorter = min(len(old), len(new))
    start = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    rest = shorter - start
    end = next((index for index in range(rest) if old[-1 - index] != new[-1 - index]), rest)
    # Three unchanged lines around the middle are its context.
    first = max(0, start - _CONTEXT_LINES)
    behind = max(0, end - _CONTEXT_LINES)
    old, new = old[first : len(old) - behind], new[first : len(new) - behind]
    if max(len(old), len(new)) > _MAX_COMPARED_LINES:
        return None
    shown = []
    for group in SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT_LINES):
        _, old_from, _, new_from, _ = group[0]
        _, _, old_to, _, new_to = group[-1]
        shown.append(f"@@ -{_span(first, old_from, old_to)} +{_span(first, new_from, new_to)} @@")
        for kind, *span in group:
            if kind == "equal":
                shown += _marked(" ", old[span[0] : span[1]])
            else:
                shown += _marked("-", old[span[0] : span[1]]) + _marked("+", new[span[2] : span[3]])
    return shown


def _span(first: int, start: int, end: int) -> str:
    length = end - start
    # As `diff` has it: an empty span names the line before it.
    line = first + start + (1 if length else 0)
    return str(line) if length == 1 else f"{line},{length}"


def _marked(sign: str, lines: list[str]) -> list[str]:
    shown = []
    for line in lines:
        shown.append(sign + make_visible(line.removesuffix("\n")))
        if not line.endswith("\n"):
            shown.append(_NO_NEWLINE)
    return shown
