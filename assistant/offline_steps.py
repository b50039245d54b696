"""What the offline model does next in a run, from the request and the calls made so far (O2). Pure.

The hard thing is that nothing is remembered between steps: the same messages give the same step, also after a restart.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.condense import one_line
from assistant.deliveries import Language
from assistant.offline_grammar import Request, instruction, means_attachment
from assistant.offline_words import say, say_refused
from assistant.prompts import AttachmentLine
from assistant.tool_arguments import TITLE_CHARACTERS
from assistant.tool_results import ToolAnswer

ENDED_TASK = ("completed", "failed", "stopped")
SHOWN_CHARACTERS = 4_000
"""How much of a file is shown in an answer."""


@dataclass(frozen=True, slots=True)
class Step:
    """What follows: words, or one tool call."""

    text: str = ""
    tool: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call of this run with its answer."""

    name: str
    arguments: Mapping[str, Any]
    answer: ToolAnswer


def words(text: str) -> Step:
    """Answer in words."""
    return Step(text=text)


def call(tool: str, **arguments: object) -> Step:
    """Call one tool."""
    return Step(tool=tool, arguments=arguments)


@dataclass(frozen=True, slots=True)
class FileNames:
    """The attachments of the request's message; a file name means one of them first, then a file of the root."""

    attachments: Sequence[AttachmentLine] = ()

    def find(self, name: str) -> AttachmentLine | None:
        """The attachment that a name in the request means."""
        if means_attachment(name) and len(self.attachments) == 1:
            return self.attachments[0]
        wanted = folded(name)
        return next((line for line in self.attachments if folded(line.name) == wanted), None)

    def unclear(self, name: str, language: Language) -> str | None:
        """What to ask back when a request says "this" and it is not clear what that is."""
        if not means_attachment(name) or self.find(name):
            return None
        if not self.attachments:
            return say("no_attachment", language)
        return say("which_attachment", language, names=", ".join(line.name for line in self.attachments))


def folded(name: str) -> str:
    """A name as it is compared: blanks, case and composition do not count."""
    return unicodedata.normalize("NFC", " ".join(name.split())).casefold()


def main_step(
    request: Request | None, made: Sequence[MadeCall], files: FileNames, offered: frozenset[str], language: Language
) -> Step:
    """The main agent's next step."""
    if request is None:
        return words(say("ability", language))
    if (
        request.source
        and request.verb not in ("show_task", "stop_task")
        and (question := files.unclear(request.source, language))
    ):
        return words(question)
    if not made:
        first = _first_call(request, files, language)
        return first if first.tool is None or first.tool in offered else words(say("ability", language))
    last = made[-1]
    if request.verb == "append" and last.name == "read_file" and last.answer.error in (None, "not_found"):
        return _append(request, last.answer.fields, language)
    if last.answer.error is not None:
        return words(_refused(last, language))
    if last.name == "list_tasks" and request.verb == "show_task":
        return _find_task(request.text or "", last, language)
    if last.name == "list_tasks" and request.verb == "stop_task":
        return _find_task_to_stop(request.text, last, language)
    return words(_told(last, request, language))


def _first_call(request: Request, files: FileNames, language: Language) -> Step:
    match request.verb:
        case "summarise" | "copy":
            return _hand_over(request, files, language)
        case "write":
            return call("write_file", path=request.target, content=request.text)
        case "append":
            return call("read_file", path=request.target)
        case "read":
            attachment = files.find(request.source or "")
            return call("read_file", path=attachment.relative_path if attachment else request.source)
        case "list_files":
            return call("list_files", **({"path": request.source} if request.source else {}))
        case "list_tasks":
            return call("list_tasks")
        case "show_task":
            name = request.text or ""
            return call("get_task", task_id=name) if name.startswith("task_") else call("list_tasks")
        case "stop_task":
            name = request.text or ""
            return call("stop_task", task_id=name) if name.startswith("task_") else call("list_tasks")


def _hand_over(request: Request, files: FileNames, language: Language) -> Step:
    source = request.source or ""
    attachment = files.find(source)
    named = Request(request.verb, attachment.relative_path if attachment else source, request.target)
    key = "title_copy" if request.verb == "copy" else "title_summarise" if request.target else "title_summary"
    title = say(key, language, source=attachment.name if attachment else source, target=request.target or "")
    arguments: dict[str, Any] = {
        "title": one_line(title, TITLE_CHARACTERS),
        "instructions": instruction(named, language),
    }
    if attachment:
        arguments["attachment_ids"] = [attachment.attachment_id]
    return Step(tool="delegate_task", arguments=arguments)


