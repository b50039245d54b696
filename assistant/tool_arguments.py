"""The arguments of every tool, as models that a schema is made from and that refuse what does not fit (api.md, T14).

Limits are checked in the unit they are promised in: characters for titles, UTF-8 bytes for texts.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from domain.command_action import (
    ARGUMENTS,
    ARGV_BYTES,
    ENVIRONMENT_BYTES,
    ENVIRONMENT_NAMES,
    INPUT_BYTES,
    LONGEST_TIMEOUT_S,
    OWN_NAMES,
    STDIN_BYTES,
    TIMEOUT_S,
)

TaskStateName: TypeAlias = Literal[
    "accepted",
    "running",
    "waiting_user",
    "waiting_approval",
    "waiting_authorization",
    "stopping",
    "completed",
    "failed",
    "stopped",
]

TITLE_CHARACTERS = 200
INSTRUCTIONS_BYTES = 64_000
CONTENT_BYTES = 512 * 1024
PATH_CHARACTERS = 4096


def _storable(text: str) -> str:
    """Refuse what neither database can keep: NUL and unpaired surrogates."""
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("must not contain NUL or unpaired surrogates")
    return text


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _within_bytes(limit: int) -> AfterValidator:
    def check(text: str) -> str:
        size = len(text.encode("utf-8"))
        if size > limit:
            raise ValueError(f"must be at most {limit} UTF-8 bytes, is {size}")
        return text

    return AfterValidator(check)


def _within_bytes_together(limit: int) -> AfterValidator:
    def check(texts: list[str] | dict[str, str] | None) -> list[str] | dict[str, str] | None:
        parts = [*texts, *texts.values()] if isinstance(texts, dict) else texts or []
        size = sum(len(part.encode("utf-8")) for part in parts)
        if size > limit:
            raise ValueError(f"must be at most {limit} UTF-8 bytes together, is {size}")
        return texts

    return AfterValidator(check)


def _a_program(argv: list[str]) -> list[str]:
    if not argv[0].strip():
        raise ValueError("must begin with the program's name")
    return argv


def _no_own_names(env: dict[str, str] | None) -> dict[str, str] | None:
    if any(name.startswith(OWN_NAMES) for name in env or {}):
        raise ValueError(f"must not set names that begin with {OWN_NAMES}")
    return env


Text: TypeAlias = Annotated[str, AfterValidator(_storable)]
Words: TypeAlias = Annotated[Text, AfterValidator(_not_blank)]
LongText: TypeAlias = Annotated[Words, _within_bytes(INSTRUCTIONS_BYTES)]
Path: TypeAlias = Annotated[Text, Field(min_length=1, max_length=PATH_CHARACTERS)]
Identifier: TypeAlias = Annotated[Text, Field(min_length=1, max_length=128)]


class Arguments(BaseModel):
    """Base of all argument models: unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class DelegateTask(Arguments):
    """Arguments of `delegate_task` (T14)."""

    title: Annotated[Words, Field(max_length=TITLE_CHARACTERS, description="Short name of the task, for the user.")]
    instructions: Annotated[LongText, Field(description="Everything the executor must know, in full sentences.")]
    engine: Annotated[Identifier | None, Field(description="Leave out unless the user named an engine.")] = None
    permission_mode: Annotated[
        Literal["standard", "read_only", "unconfined"] | None,
        Field(description="Leave out unless the user asked for one; read_only forbids every change."),
    ] = None
    attachment_ids: Annotated[
        list[Identifier] | None, Field(max_length=16, description="Ids of attachments the task needs.")
    ] = None


class ListTasks(Arguments):
    """Arguments of `list_tasks`."""

    state: Annotated[TaskStateName | None, Field(description="Only tasks in this state.")] = None


class GetTask(Arguments):
    """Arguments of `get_task`."""

    task_id: Identifier


class ReadFile(Arguments):
    """Arguments of `read_file`."""

    path: Annotated[Path, Field(description="Relative to the files root.")]


