"""The offline model in whole runs, through the same model step as any other (O2)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from assistant.context import assemble
from assistant.deliveries import DeliveryDetails, delivery_items
from assistant.model_call import NoSink, stream_reply
from assistant.prompts import EXECUTOR_SYSTEM, MAIN_SYSTEM, AttachmentLine, attachments_note, submit_result_reminder
from assistant.provider import resolve_model
from assistant.tool_results import (
    file_changed,
    file_read,
    files_listed,
    noted,
    read_answer,
    task_delegated,
    task_shown,
    tasks_listed,
)
from assistant.tools import ToolSpec, parse_arguments, tool_error, tools_for
from contracts.model_io import AssistantStep, ContextItem, ModelReply, ToolResult, UserText
from domain.refusal import Refusal

_TEXT = (
    "Temporal runs durable workflows. The weather was fine. Durable workflows survive crashes of workers. "
    "Someone ate lunch. Workers replay the history of durable workflows. A cat slept."
)
_TASK = {"task_id": "task_9", "title": "My work", "state": "completed", "result": {"summary": "All done."}}
_ANSWERS = {
    "delegate_task": task_delegated("task_1", "A title"),
    "list_tasks": tasks_listed([{"task_id": "task_9", "title": "My work", "state": "running"}], more=True),
    "get_task": task_shown(_TASK),
    "read_file": file_read(_TEXT, size=len(_TEXT), truncated=False),
    "list_files": files_listed([{"name": "a.txt", "kind": "file"}, {"name": "d", "kind": "folder"}], truncated=False),
    "write_file": file_changed("summary.md", size=3, sha256="0"),
    "report_progress": noted(),
}
_ATTACHMENTS = attachments_note(
    [AttachmentLine("att_1", "My  notes (1).txt", "text/plain", 12, "attachments/att_1/My notes (1).txt")]
)


class _Outcome:
    def __init__(self, text: str, calls: list[tuple[str, dict[str, Any]]], ids: list[str]) -> None:
        self.text, self.calls, self.ids = text, calls, ids

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.calls]


async def _reply(items: Sequence[ContextItem], tools: tuple[ToolSpec, ...], system: str) -> ModelReply:
    async with resolve_model("offline") as model:
        context = assemble(system, [], items, 40_000)
        return await stream_reply(model, context, tools, silence_timeout_s=20, sink=NoSink())


async def whole_run(
    items: Sequence[ContextItem], *, executor: bool = False, answers: Mapping[str, Sequence[str]] | None = None
) -> _Outcome:
    """The calls of a run to its end; a list of answers is given one after the other."""
    tools = tools_for("executor" if executor else "main")
    by_name = {spec.name: spec for spec in tools}
    given = {**_ANSWERS, **(answers or {})}
    so_far, calls, ids = list(items), list[tuple[str, dict[str, Any]]](), list[str]()
    while True:
        assert len(calls) < 8
        reply = await _reply(so_far, tools, EXECUTOR_SYSTEM if executor else MAIN_SYSTEM)
        if not reply.calls:
            return _Outcome(reply.text, calls, ids)
        so_far.append(AssistantStep(text=reply.text, calls=reply.calls, response_json=reply.response_json))
        for call in reply.calls:
            spec = by_name[call.name]
            assert not isinstance(parse_arguments(spec, call.arguments), Refusal)
            calls.append((call.name, json.loads(call.arguments)))
            ids.append(call.call_id)
            if spec.kind == "terminal":
                return _Outcome(reply.text, calls, ids)
            content = given[call.name]
            told = content if isinstance(content, str) else content[[name for name, _ in calls].count(call.name) - 1]
            so_far.append(ToolResult(call_id=call.call_id, name=call.name, content=told))


async def test_main_hands_over() -> None:
    """O2: the main job: handed over, and the user is told that it is in hand."""
    outcome = await whole_run([UserText(text="Please summarise notes.txt into summary.md")])
    assert outcome.calls == [
        (
            "delegate_task",
            {"title": "Summarise notes.txt into summary.md", "instructions": "summarise notes.txt into summary.md"},
        )
    ]
    assert "in hand" in outcome.text


async def test_main_hands_over_an_attachment() -> None:
    """O2, C9: a file name means an attachment of that message first, handed on with its id and working copy."""
    for text in ("summarise “my notes (1).TXT” into summary.md", "summarise this into summary.md"):
        name, arguments = (await whole_run([_ATTACHMENTS, UserText(text=text)])).calls[0]
        assert name == "delegate_task"
        assert arguments["attachment_ids"] == ["att_1"]
        assert arguments["instructions"] == "summarise “attachments/att_1/My notes (1).txt” into summary.md"
        assert arguments["title"] == "Summarise My notes (1).txt into summary.md"


async def test_attachments_of_another_message_do_not_count() -> None:
    """O2: only those of that message."""
    items: list[ContextItem] = [
        _ATTACHMENTS,
        UserText(text="list files"),
        AssistantStep(text="Files: none"),
        UserText(text="summarise “My notes (1).txt” into s.md"),
    ]
    assert "attachment_ids" not in (await whole_run(items)).calls[0][1]


async def test_attachments_alone_do_not_repeat_an_old_request() -> None:
    """O2: a message of attachments without words is not the request before it."""
    items: list[ContextItem] = [
        UserText(text="list tasks"),
        AssistantStep(text="Tasks: none"),
        _ATTACHMENTS,
        UserText(text=""),
    ]
    outcome = await whole_run(items)
    assert (outcome.calls, "offline mode: " in outcome.text) == ([], True)


@pytest.mark.parametrize(
    ("text", "calls", "words"),
    [
        ("list files", ["list_files"], ["a.txt", "d/"]),
        ("read notes.txt", ["read_file"], [_TEXT, "notes.txt"]),
        ("list tasks", ["list_tasks"], ["My work", "running", "task_9", "There are more."]),
        ("show task my WORK", ["list_tasks", "get_task"], ["My work", "completed", "All done."]),
        ("show task task_9", ["get_task"], ["All done."]),
        ("show task nothing", ["list_tasks"], ["nothing"]),
        ("write 'hi' to n.txt", ["write_file"], ["n.txt"]),
        ("append 'hi' to n.txt", ["read_file", "write_file"], ["n.txt"]),
        ("summarise this into s.md", [], ["no attachment"]),
        ("tell me a joke", [], ["offline mode: I can"]),
        ("列出文件", ["list_files"], ["文件：", "a.txt"]),
        ("任务列表", ["list_tasks"], ["任务：", "My work"]),
        ("总结 notes.txt 到 summary.md", ["delegate_task"], ["已经作为任务"]),
        ("你好", [], ["离线模式"]),
    ],
)
async def test_main_requests(text: str, calls: list[str], words: list[str]) -> None:
    """O2: listing and showing in words, in the person's language; an honest sentence for all else."""
    outcome = await whole_run([UserText(text=text)])
    assert outcome.names == calls
    assert all(word in outcome.text for word in words)


