"""What the offline model asks back (O2, T7): which file is meant, and which question an answer is for. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from assistant.deliveries import Language
from assistant.offline_grammar import unquoted
from assistant.offline_steps import FileNames, MadeCall, Step, call, folded, words
from assistant.offline_words import say
from assistant.prompts import QuestionLine

OFFERED = 5
"""More files to choose from are no help."""
OPTION_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Source:
    """The file that is meant: its path under the files root, and its name for people."""

    path: str
    name: str


def read_of(made: Sequence[MadeCall], path: str) -> MadeCall | None:
    """The call that read this path."""
    return next((one for one in made if one.name == "read_file" and one.arguments.get("path") == path), None)


def resolve_source(named: str, made: Sequence[MadeCall], files: FileNames, language: Language) -> Source | Step:
    """The file that a task's request means, or the step that finds it out: look around, then ask (T7)."""
    asked = next((one for one in made if one.name == "ask_user"), None)
    if asked is not None:
        if asked.answer.error is not None:
            return call("fail_task", reason=say("not_answered", language, path=named))
        return _source(unquoted(str(asked.answer.fields.get("answer", "")).strip()) or named, files)
    if question := files.unclear(named, language):
        return _ask(question, [line.name for line in files.attachments])
    source = _source(named, files)
    read = read_of(made, source.path)
    if read is None or read.answer.error != "not_found":
        return source
    folder = source.path.rpartition("/")[0]
    listed = next((one for one in made if one.name == "list_files"), None)
    if listed is None:
        return call("list_files", **({"path": folder} if folder else {}))
    return _ask(say("which_file", language, path=source.name), _alike(source.path, listed.answer.fields))


def _source(named: str, files: FileNames) -> Source:
    attachment = files.find(named)
    return Source(attachment.relative_path, attachment.name) if attachment else Source(named, named)


def _ask(question: str, options: Sequence[str]) -> Step:
    offered = [option for option in options if len(option) <= OPTION_CHARACTERS][:OFFERED]
    return call("ask_user", question=question, **({"options": offered} if offered else {}))


def _alike(path: str, listed: Mapping[str, Any]) -> list[str]:
    """The files beside a missing one that may be meant: of a similar name, else of the same kind."""
    folder, _, name = path.rpartition("/")
    entries = [entry for entry in listed.get("entries", []) if isinstance(entry, dict) and entry.get("kind") == "file"]
    names = [str(entry.get("name", "")) for entry in entries]
    stem = folded(PurePosixPath(name).stem)
    near = [one for one in names if stem in folded(one) or folded(PurePosixPath(one).stem) in stem]
    kind = PurePosixPath(name).suffix.casefold()
    same = [one for one in names if kind and PurePosixPath(one).suffix.casefold() == kind]
    return [f"{folder}/{one}" if folder else one for one in near or same]


def pass_on(said: str, questions: Sequence[QuestionLine], made: Sequence[MadeCall], language: Language) -> Step:
    """Pass on what the user said as the answer of an open question; ask which one is meant when there are several."""
    if made:
        error = made[-1].answer.error
        if error is None:
            return words(say("answer_passed_on", language))
        return words(say("tool_error", language, message=made[-1].answer.message or error))
    if len(questions) == 1:
        return call("answer_question", question_id=questions[0].question_id, text=said)
    for question in questions:
        for mark in (":", "："):
            title, found, answer = said.partition(mark)
            if found and answer.strip() and folded(title) == folded(question.title):
                return call("answer_question", question_id=question.question_id, text=answer.strip())
    lines = [f"- {question.title}: {question.text}" for question in questions]
    return words("\n".join([say("which_question", language), *lines]))
