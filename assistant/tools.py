"""The table of tools offered to models (C5, api.md): names, argument models, who gets them, what running one means.

The hard thing is that arguments come from a model: nothing in them is trusted, and every "no" tells the model what to
change.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assistant.automation_arguments import (
    DeleteAutomation,
    ListAutomations,
    PauseAutomation,
    RescheduleAutomation,
    ScheduleTask,
)
from assistant.tool_arguments import (
    AnswerQuestion,
    Arguments,
    AskUser,
    DelegateTask,
    EditFile,
    FailTask,
    GetTask,
    ListFiles,
    ListTasks,
    ProcessInput,
    ReadFile,
    ReportProgress,
    ResumeTask,
    RetryDelivery,
    RunCommand,
    StopTask,
    SubmitResult,
    WriteFile,
)
from domain.fault_words import fault_words
from domain.handoff import check_handoff, shown_location
from domain.refusal import Refusal

Audience: TypeAlias = Literal["main", "executor", "both"]
ToolKind: TypeAlias = Literal["plain", "effect", "terminal"]
ARGUMENTS_BYTES = 1024 * 1024
"""Upper limit of one call's raw arguments; what is larger is not parsed at all."""


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool: `kind` says whether running it only reads or records, is an effect (E1), or ends the attempt (T5).

    `handoff` marks arguments that travel to another agent or layer and therefore pass P3.
    """

    name: str
    description: str
    arguments: type[Arguments]
    audience: Audience
    kind: ToolKind
    handoff: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON schema a provider is given: no titles and no docstring, which only cost tokens."""
        schema: dict[str, Any] = _untitled(self.arguments.model_json_schema())
        schema.pop("description", None)
        return schema


TOOLS: tuple[ToolSpec, ...] = (
    ToolSpec(
        "delegate_task",
        "Hand work that takes time to a hidden task. It runs out of sight and its result comes back by itself.",
        DelegateTask,
        "both",
        "plain",
        handoff=True,
    ),
    ToolSpec("stop_task", "Stop a task and everything it has begun.", StopTask, "main", "plain"),
    ToolSpec(
        "resume_task",
        "Begin an ended task again, with new instructions or the same.",
        ResumeTask,
        "main",
        "plain",
        handoff=True,
    ),
    ToolSpec("retry_delivery", "Bring a failed delivery into the conversation again.", RetryDelivery, "main", "plain"),
    ToolSpec(
        "answer_question",
        "Pass the user's answer on to the task that asked. Only what the user has just said.",
        AnswerQuestion,
        "main",
        "plain",
        handoff=True,
    ),
    ToolSpec("list_tasks", "List the user's tasks with their states, newest first.", ListTasks, "main", "plain"),
    ToolSpec("get_task", "Show one task: state, progress, result.", GetTask, "main", "plain"),
    ToolSpec(
        "schedule_task",
        "Propose work for a later time, or again and again. Nothing is saved: the user confirms the proposal's card. "
        "Tell the schedule and the next times exactly as answered.",
        ScheduleTask,
        "main",
        "plain",
        handoff=True,
    ),
    ToolSpec(
        "reschedule_automation",
        "Propose other times for an automation that exists; it stays the same one. The user confirms the card.",
        RescheduleAutomation,
        "main",
        "plain",
        handoff=True,
    ),
    ToolSpec(
        "list_automations",
        "List the user's automations with their schedules and next times, and what is proposed.",
        ListAutomations,
        "main",
        "plain",
    ),
    ToolSpec(
        "pause_automation",
        "Pause an automation at once. Only when the user has just asked for that.",
        PauseAutomation,
        "main",
        "plain",
    ),
    ToolSpec(
        "delete_automation",
        "Delete an automation at once; its running task goes on. Only when the user has just asked for that.",
        DeleteAutomation,
        "main",
        "plain",
    ),
    ToolSpec("read_file", "Read a text file under the files root.", ReadFile, "both", "plain"),
    ToolSpec("list_files", "List a folder under the files root.", ListFiles, "both", "plain"),
    ToolSpec(
        "write_file",
        "Create a file or replace its whole content. A person decides before it happens.",
        WriteFile,
        "both",
        "effect",
    ),
    ToolSpec(
        "edit_file",
        "Replace one passage of a file, which must occur exactly once. A person decides before it happens.",
        EditFile,
        "both",
        "effect",
    ),
    ToolSpec(
        "run_command",
        "Run a program with arguments, without a shell, in a folder under the files root. A person decides before it "
        "happens. Answers its exit code and output; it and all it started end with this work at the latest.",
        RunCommand,
        "both",
        "effect",
    ),
    ToolSpec(
        "process_input",
        "Give text to a program that run_command started with interactive, and get what it has said since. A person "
        "decides before it happens.",
        ProcessInput,
        "both",
        "effect",
    ),
    ToolSpec(
        "submit_result",
        "End this task successfully with its result. Nothing can be done after it.",
        SubmitResult,
        "executor",
        "terminal",
        handoff=True,
    ),
    ToolSpec(
        "ask_user",
        "Ask the user what you cannot find out yourself. The task waits for the answer; call it alone.",
        AskUser,
        "executor",
        "plain",
        handoff=True,
    ),
    ToolSpec("report_progress", "Tell the user in one line how far it is.", ReportProgress, "executor", "plain"),
    ToolSpec(
        "fail_task",
        "End this task without a result, when it cannot be done.",
        FailTask,
        "executor",
        "terminal",
        handoff=True,
    ),
)


