"""Text of files: decoding, encoding and the one edit there is, replacing a passage that occurs exactly once (E1).

Byte order marks and line ends pass through unchanged, so that an edit changes nothing but its passage.
"""

from domain.refusal import Refusal


def decode_text(content: bytes) -> str | Refusal:
    """Read the content as UTF-8 text, a leading byte order mark kept; `invalid_params` for anything binary."""
    if b"\0" not in content:
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            pass
    return Refusal("invalid_params", "The file is not a text file in UTF-8, so its text cannot be read or edited.")


def encode_text(text: str) -> bytes | Refusal:
    """Encode text for a file; `invalid_params` when it holds half a surrogate pair, which no UTF-8 file can."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return Refusal("invalid_params", "The text is not valid Unicode (an unpaired surrogate). Leave that out.")


def replace_once(content: str, old: str, new: str) -> str | Refusal:
    """Replace `old` by `new` where it occurs exactly once (E1).

    Overlapping occurrences count apart (`aa` is twice in `aaa`), and the empty text is at every position.

    Returns:
        The changed content, or `precondition_changed` when `old` is missing or there more than once.
    """
    start = content.find(old)
    if start < 0:
        message = "The passage to replace is not in the file. Read the file again and copy the passage exactly."
        return Refusal("precondition_changed", message)
    if content.find(old, start + 1) >= 0:
        message = "The passage to replace is in the file more than once. Give more of its surroundings."
        return Refusal("precondition_changed", message)
    return content[:start] + new + content[start + len(old) :]