class ListFiles(Arguments):
    """Arguments of `list_files`; without a path it is the files root itself."""

    path: Annotated[Path | None, Field(description="Folder relative to the files root; leave out for the root.")] = None


class WriteFile(Arguments):
    """Arguments of `write_file`."""

    path: Annotated[Path, Field(description="Relative to the files root; missing folders are made.")]
    content: Annotated[Text, _within_bytes(CONTENT_BYTES), Field(description="The whole new content.")]


class EditFile(Arguments):
    """Arguments of `edit_file`."""

    path: Annotated[Path, Field(description="Relative to the files root.")]
    old: Annotated[
        Text, _within_bytes(CONTENT_BYTES), Field(min_length=1, description="Text that occurs exactly once.")
    ]
    new: Annotated[Text, _within_bytes(CONTENT_BYTES), Field(description="What stands there afterwards.")]


class RunCommand(Arguments):
    """Arguments of `run_command` (E15); every limit is what one command may be given."""

    argv: Annotated[
        list[Annotated[Text, Field(max_length=ARGV_BYTES)]],
        Field(min_length=1, max_length=ARGUMENTS, description="The program and its arguments; no shell reads them."),
        AfterValidator(_a_program),
        _within_bytes_together(ARGV_BYTES),
    ]
    cwd: Annotated[Path | None, Field(description="Working folder relative to the files root, the root itself.")] = None
    env: Annotated[
        dict[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")], Text] | None,
        Field(max_length=ENVIRONMENT_NAMES, description="Further environment variables."),
        AfterValidator(_no_own_names),
        _within_bytes_together(ENVIRONMENT_BYTES),
    ] = None
    stdin: Annotated[
        Annotated[Text, _within_bytes(STDIN_BYTES)] | None, Field(description="What it can read at first.")
    ] = None
    timeout_s: Annotated[
        int | None,
        Field(ge=1, le=LONGEST_TIMEOUT_S, description=f"Seconds until it is ended, {TIMEOUT_S} if left out."),
    ] = None
    interactive: Annotated[
        bool | None, Field(description="Keep it running for process_input instead of waiting for its end.")
    ] = None


class ProcessInput(Arguments):
    """Arguments of `process_input` (E15)."""

    process_id: Annotated[Identifier, Field(description="As run_command told it.")]
    text: Annotated[
        Text,
        _within_bytes(INPUT_BYTES),
        Field(description="Exactly what it gets, with the line's end if it reads lines; empty to read on."),
    ]


class SubmitResult(Arguments):
    """Arguments of `submit_result` (T5)."""

    summary: Annotated[LongText, Field(description="The result in words, complete: the user sees nothing else.")]
    artifacts: Annotated[
        list[Path] | None, Field(max_length=32, description="Files made or changed, relative to the files root.")
    ] = None


class ReportProgress(Arguments):
    """Arguments of `report_progress`."""

    text: Annotated[Words, Field(max_length=500, description="One line: what is done, what comes next.")]


class FailTask(Arguments):
    """Arguments of `fail_task`."""

    reason: Annotated[Words, Field(max_length=4000, description="Why it cannot be done, and what was done before.")]


class StopTask(Arguments):
    """Arguments of `stop_task` (S1)."""

    task_id: Identifier


class ResumeTask(Arguments):
    """Arguments of `resume_task` (T11)."""

    task_id: Identifier
    instructions: Annotated[
        LongText | None, Field(description="What is wanted now, complete; leave out to try the same again.")
    ] = None


class RetryDelivery(Arguments):
    """Arguments of `retry_delivery` (D5)."""

    delivery_id: Identifier


class AnswerQuestion(Arguments):
    """Arguments of `answer_question` (T9)."""

    question_id: Identifier
    text: Annotated[LongText, Field(description="The user's answer, in the user's own words.")]


class AskUser(Arguments):
    """Arguments of `ask_user` (T7)."""

    question: Annotated[LongText, Field(description="One question, with what the user must know to answer it.")]
    options: Annotated[
        list[Annotated[Words, Field(max_length=200)]] | None,
        Field(max_length=12, description="Answers to choose from, if there are a few."),
    ] = None
