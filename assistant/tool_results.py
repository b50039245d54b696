"""What tools answer models: JSON objects of one shape each, written by the activities and read by the offline model.

The hard thing is that a file may contain anything: its text is a value inside the object, so that no content can pass
for an error or for another tool's answer. Refusals are `assistant.tools.tool_error`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = Mapping[str, Any]


def file_read(content: str, *, size: int, truncated: bool) -> str:
    """Answer of `read_file`: the text, the file's size in bytes, and whether only its beginning is shown."""
    return _json({"content": content, "size": size, "truncated": truncated})


def files_listed(entries: Sequence[Json], *, truncated: bool) -> str:
    """Answer of `list_files`: entries `{name, kind: file|folder, size?}` in name order."""
    return _json({"entries": list(entries), "truncated": truncated})


def file_changed(path: str, *, size: int, sha256: str) -> str:
    """Answer of `write_file` and `edit_file` after the effect succeeded; the path is relative to the files root."""
    return _json({"changed": path, "size": size, "sha256": sha256})


def task_delegated(task_id: str, title: str) -> str:
    """Answer of `delegate_task`: the task is accepted and will report by itself."""
    return _json({"task_id": task_id, "title": title, "state": "accepted"})


def tasks_listed(tasks: Sequence[Json], *, more: bool) -> str:
    """Answer of `list_tasks`: `{task_id, title, state, progress?, updated_at}` each, newest first."""
    return _json({"tasks": list(tasks), "more": more})


def task_shown(task: Json) -> str:
    """Answer of `get_task`: the task object of the wire contract."""
    return _json({"task": dict(task)})


def answered(**fields: Any) -> str:  # noqa: ANN401 - what the tool has to say, as JSON
    """Answer of a tool about other work: the objects of the wire contract under their names."""
    return _json(fields)


def noted() -> str:
    """Answer of `report_progress`."""
    return _json({"noted": True})


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """A tool's answer read back: `error` is its code or None, `message` the words of an error."""

    fields: Json
    error: str | None = None
    message: str = ""


def read_answer(content: str) -> ToolAnswer:
    """Read any tool's answer; text that is no JSON object counts as a file's content that may not be whole."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        return ToolAnswer({"content": content, "truncated": True})
    error = fields.get("error")
    if isinstance(error, dict):
        return ToolAnswer(fields, str(error.get("code", "error")), str(error.get("message", "")))
    return ToolAnswer(fields)


def _json(fields: Json) -> str:
    return json.dumps(fields, ensure_ascii=False)