def tools_for(audience: Literal["main", "executor"]) -> tuple[ToolSpec, ...]:
    """The tools one kind of run is offered (C5); the turn of a delivery is offered none (D4)."""
    return tuple(spec for spec in TOOLS if spec.audience in (audience, "both"))


def find_tool(name: str, audience: Literal["main", "executor"]) -> ToolSpec | None:
    """The tool of that name if this kind of run may call it."""
    return next((spec for spec in tools_for(audience) if spec.name == name), None)


def parse_arguments(spec: ToolSpec, raw_json: str) -> Arguments | Refusal:
    """Read a call's raw arguments (T14, P3).

    Returns:
        The argument model, or `invalid_params` whose details hold the `location` of the first fault. No message
        repeats what the model sent except field names.
    """
    decoded = _decode(raw_json)
    if isinstance(decoded, Refusal):
        return decoded
    if spec.handoff and (refusal := check_handoff(decoded)) is not None:
        return refusal
    try:
        return spec.arguments.model_validate(decoded)
    except ValidationError as error:
        return _refusal(spec, error.errors(include_url=False, include_input=False)[0])


def tool_error(refusal: Refusal) -> str:
    """The text a model is given for a refused or failed tool (api.md)."""
    return json.dumps({"error": {"code": refusal.code, "message": refusal.message}}, ensure_ascii=False)


def _decode(raw_json: str) -> dict[str, object] | Refusal:
    size = len(raw_json.encode("utf-8", "surrogatepass"))
    if size > ARGUMENTS_BYTES:
        return Refusal(
            "invalid_params",
            f"The arguments are larger than {ARGUMENTS_BYTES} bytes; do it in smaller steps.",
            {"location": "", "limit": ARGUMENTS_BYTES, "value": size},
        )
    try:
        # Some models send nothing at all for a tool without required arguments.
        decoded = json.loads(raw_json, parse_constant=_no_constant) if raw_json.strip() else {}
    except (ValueError, RecursionError):
        return Refusal("invalid_params", "The arguments are not valid JSON; send one JSON object.", {"location": ""})
    if not isinstance(decoded, dict):
        return Refusal("invalid_params", "The arguments must be one JSON object.", {"location": ""})
    return decoded


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _refusal(spec: ToolSpec, fault: ErrorDetails) -> Refusal:
    location = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"]).lstrip(".")
    location = shown_location(location)
    return Refusal(
        "invalid_params", f"{spec.name}: {location or 'arguments'}: {fault_words(fault)}.", {"location": location}
    )


def _untitled(node: Any) -> Any:  # noqa: ANN401 - a JSON schema is arbitrary JSON
    if isinstance(node, dict):
        # "title" is also the name of a field: only a string under that key is a schema's title.
        return {key: _untitled(item) for key, item in node.items() if not (key == "title" and isinstance(item, str))}
    return [_untitled(item) for item in node] if isinstance(node, list) else node
