"""The offline model asks back, passes answers on, and stops tasks, in both languages (O2, T7, T9, D9, S1)."""

import json

import pytest

from assistant.offline_grammar import Request, parse
from assistant.prompts import AttachmentLine, QuestionLine, attachments_note, questions_note
from assistant.tool_results import answered, file_changed, file_read, files_listed, tasks_listed
from assistant.tools import tool_error
from contracts.model_io import ContextItem, UserText
from domain.refusal import Refusal
from tests.assistant.test_offline import whole_run

MISSING = tool_error(Refusal("not_found", "No such file."))
TEXT = "Durable workflows survive crashes. Durable workflows replay their history. A cat slept."
READ = file_read(TEXT, size=len(TEXT), truncated=False)
THERE = files_listed(
    [{"name": name, "kind": kind} for name, kind in (
        ("notes-2024.txt", "file"), ("notes-2025.txt", "file"), ("notes", "folder"), ("plan.md", "file")
    )],
    truncated=False,
)  # fmt: skip
ANSWERED = json.dumps({"answer": "“notes-2025.txt”"})
WRITTEN = file_changed("s.md", size=3, sha256="0")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("summarise notes.txt into s.md", "There is no file notes.txt. Which file do you mean?"),
        ("总结 notes.txt 到 s.md", "没有文件 notes.txt。你指的是哪个文件？"),
        ("copy notes.txt to s.md", "There is no file notes.txt. Which file do you mean?"),
    ],
)
async def test_a_missing_source_is_asked_for(text: str, question: str) -> None:
    """O2, T7: the files that may be meant are the options; the answer is what is worked on."""
    given = {"read_file": [MISSING, READ], "list_files": THERE, "ask_user": ANSWERED, "write_file": WRITTEN}
    outcome = await whole_run([UserText(text=text)], executor=True, answers=given)
    assert outcome.names == ["read_file", "list_files", "ask_user", "read_file", "write_file", "submit_result"]
    asked = outcome.calls[2][1]
    assert asked == {"question": question, "options": ["notes-2024.txt", "notes-2025.txt"]}
    assert outcome.calls[3][1] == {"path": "notes-2025.txt"}
    assert outcome.calls[-1][1]["artifacts"] == ["s.md"]


async def test_the_folder_of_the_missing_file_is_looked_at() -> None:
    """O2: options are paths that can be read; with nothing alike it is a free question."""
    given = {"read_file": [MISSING, MISSING], "list_files": THERE, "ask_user": ANSWERED}
    outcome = await whole_run([UserText(text="summarise docs/plan.txt")], executor=True, answers=given)
    assert outcome.calls[1] == ("list_files", {"path": "docs"})
    assert outcome.calls[2][1]["options"] == ["docs/plan.md"]
    given = {"read_file": [MISSING, MISSING], "list_files": MISSING, "ask_user": ANSWERED}
    outcome = await whole_run([UserText(text="summarise gone/x.txt")], executor=True, answers=given)
    assert "options" not in outcome.calls[2][1]


@pytest.mark.parametrize("code", ["question_cancelled", "question_closed"])
async def test_without_an_answer_the_task_ends_with_the_reason(code: str) -> None:
    """T9: it does not ask for ever."""
    refused = tool_error(Refusal(code, "No answer."))
    given = {"read_file": [MISSING], "list_files": THERE, "ask_user": refused}
    outcome = await whole_run([UserText(text="summarise notes.txt")], executor=True, answers=given)
    assert outcome.names == ["read_file", "list_files", "ask_user", "fail_task"]
    assert "notes.txt" in outcome.calls[-1][1]["reason"]


async def test_an_answer_that_is_no_file_either_fails_with_its_name() -> None:
    """O2: one question, then an honest end."""
    given = {"read_file": [MISSING, MISSING], "list_files": THERE, "ask_user": json.dumps({"answer": "other.txt"})}
    outcome = await whole_run([UserText(text="summarise notes.txt")], executor=True, answers=given)
    assert outcome.names[-2:] == ["read_file", "fail_task"]
    assert "other.txt" in outcome.calls[-1][1]["reason"]


