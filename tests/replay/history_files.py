"""The committed histories as files: one event a line, without what names the machine that recorded them.

They are facts, not snapshots: one that has been committed is never changed again (I10).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from temporalio.client import WorkflowHistory

FOLDER = Path(__file__).parent / "histories"
KNOWN_BAD = Path(__file__).parent / "known_bad"


def paths(folder: Path = FOLDER) -> list[Path]:
    """All histories, in a fixed order."""
    return sorted(folder.rglob("*.json"))


def name_of(path: Path) -> str:
    """`workflow/scenario` of a committed history."""
    return f"{path.parent.name}/{path.stem}"


def load(path: Path) -> WorkflowHistory:
    """Read a history, as the replayer takes it."""
    return WorkflowHistory.from_json(name_of(path), path.read_text(encoding="utf-8"))


def save(path: Path, history: WorkflowHistory) -> int:
    """Write a history and return its size in bytes."""
    events = json.loads(history.to_json())["events"]
    lines = ",\n".join(json.dumps(_without_machine(event), separators=(",", ":")) for event in events)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.write_text(f'{{"events":[\n{lines}\n]}}\n', encoding="utf-8")


def texts(value: Any) -> Iterator[str]:
    """All strings in a decoded JSON value, keys included."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def _without_machine(value: Any) -> Any:
    """The same without process identities, sticky queues, which hold them, and stack traces; replay needs none."""
    if isinstance(value, list):
        return [_without_machine(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    if value.get("kind") == "TASK_QUEUE_KIND_STICKY":
        return {**value, "name": "sticky"}
    kept = {key: _without_machine(inner) for key, inner in value.items() if key != "stackTrace"}
    return {**kept, "identity": "recorded"} if "identity" in kept else kept