def _append(request: Request, fields: Mapping[str, Any], language: Language) -> Step:
    content = str(fields.get("content", ""))
    if fields.get("truncated"):
        return words(say("too_large", language, source=request.target or ""))
    return call("write_file", path=request.target, content=appended(content, request.text or ""))


def appended(content: str, text: str) -> str:
    """The content with the text as its new last line."""
    gap = "" if not content or content.endswith("\n") else "\n"
    return f"{content}{gap}{text}\n"


def _find_task(name: str, listed: MadeCall, language: Language) -> Step:
    wanted = folded(name)
    tasks = [task for task in listed.answer.fields.get("tasks", []) if isinstance(task, dict)]
    exact = [task for task in tasks if folded(str(task.get("title", ""))) == wanted]
    close = [task for task in tasks if wanted in folded(str(task.get("title", "")))]
    for task in exact + close:
        return call("get_task", task_id=str(task.get("task_id", "")))
    return words(say("no_such_task", language, name=name))


def _find_task_to_stop(name: str | None, listed: MadeCall, language: Language) -> Step:
    """Stop the active task that is named, or the only one there is; with several, ask which."""
    tasks = [task for task in listed.answer.fields.get("tasks", []) if isinstance(task, dict)]
    active = [task for task in tasks if task.get("state") not in ENDED_TASK]
    if name is not None:
        wanted = folded(name)
        exact = [task for task in active if folded(str(task.get("title", ""))) == wanted]
        active = exact or [task for task in active if wanted in folded(str(task.get("title", "")))]
    if len(active) == 1:
        return call("stop_task", task_id=str(active[0].get("task_id", "")))
    if active:
        return words("\n".join([say("which_task", language), *(f"- {task.get('title')}" for task in active)]))
    return words(say("no_such_task", language, name=name) if name is not None else say("nothing_to_stop", language))


def _refused(last: MadeCall, language: Language) -> str:
    path = last.arguments.get("path")
    if isinstance(path, str):
        return say_refused(last.answer.error or "", language, path=path, message=last.answer.message)
    return say("tool_error", language, message=last.answer.message or str(last.answer.error))


def _told(last: MadeCall, request: Request, language: Language) -> str:
    fields = last.answer.fields
    match last.name:
        case "delegate_task":
            return say("in_hand", language, title=str(fields.get("title") or last.arguments.get("title", "")))
        case "list_files":
            return _listed(fields, language)
        case "list_tasks":
            return _tasks(fields, language)
        case "get_task":
            return _task(fields, language)
        case "stop_task":
            return say("stopping", language)
        case "read_file":
            return _content(str(last.arguments.get("path", "")), fields, language)
        case _:
            return say("written", language, path=request.target or "")


def _listed(fields: Mapping[str, Any], language: Language) -> str:
    entries = [entry for entry in fields.get("entries", []) if isinstance(entry, dict)]
    if not entries:
        return say("no_files", language)
    lines = [f"- {entry.get('name')}{'/' if entry.get('kind') == 'folder' else ''}" for entry in entries]
    return "\n".join([say("files", language), *lines, *([say("more", language)] if fields.get("truncated") else [])])


def _tasks(fields: Mapping[str, Any], language: Language) -> str:
    tasks = [task for task in fields.get("tasks", []) if isinstance(task, dict)]
    if not tasks:
        return say("no_tasks", language)
    lines = [f"- {task.get('title')} ({task.get('state')}, {task.get('task_id')})" for task in tasks]
    return "\n".join([say("tasks", language), *lines, *([say("more", language)] if fields.get("more") else [])])


def _task(fields: Mapping[str, Any], language: Language) -> str:
    task = fields.get("task")
    shown: Mapping[str, Any] = task if isinstance(task, dict) else fields
    lines = [f"{shown.get('title')} ({shown.get('state')}, {shown.get('task_id')})"]
    lines.extend(str(shown[key]) for key in ("progress", "reason") if shown.get(key))
    result = shown.get("result")
    if isinstance(result, dict) and result.get("summary"):
        lines.extend([say("task_result", language), str(result["summary"])])
    return "\n".join(lines)


def _content(path: str, fields: Mapping[str, Any], language: Language) -> str:
    content = str(fields.get("content", ""))
    if not content.strip():
        return say("file_empty", language, path=path)
    cut = bool(fields.get("truncated")) or len(content) > SHOWN_CHARACTERS
    # A fence longer than any in the text keeps the text as it is.
    fence = "`" * max(3, _longest_run(content) + 1)
    head = say("file_begins" if cut else "file_says", language, path=path)
    return f"{head}\n\n{fence}\n{content[:SHOWN_CHARACTERS]}\n{fence}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for char in text:
        run = run + 1 if char == "`" else 0
        longest = max(longest, run)
    return longest
