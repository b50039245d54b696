"""The file plane of one user space: attachments and artifacts by id, and the working copies made of them (C9, C10, T5).

Managed originals never change; whatever a task works on is a copy in the files root, reached only by its walk.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adapters.content_store import ContentStore
from adapters.file_reading import read_bounded
from adapters.files_root import FilesRoot
from adapters.incoming_content import ContentDescription
from domain.file_names import safe_name, working_copy_path
from domain.file_paths import parse_relative
from domain.file_state import Absent
from domain.refusal import Refused, accepted

"""Folder of the files root that holds working copies (C9)."""


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """A managed copy of a result's file: its safe name, size in bytes, digest and sniffed media type."""

    name: str
    size: int
    sha256: str
    media_type: str


class ManagedFiles:
    """Content stores below the state folder; `attachments` and `artifacts` are read and swept separately."""

    def __init__(self, folder: Path, files_root: FilesRoot) -> None:
        self.attachments: Final = ContentStore(folder / "attachments")
        self.artifacts: Final = ContentStore(folder / "artifacts")
        self._files_root = files_root

    def prepare(self) -> None:
        """Make the folders that are missing, closed to everybody but the owner (H4)."""
        self.attachments.prepare()
        self.artifacts.prepare()

    def put_working_copy(self, attachment_id: str, name: str) -> str:
        """Put a copy of an attachment into the files root, once; blocks (C9).

        A copy that is there already stays, also when a task has changed it meanwhile.

        Returns:
            The copy's path relative to the files root, which the model is given.

        Raises:
            Refused: `not_found` for an unknown attachment, `protected_path` when a link or folder is in the way.
            FileAccessError: the system failed.
        """
        with self.attachments.open_content(attachment_id) as descriptor:
            path = working_copy_path(attachment_id, name)
            if self._files_root.inspect(path).state != Absent():
                return path
            content = read_bounded(descriptor, os.fstat(descriptor).st_size)
        try:
            self._files_root.write(path, content, Absent())
        except Refused:
            # Somebody else put it there meanwhile: fine if it is an ordinary file.
            if self._files_root.inspect(path).state == Absent():
                raise
        return path

    def store_artifact(self, path: str, artifact_id: str, limit_bytes: int) -> StoredArtifact:
        """Copy a file of the files root into the managed store, once; blocks (T5).

        A second call for the same id answers with the copy of the first, whatever the file is by then.

        Raises:
            Refused: `not_found`, `protected_path`, or `invalid_params` (with `limit` and `value`) for a file over the
                limit; `precondition_changed` while the file is being written. Nothing is stored then.
            FileAccessError: the system failed.
        """
        name = safe_name(accepted(parse_relative(path))[-1])
        stored: ContentDescription | None = self.artifacts.describe(artifact_id, name)
        if stored is None:
            received = self.artifacts.keep(self._files_root.copy_out(path, limit_bytes), name)
            self.artifacts.commit(received, artifact_id)
            stored = received
        return StoredArtifact(name, stored.size, stored.sha256, stored.media_type)
