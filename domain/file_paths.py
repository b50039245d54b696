"""What counts as a path inside the files root, decided on the text alone (E3).

The descriptor walk decides what the names lead to; this module only guarantees that each name is one ordinary
component, so that no text a model writes can climb out, be cut at a NUL or reach a name that Steward keeps for itself.
"""

from typing import Final

from domain.refusal import Refusal

MAX_COMPONENT_BYTES: Final = 255
MAX_PATH_BYTES: Final = 4096
TEMPORARY_PREFIX: Final = ".steward-tmp-"
"""Names of unfinished writes begin with this; no path may name one, so a sweep can never take a person's file."""

Components = tuple[str, ...]


def parse_relative(path: str) -> Components | Refusal:
    """Split the path of a file into its components (E3).

    Args:
        path: as a model or client wrote it, relative to the files root; `/` separates, `.` and doubled `/` are dropped.

    Returns:
        At least one component, or a refusal: `protected_path` when the text leads outside the files root or to a
        reserved name, `invalid_params` when it can be no path of a file at all.
    """
    components = parse_folder(path)
    if isinstance(components, Refusal):
        return components
    if not components or path.endswith(("/", "/.")):
        return Refusal("invalid_params", "The path names a folder, not a file. Add the file's name.")
    return components


def parse_folder(path: str) -> Components | Refusal:
    """Split the path of a folder; an empty path and `.` are the files root itself, the empty tuple (E3)."""
    try:
        encoded = path.encode("utf-8")
    except UnicodeEncodeError:
        return Refusal("invalid_params", "The path is not valid UTF-8. Use ordinary characters.")
    if b"\0" in encoded:
        return Refusal("invalid_params", "The path contains a NUL character. Leave it out.")
    if len(encoded) > MAX_PATH_BYTES:
        return _too_long("path", MAX_PATH_BYTES, len(encoded))
    if path.startswith("/"):
        return Refusal("protected_path", "Paths are relative to the files folder. Leave out the leading slash.")
    return _components(path)


def _components(path: str) -> Components | Refusal:
    components = tuple(part for part in path.split("/") if part not in ("", "."))
    longest = max((len(part.encode()) for part in components), default=0)
    if longest > MAX_COMPONENT_BYTES:
        return _too_long("name", MAX_COMPONENT_BYTES, longest)
    if ".." in components:
        return Refusal("protected_path", "The path must stay inside the files folder. Leave out `..`.")
    if any(part.casefold().startswith(TEMPORARY_PREFIX) for part in components):
        return Refusal("protected_path", f"Names that begin with `{TEMPORARY_PREFIX}` are reserved. Use another name.")
    return components


def _too_long(what: str, limit: int, value: int) -> Refusal:
    message = f"A {what} may have at most {limit} bytes, this one has {value}. Use a shorter one."
    return Refusal("invalid_params", message, {"limit": limit, "value": value})
