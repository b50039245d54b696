"""Effects of kind `file` (E1-E4): looking at the file, writing it once, and observing what a lost dispatch left (E13).

All methods block; the caller uses a thread. What is written is what the action's digest covers: the path comes from the
action itself, not from a column beside it.
"""

import hashlib
from pathlib import Path
from typing import Any

from adapters.file_access import FileAccessError
from adapters.files_root import FilesRoot
from domain.action import FileAction, FileOperation
from domain.effect import EffectEvent
from domain.refusal import Refusal, Refused, refuse
from store.effect_ends import UNKNOWN, Outcome

_OPERATIONS = {FileOperation.CREATE: "created", FileOperation.REPLACE: "replaced"}
_NO_ROOM = ("ENOSPC", "EDQUOT", "EFBIG")
_CHANGED = Refusal("precondition_changed", "The file is not as it was when this was proposed. Look at it again.")
_NOT_DONE = Outcome(
    EffectEvent.FAIL,
    Refusal(
        "runtime_restarted",
        "Steward was interrupted before the change was made; the file is as it was. Propose it again if still wanted.",
    ),
)


class FileEffect:
    """Carries out file actions below one files root."""

    def __init__(self, root: FilesRoot) -> None:
        self._root = root

    def policy(self, fields: dict[str, Any]) -> Refusal | None:
        """Look whether the path is allowed and the file still what was decided on (E3, E10); None is a yes.

        Anything that cannot be told is a no.
        """
        try:
            action = FileAction.model_validate(fields)
            found = self._root.inspect(self._relative(action))
        except Refused as refused:
            return refused.refusal
        except FileAccessError as error:
            return _unreadable(error)
        if found.absolute_path != action.path or not action.covers(found.state, found.missing_parents):
            return _CHANGED
        return None

    def perform(self, fields: dict[str, Any], content: bytes) -> Outcome:
        """Write the file if it is still as decided (E4). The precondition is checked on the open descriptor."""
        action = FileAction.model_validate(fields)
        if hashlib.sha256(content).hexdigest() != action.content_sha256:
            return Outcome(EffectEvent.FAIL, _CHANGED)
        try:
            path = self._relative(action)
            self._root.write(path, content, action.expected())
        except Refused as refused:
            return Outcome(EffectEvent.FAIL, refused.refusal)
        except FileAccessError as error:
            # After the rename an error says only that it may not survive a power cut: what stands there decides.
            return self.observe(fields) if error.published else Outcome(EffectEvent.FAIL, _unwritable(error))
        return self._done(action, path)

    def observe(self, fields: dict[str, Any]) -> Outcome:
        """Say what became of a write whose dispatcher is dead, from what is at the path now (E13).

        The new content proves success. The file exactly as before proves that the change is not there, and a dead
        dispatcher will not make it. Everything else is unknown.
        """
        action = FileAction.model_validate(fields)
        try:
            path = self._relative(action)
        except Refused:
            return UNKNOWN
        found = self._root.observe(path)
        # A rewrite with the same content looks the same before and after: it is done either way.
        if found == action.result():
            return self._done(action, path)
        return _NOT_DONE if found is not None and found == action.expected() else UNKNOWN

    def _done(self, action: FileAction, path: str) -> Outcome:
        result: dict[str, str | bool] = {"path": path, "operation": _OPERATIONS[action.operation]}
        return Outcome(EffectEvent.SUCCEED, result=result)

    def _relative(self, action: FileAction) -> str:
        try:
            return Path(action.path).relative_to(self._root.root).as_posix()
        except ValueError:
            raise refuse("protected_path", "The files folder is not where it was when this was proposed.") from None


def _unreadable(error: FileAccessError) -> Refusal:
    return Refusal("protected_path", f"The file system does not say what is at the path ({error.reason}).")


def _unwritable(error: FileAccessError) -> Refusal:
    if error.reason in _NO_ROOM:
        return Refusal("limit_exceeded", f"The file system has no room for it ({error.reason}). Nothing was changed.")
    return Refusal("protected_path", f"The file system did not take the file ({error.reason}). Nothing was changed.")
