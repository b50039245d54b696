"""Limits of what a person and a task may say (C8, T14), checked before anything is stored."""

from domain.refusal import Refusal

TEXT_BYTES = 64_000
TITLE_CHARACTERS = 200
ATTACHMENTS = 16
ATTACHMENT_BYTES = 20 * 1024 * 1024


def check_text(text: str, *, field: str = "text", may_be_empty: bool = False) -> str | Refusal:
    """Return a text that can be stored: at most 64,000 UTF-8 bytes, real Unicode, no NUL, not blank."""
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        return Refusal("invalid_params", f"{field} is not valid Unicode: it holds half a surrogate pair.")
    if size > TEXT_BYTES:
        return Refusal(
            "invalid_params",
            f"{field} has {size} bytes in UTF-8; at most {TEXT_BYTES} are accepted.",
            {"limit": TEXT_BYTES, "value": size, "field": field},
        )
    if "\x00" in text:
        return Refusal("invalid_params", f"{field} holds a NUL character.", {"field": field})
    if not may_be_empty and not text.strip():
        return Refusal("invalid_params", f"{field} is empty.", {"limit": 1, "value": 0, "field": field})
    return text


def check_title(title: str) -> str | Refusal:
    """Return a title of 1 to 200 characters (T14); too long is refused, never cut."""
    if len(title) > TITLE_CHARACTERS:
        return Refusal(
            "invalid_params",
            f"title has {len(title)} characters; at most {TITLE_CHARACTERS} are accepted.",
            {"limit": TITLE_CHARACTERS, "value": len(title), "field": "title"},
        )
    return check_text(title, field="title")


def check_attachments(count: int, total_bytes: int) -> int | Refusal:
    """Return the count when it and the decoded total are within C8."""
    if count > ATTACHMENTS:
        return Refusal(
            "invalid_params",
            f"{count} attachments were named; at most {ATTACHMENTS} are accepted.",
            {"limit": ATTACHMENTS, "value": count, "field": "attachment_ids"},
        )
    if total_bytes > ATTACHMENT_BYTES:
        return Refusal(
            "invalid_params",
            f"The attachments have {total_bytes} bytes together; at most {ATTACHMENT_BYTES} are accepted.",
            {"limit": ATTACHMENT_BYTES, "value": total_bytes, "field": "attachment_ids"},
        )
    return count


def check_engine(engine: str | None, permission_mode: str | None) -> tuple[str, str] | Refusal:
    """Return the effective engine and permission mode; only `native` is here, and it has no unconfined mode (X2)."""
    if engine not in (None, "native"):
        return Refusal("engine_unavailable", "This engine is not available here. Use the built-in one, `native`.")
    mode = permission_mode or "standard"
    if mode not in ("standard", "read_only"):
        return Refusal("invalid_params", "permission_mode of the engine `native` is `standard` or `read_only`.")
    return "native", mode
