"""The tool table and the reading of arguments (C5, T14, P3)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.tool_arguments import Arguments, DelegateTask, ProcessInput, RunCommand
from assistant.tools import TOOLS, ToolSpec, find_tool, parse_arguments, tool_error, tools_for
from domain.command_action import (
    ARGUMENTS,
    ARGV_BYTES,
    ENVIRONMENT_BYTES,
    ENVIRONMENT_NAMES,
    INPUT_BYTES,
    LONGEST_TIMEOUT_S,
    STDIN_BYTES,
)
from domain.refusal import Refusal

_BY_NAME = {spec.name: spec for spec in TOOLS}


def _refused(name: str, raw: str) -> Refusal:
    outcome = parse_arguments(_BY_NAME[name], raw)
    assert isinstance(outcome, Refusal), outcome
    assert outcome.code == "invalid_params"
    return outcome


def test_audiences() -> None:
    """C5, T5, T13: the main agent decides about tasks; only the executor ends one or asks; both delegate and read."""
    both = {"read_file", "list_files", "write_file", "edit_file", "run_command", "process_input", "delegate_task"}
    looking, deciding = {"list_tasks", "get_task"}, {"stop_task", "resume_task", "retry_delivery", "answer_question"}
    proposing = {"schedule_task", "reschedule_automation"}
    minding = {"list_automations", "pause_automation", "delete_automation"}
    assert {spec.name for spec in tools_for("main")} == both | looking | deciding | proposing | minding
    ending = {"submit_result", "fail_task"}
    assert {spec.name for spec in tools_for("executor")} == both | ending | {"report_progress", "ask_user"}
    assert find_tool("submit_result", "main") is None
    assert find_tool("no_such_tool", "executor") is None


def test_kinds() -> None:
    """E1: changing files and running commands are effects; T5: submitting and failing end the attempt."""
    effects = {"write_file", "edit_file", "run_command", "process_input"}
    assert {spec.name for spec in TOOLS if spec.kind == "effect"} == effects
    assert {spec.name for spec in TOOLS if spec.kind == "terminal"} == {"submit_result", "fail_task"}


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_schemas_are_closed_objects(spec: ToolSpec) -> None:
    """C5: each schema is a JSON object schema without unknown fields and without the titles of the library."""
    schema = spec.schema()
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert "title" not in schema
    assert all("title" not in field for field in schema["properties"].values())
    assert ("title" in schema["properties"]) == (spec.name in ("delegate_task", "schedule_task"))


@pytest.mark.parametrize(
    ("title", "instructions", "location"),
    [
        ("t" * 201, "x", "title"),
        ("", "x", "title"),
        (" \n", "x", "title"),
        ("t", "", "instructions"),
        ("t", "x" * 64_001, "instructions"),
        ("t", "字" * 21_334, "instructions"),
        ("t", "a\u0000b", "instructions"),
    ],
)
def test_limits_are_refused_not_cut(title: str, instructions: str, location: str) -> None:
    """T14: titles of 200 characters, instructions of 64,000 UTF-8 bytes; over-long is refused with its place."""
    refusal = _refused("delegate_task", json.dumps({"title": title, "instructions": instructions}))
    assert refusal.details["location"] == location
    assert location in refusal.message


def test_limits_are_inclusive() -> None:
    """T14: exactly 200 characters, also wide ones, and exactly 64,000 bytes pass."""
    raw = json.dumps({"title": "题" * 200, "instructions": "字" * 21_333 + "x", "attachment_ids": ["att_1"]})
    parsed = parse_arguments(_BY_NAME["delegate_task"], raw)
    assert isinstance(parsed, DelegateTask)
    assert len(parsed.instructions.encode()) == 64_000


@pytest.mark.parametrize(
    ("name", "raw", "location"),
    [
        ("get_task", "{", ""),
        ("get_task", "", "task_id"),
        ("get_task", "[]", ""),
        ("get_task", "null", ""),
        ("get_task", '{"task_id": 3}', "task_id"),
        ("get_task", '{"task_id": "x", "more": 1}', "more"),
        ("get_task", '{"task_id": NaN}', ""),
        ("list_tasks", '{"state": "asleep"}', "state"),
        ("list_files", '{"path": ""}', "path"),
        ("edit_file", '{"path": "a", "old": "", "new": "x"}', "old"),
        ("delegate_task", '{"title": "t", "instructions": "i", "attachment_ids": ["a", 3]}', "attachment_ids[1]"),
        ("delegate_task", '{"title": "t", "instructions": "i", "path": "/etc"}', "path"),
        ("submit_result", '{"summary": "s", "artifacts": [{"command": "ls"}]}', "artifacts[0].command"),
        ("schedule_task", '{"title": "t", "instructions": "i", "schedule": {"command": "ls"}}', "schedule.command"),
        ("schedule_task", '{"title": "t", "instructions": "i", "schedule": "every day"}', "schedule"),
        (
            "schedule_task",
            '{"title": "t", "instructions": "i", "schedule": {"every": {"seconds": 0}}}',
            "schedule.every.seconds",
        ),
        (
            "reschedule_automation",
            '{"automation_id": "a", "schedule": {"cron": {"line": "x"}}}',
            "schedule.cron.expression",
        ),
        ("get_task", "[" * 200_000, ""),
        ("get_task", '{"task_id": "\\ud800"}', "task_id"),
        ("get_task", '{"\\ud800": 1}', ""),
    ],
)
def test_faults_are_located(name: str, raw: str, location: str) -> None:
    """P3, O19: whatever a model sends gives one located refusal that can be stored and sent."""
    refusal = _refused(name, raw)
    assert refusal.details["location"] == location
    json.loads(tool_error(refusal).encode())


def test_oversized_arguments_are_not_parsed() -> None:
    """O19: a limit stands before the parser."""
    refusal = _refused("write_file", json.dumps({"path": "a", "content": "x" * 2_000_000}))
    assert refusal.details["limit"] == 1024 * 1024


def test_optional_arguments_may_be_left_out_or_null() -> None:
    """Models send nothing, an empty object or explicit nulls alike."""
    for raw in ("", "{}", '{"state": null}'):
        assert isinstance(parse_arguments(_BY_NAME["list_tasks"], raw), Arguments)


def test_managed_file_tools_are_no_handoff() -> None:
    """P3: the arguments of the file tools may of course name a path."""
    assert not isinstance(parse_arguments(_BY_NAME["read_file"], '{"path": "a"}'), Refusal)


def test_tool_error_shape() -> None:
    """api.md: `{"error": {"code", "message"}}`."""
    assert json.loads(tool_error(Refusal("not_found", "No “x”."))) == {
        "error": {"code": "not_found", "message": "No “x”."}
    }


@given(st.sampled_from(TOOLS), st.text(max_size=200))
def test_any_text_is_answered(spec: ToolSpec, raw: str) -> None:
    """O19: no text makes reading raise."""
    assert isinstance(parse_arguments(spec, raw), Refusal | Arguments)


_json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(TOOLS),
    st.dictionaries(st.sampled_from(["title", "path", "content", "summary", "reason", "text", "task_id"]), _json),
)
def test_any_json_is_answered(spec: ToolSpec, arguments: dict[str, Any]) -> None:
    """O19: no types make reading raise."""
    assert isinstance(parse_arguments(spec, json.dumps(arguments)), Refusal | Arguments)


@pytest.mark.parametrize(
    ("arguments", "location"),
    [
        ({"argv": []}, "argv"),
        ({"argv": [" "]}, "argv"),
        ({"argv": "ls"}, "argv"),
        ({"argv": ["a"] * (ARGUMENTS + 1)}, "argv"),
        ({"argv": ["a", "字" * (ARGV_BYTES // 3 + 1)]}, "argv"),
        ({"argv": ["a\0b"]}, "argv[0]"),
        ({"argv": ["a", "\ud800"]}, "argv[1]"),
        ({"argv": ["a"], "cwd": "a\0"}, "cwd"),
        ({"argv": ["a"], "env": {"A=B": "1"}}, "env.A=B.[key]"),
        ({"argv": ["a"], "env": {"STEWARD_HOME": "1"}}, "env"),
        ({"argv": ["a"], "env": {"A": "\0"}}, "env.A"),
        ({"argv": ["a"], "env": {f"A{at}": "" for at in range(ENVIRONMENT_NAMES + 1)}}, "env"),
        ({"argv": ["a"], "env": {"A": "x" * ENVIRONMENT_BYTES}}, "env"),
        ({"argv": ["a"], "stdin": "x" * (STDIN_BYTES + 1)}, "stdin"),
        ({"argv": ["a"], "timeout_s": 0}, "timeout_s"),
        ({"argv": ["a"], "timeout_s": LONGEST_TIMEOUT_S + 1}, "timeout_s"),
        ({"argv": ["a"], "shell": True}, "shell"),
    ],
)
def test_limits_of_a_command(arguments: dict[str, Any], location: str) -> None:
    """E3, E15: number and length of what a command is given; NUL and what is no text."""
    refusal = _refused("run_command", json.dumps(arguments))
    assert str(refusal.details["location"]).startswith(location.split(".")[0])


def test_the_largest_command_is_allowed() -> None:
    """E15: each limit itself is within it."""
    arguments = {
        "argv": ["a", *[""] * (ARGUMENTS - 2), "x" * (ARGV_BYTES - 1)],
        "env": {"A": "x" * (ENVIRONMENT_BYTES - 1)},
        "stdin": "x" * STDIN_BYTES,
        "timeout_s": LONGEST_TIMEOUT_S,
    }
    assert isinstance(parse_arguments(_BY_NAME["run_command"], json.dumps(arguments)), RunCommand)
    typed = {"process_id": "process_1", "text": "x" * INPUT_BYTES}
    assert isinstance(parse_arguments(_BY_NAME["process_input"], json.dumps(typed)), ProcessInput)
    too_long = json.dumps(typed | {"text": "x" * (INPUT_BYTES + 1)})
    assert _refused("process_input", too_long).details["location"] == "text"
