"""The exact action of a file call (E1-E4): the file as it is now, the new content, the diff, and the card's words."""

import hashlib
from dataclasses import dataclass

from adapters.files_root import FilesRoot, Inspected
from adapters.text_diff import TOO_LARGE, unified_preview
from assistant.tool_arguments import CONTENT_BYTES, EditFile, WriteFile
from contracts.run import RunPoint
from domain.action import FileAction
from domain.card_words import file_impact, file_words
from domain.effect import EffectKind
from domain.file_state import Present
from domain.refusal import accepted, refuse
from domain.text_edit import decode_text, encode_text, replace_once
from store.effects import Proposal

PREVIEW_SOURCE_BYTES = 1024 * 1024
"""The largest present content that is read for a preview; the card of a larger one says that there is none (E9)."""


@dataclass(frozen=True, slots=True)
class _Change:
    """What a call asks for: the file as it is, its present content where that is small enough, and the new one."""

    found: Inspected
    before: bytes | None
    after: bytes


class FileProposals:
    """Makes proposals of calls that write files below one root; the methods block."""

    def __init__(self, root: FilesRoot) -> None:
        self._root = root

    def proposal(self, point: RunPoint, arguments: WriteFile | EditFile) -> Proposal:
        """What the call would do.

        Raises:
            Refused: it cannot become an action.
            FileAccessError: the system failed.
        """
        change = self._write(arguments) if isinstance(arguments, WriteFile) else self._edit(arguments)
        action = FileAction.writing(
            change.found.absolute_path,
            change.found.state,
            content_sha256=hashlib.sha256(change.after).hexdigest(),
            content_size=len(change.after),
            created_parents=change.found.missing_parents,
        )
        return Proposal(
            run=point.run,
            step=point.step,
            index=point.index,
            kind=EffectKind.FILE,
            action=action.fields(),
            content=change.after,
            words=file_words(action, change.found.path),
            impact=file_impact(action),
            preview=_preview(change),
        )

    def _write(self, arguments: WriteFile) -> _Change:
        found = self._root.inspect(arguments.path)
        return _Change(found, self._content(found, PREVIEW_SOURCE_BYTES), accepted(encode_text(arguments.content)))

    def _edit(self, arguments: EditFile) -> _Change:
        found = self._root.inspect(arguments.path)
        if not isinstance(found.state, Present):
            raise refuse("not_found", "There is no file at this path. List the folder to see what there is.")
        _within_limit("The file", found.state.size)
        before = self._content(found, CONTENT_BYTES) or b""
        text = accepted(decode_text(before))
        after = accepted(encode_text(accepted(replace_once(text, arguments.old, arguments.new))))
        _within_limit("The edited file", len(after))
        return _Change(found, before, after)

    def _content(self, found: Inspected, limit_bytes: int) -> bytes | None:
        """The present content, exactly that of the precondition; None where there is none or it is too large."""
        if not isinstance(found.state, Present) or found.state.size > limit_bytes:
            return None
        read = self._root.read(found.path, limit_bytes)
        if read.truncated or read.sha256 != found.state.sha256:
            raise refuse("precondition_changed", "The file is being changed right now. Try again.")
        return read.content


def _within_limit(what: str, size: int) -> None:
    if size > CONTENT_BYTES:
        message = f"{what} has {size} bytes, at most {CONTENT_BYTES} can be edited. Split it first."
        raise refuse("invalid_params", message, limit=CONTENT_BYTES, value=size)


def _preview(change: _Change) -> str | None:
    if isinstance(change.found.state, Present) and change.before is None:
        return TOO_LARGE
    preview = unified_preview(change.before, change.after)
    return preview.diff if preview.diff is not None else preview.reason