async def test_main_tells_what_was_refused() -> None:
    """O2: a refusal is told, never turned into a success."""
    refused = {name: tool_error(Refusal("not_found", "No such thing.")) for name in _ANSWERS}
    assert "There is no file notes.txt" in (await whole_run([UserText(text="read notes.txt")], answers=refused)).text
    assert "No such thing." in (await whole_run([UserText(text="list tasks")], answers=refused)).text
    denied = {"write_file": tool_error(Refusal("approval_denied", "Denied."))}
    assert "not allowed" in (await whole_run([UserText(text="write 'x' to n.txt")], answers=denied)).text


async def test_append_makes_a_missing_file_and_leaves_large_ones() -> None:
    """O2: appending to nothing is writing; a file that was not read whole is never written back."""
    missing = {"read_file": tool_error(Refusal("not_found", "No."))}
    assert (await whole_run([UserText(text="append 'x' to n.txt")], answers=missing)).calls[1][1]["content"] == "x\n"
    large = {"read_file": file_read("part", size=9_999_999, truncated=True)}
    for executor in (False, True):
        outcome = await whole_run([UserText(text="append 'x' to n.txt")], answers=large, executor=executor)
        assert "write_file" not in outcome.names


async def test_executor_summarises() -> None:
    """O2, T5: reads, writes a real summary, submits it with its artifact."""
    outcome = await whole_run([UserText(text="summarise notes.txt into summary.md")], executor=True)
    assert outcome.names == ["read_file", "write_file", "submit_result"]
    content = outcome.calls[1][1]["content"]
    assert content.startswith("# Summary of notes.txt\n")
    assert "urable workflows" in content
    assert "cat" not in content
    result = outcome.calls[2][1]
    assert result["artifacts"] == ["summary.md"]
    assert "urable workflows" in result["summary"]
    assert len(set(outcome.ids)) == 3


