"""What is written down about commands in the state folder (E13, E15): that one runs, and how it ended.

Each record appears whole or not at all. Standard library only: the supervising process of a command writes them.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

Json = dict[str, Any]
_RUNNING: Final = ".running.json"
_ENDED: Final = ".ended.json"


class ProcessRecords:
    """The records in one folder, by the name of the effect that started the command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def prepare(self) -> None:
        """Make the folder, for its owner only."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def write_running(self, name: str, fields: Json) -> None:
        """Write down which processes a command consists of, before it begins."""
        self._write(name, _RUNNING, fields)

    def write_ended(self, name: str, fields: Json) -> None:
        """Write down how a command ended; then it is running no more."""
        self._write(name, _ENDED, fields)
        self._path(name, _RUNNING).unlink(missing_ok=True)

    def running(self, name: str) -> Json | None:
        """The record of a command that has not been seen to end."""
        return self._read(name, _RUNNING)

    def ended(self, name: str) -> Json | None:
        """The record of a command's end."""
        return self._read(name, _ENDED)

    def forget_running(self, name: str) -> None:
        """Remove the record of a command of which nothing is left."""
        self._path(name, _RUNNING).unlink(missing_ok=True)

    def forget_ended(self, name: str) -> None:
        """Remove the record of an end that is stored elsewhere."""
        self._path(name, _ENDED).unlink(missing_ok=True)

    def names_running(self) -> list[str]:
        """The commands that were not seen to end."""
        return self._names(_RUNNING)

    def names_ended(self) -> list[str]:
        """The commands whose end is written down."""
        return self._names(_ENDED)

    def _names(self, suffix: str) -> list[str]:
        with suppress(FileNotFoundError):
            return sorted(found.name.removesuffix(suffix) for found in self.folder.glob(f"*{suffix}"))
        return []

    def _path(self, name: str, suffix: str) -> Path:
        return self.folder / f"{name}{suffix}"

    def _read(self, name: str, suffix: str) -> Json | None:
        try:
            fields = json.loads(self._path(name, suffix).read_bytes())
        except (OSError, ValueError):
            return None
        return fields if isinstance(fields, dict) else None

    def _write(self, name: str, suffix: str, fields: Json) -> None:
        path = self._path(name, suffix)
        temporary = path.with_name(f"{path.name}.new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(fields).encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