async def test_which_of_two_attachments_is_asked() -> None:
    """O2, C9: “this” with two attachments; the chosen one's working copy is read."""
    lines = [AttachmentLine(f"att_{n}", f"{n}.txt", "text/plain", 3, f"attachments/att_{n}/{n}.txt") for n in (1, 2)]
    items: list[ContextItem] = [attachments_note(lines), UserText(text="summarise this")]
    given = {"ask_user": json.dumps({"answer": "2.txt"}), "read_file": READ}
    outcome = await whole_run(items, executor=True, answers=given)
    assert outcome.calls[0][1]["options"] == ["1.txt", "2.txt"]
    assert outcome.calls[1] == ("read_file", {"path": "attachments/att_2/2.txt"})
    assert outcome.names[-1] == "submit_result"


ONE = questions_note([QuestionLine("question_1", "Summarise notes", "Which file?")])
TWO = questions_note(
    [QuestionLine("question_1", "Summary", "Which file?"), QuestionLine("question_2", "抄写", "哪个？")]
)
PASSED = {"answer_question": answered(question_id="question_1", state="answered")}


@pytest.mark.parametrize(("text", "told"), [("notes-2025.txt", "passed your answer on"), ("第二个文件", "回答转给")])
async def test_what_is_no_command_answers_the_open_question(text: str, told: str) -> None:
    """T9, D9: in the user's own words."""
    outcome = await whole_run([ONE, UserText(text=text)], answers=PASSED)
    assert outcome.calls == [("answer_question", {"question_id": "question_1", "text": text})]
    assert told in outcome.text


async def test_a_command_is_no_answer() -> None:
    """O2: with a question open, requests are still requests."""
    assert (await whole_run([ONE, UserText(text="list files")])).names == ["list_files"]


async def test_with_several_questions_the_title_says_which() -> None:
    """D9: nothing is guessed; the title and a colon name the task."""
    unclear = await whole_run([TWO, UserText(text="the second one")])
    assert (unclear.calls, "Summary: Which file?" in unclear.text) == ([], True)
    outcome = await whole_run([TWO, UserText(text="抄写：第一个")], answers=PASSED)
    assert outcome.calls == [("answer_question", {"question_id": "question_2", "text": "第一个"})]


async def test_a_refused_answer_is_told() -> None:
    """T9: somebody was faster."""
    closed = {"answer_question": tool_error(Refusal("question_closed", "It was answered meanwhile."))}
    assert "It was answered meanwhile." in (await whole_run([ONE, UserText(text="April")], answers=closed)).text


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("stop task My work", "My work"),
        ("Please cancel the task task_9.", "task_9"),
        ("stop that", None),
        ("Stop it, please", None),
        ("abort the task", None),
        ("停止任务 我的工作", "我的工作"),
        ("取消任务“我的工作”", "我的工作"),
        ("请停止这个任务", None),
        ("停下它", None),
    ],
)
def test_how_a_stop_is_said(text: str, name: str | None) -> None:
    """O2, S1: by title, by id, or the one that is meant."""
    assert parse(text) == Request("stop_task", text=name)


TASKS = [
    {"task_id": "task_3", "title": "My work", "state": "running"},
    {"task_id": "task_2", "title": "Other work", "state": "waiting_user"},
    {"task_id": "task_1", "title": "My work", "state": "completed"},
]
STOPPED = answered(intent={"intent_id": "intent_1", "state": "accepted"})


@pytest.mark.parametrize(
    ("text", "tasks", "calls", "told"),
    [
        ("stop task my WORK", TASKS, [("stop_task", {"task_id": "task_3"})], "being stopped"),
        ("停止任务 Other", TASKS, [("stop_task", {"task_id": "task_2"})], "正在停止"),
        ("stop that", TASKS, [], "Which task"),
        ("stop that", TASKS[1:], [("stop_task", {"task_id": "task_2"})], "being stopped"),
        ("停止它", TASKS[2:], [], "没有进行中的任务"),
        ("stop task none", TASKS, [], "“none”"),
    ],
)
async def test_a_stop_reaches_the_task_that_is_meant(
    text: str, tasks: list[dict[str, str]], calls: list[tuple[str, dict[str, str]]], told: str
) -> None:
    """O2, S1: only tasks in progress; with several it asks."""
    given = {"list_tasks": tasks_listed(tasks, more=False), "stop_task": STOPPED}
    outcome = await whole_run([UserText(text=text)], answers=given)
    assert outcome.calls == [("list_tasks", {}), *calls]
    assert told in outcome.text


async def test_a_stop_by_id_needs_no_list() -> None:
    """O2, S1: the id is enough."""
    outcome = await whole_run([UserText(text="stop task task_3")], answers={"stop_task": STOPPED})
    assert outcome.calls == [("stop_task", {"task_id": "task_3"})]