async def test_executor_is_deterministic() -> None:
    """O2, T10: the same messages give the same step, ids included."""
    first, second = [await whole_run([UserText(text="总结 notes.txt 到 s.md")], executor=True) for _ in range(2)]
    assert (first.calls, first.ids) == (second.calls, second.ids)


async def test_executor_copies_exactly() -> None:
    """O2: a copy is the same text."""
    outcome = await whole_run([UserText(text="copy a.txt to b.txt")], executor=True)
    assert outcome.calls[1] == ("write_file", {"path": "b.txt", "content": _TEXT})


async def test_executor_never_copies_what_the_context_shortened() -> None:
    """C6: a file that did not fit into the context is not written back in its shortened form."""
    long = {"read_file": file_read("word " * 60_000, size=300_000, truncated=False)}
    outcome = await whole_run([UserText(text="copy a.txt to b.txt")], executor=True, answers=long)
    assert outcome.names == ["read_file", "fail_task"]


@pytest.mark.parametrize(
    ("code", "ending", "words"),
    [
        ("approval_denied", "fail_task", "not allowed"),
        ("approval_expired", "submit_result", "nobody decided in time"),
        ("approval_invalidated", "fail_task", "invalid"),
        ("precondition_changed", "fail_task", "changed by someone else"),
        ("protected_path", "fail_task", "outside"),
        ("effect_outcome_unknown", "fail_task", "not known"),
        ("policy_denied", "fail_task", "The tool's own words."),
    ],
)
async def test_executor_ends_sensibly_when_writing_is_refused(code: str, ending: str, words: str) -> None:
    """O2, T12: one try, then an end that says what happened; an unknown effect is never repeated."""
    refused = {"write_file": tool_error(Refusal(code, "The tool's own words."))}
    outcome = await whole_run([UserText(text="summarise notes.txt into s.md")], executor=True, answers=refused)
    assert outcome.names == ["read_file", "write_file", ending]
    assert words in " ".join(str(value) for value in outcome.calls[-1][1].values())
    assert "artifacts" not in outcome.calls[-1][1]


@pytest.mark.parametrize(
    ("text", "words"),
    [("dance", "offline mode"), ("跳舞", "离线模式")],
)
async def test_executor_fails_what_it_cannot_do(text: str, words: str) -> None:
    """T5: it says so with fail_task instead of falling silent."""
    outcome = await whole_run([UserText(text=text)], executor=True)
    assert outcome.names == ["fail_task"]
    assert words in outcome.calls[0][1]["reason"]


async def test_executor_answers_the_reminder() -> None:
    """T5: a reminder inside the run changes nothing about the assignment."""
    items: list[ContextItem] = [
        UserText(text="summarise notes.txt into s.md"),
        AssistantStep(text="Hm."),
        submit_result_reminder(),
    ]
    assert (await whole_run(items, executor=True)).names == ["read_file", "write_file", "submit_result"]


async def test_delivery_words() -> None:
    """D4, D10: the sentence, the stored text verbatim, and what the host knows beside it."""
    details = DeliveryDetails(artifacts=("summary.md",), requirement_version=2)
    reply = await _reply(delivery_items("result", "My work", "The\n\n*body*", details), (), "system")
    assert reply.text == (
        "The task “My work” is done. Its result:\n\nThe\n\n*body*\n\nRequirement version: 2\nFiles: summary.md"
    )
    failure = await _reply(delivery_items("failure", "写总结", "没有文件。", DeliveryDetails()), (), "system")
    assert failure.text == "任务“写总结”没有成功，原因如下：\n\n没有文件。"


def test_answers_are_read_back() -> None:
    """Content never passes for an error: it is a value inside the answer."""
    hostile = tool_error(Refusal("not_found", "x"))
    assert read_answer(file_read(hostile, size=1, truncated=False)).error is None
    assert read_answer(hostile).error == "not_found"
    assert read_answer("plain").fields == {"content": "plain", "truncated": True}
