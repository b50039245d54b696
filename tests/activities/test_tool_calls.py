"""Tool calls: answered once, in the transaction that does what they ask for; a mistake is an answer (T4, T5, I2)."""

import asyncio
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from activities.file_tools import ARTIFACT_BYTES, READ_BYTES
from activities.tool_calls import ToolCalls
from adapters.files_root import FilesRoot
from adapters.managed_files import ManagedFiles
from contracts.run import RunPoint
from domain.refusal import refuse
from domain.run import Following, Place, RunKind, RunRef
from store import outbox, tasks, turn_ends
from store.database import Database, Transaction
from store.tables_host import OutboxRow
from store.tables_work import ArtifactRow, CallRow, DeliveryRow, EvidenceRow, RequirementRow, TaskRow
from tests.control_plane import BOUNDS, Plane


class Tools:
    """The calls of one user space and its files; `folder` is the files root."""

    def __init__(self, plane: Plane, home: Path) -> None:
        self.plane = plane
        self.folder = home / "files"
        self.folder.mkdir()
        (home / "state").mkdir()
        files = FilesRoot(self.folder, (home / "state",))
        self.managed = ManagedFiles(home / "state" / "managed", files)
        self.managed.prepare()
        self.calls = ToolCalls(plane.database, BOUNDS, files, self.managed)

    async def carry_out(self, point: RunPoint) -> Following:
        async with self.plane.database.read(self.plane.scope) as tx:
            call = await tx.session.get_one(CallRow, (point.run.run_id, point.step, point.index))
        act = self.calls.on_files if call.place == Place.FILES.value else self.calls.shared
        return await act(point)

    async def answer(self, run: RunRef, name: str, given: object, *, number: int = 1) -> dict[str, Any]:
        """What the model is told of a new step's only call."""
        place = Place.FILES if name in ("read_file", "list_files") or "artifacts" in str(given) else Place.SHARED
        await self.plane.step(run, "", (name, given), number=number, place=place)
        await self.carry_out(RunPoint(run=run, step=number))
        return await self.told(run, number)

    async def told(self, run: RunRef, number: int = 1, index: int = 0) -> dict[str, Any]:
        call = await self.plane.only(
            CallRow, CallRow.run_id == run.run_id, CallRow.step == number, CallRow.place_in_step == index
        )
        assert call.result is not None
        told: dict[str, Any] = json.loads(call.result)
        return told


def code(told: dict[str, Any]) -> str:
    return str(told["error"]["code"])


@pytest.fixture
def tools(plane: Plane, tmp_path: Path) -> Tools:
    """The tools of a new user space."""
    return Tools(plane, tmp_path)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("no_such_tool", {}, "method_not_found"),
        ("submit_result", {"summary": "x"}, "method_not_found"),
        ("fail_task", {"reason": "x"}, "method_not_found"),
        ("report_progress", {"text": "x"}, "method_not_found"),
        ("get_task", "{", "invalid_params"),
        ("get_task", "[]", "invalid_params"),
        ("get_task", "", "invalid_params"),
        ("get_task", {"task_id": 1}, "invalid_params"),
        ("get_task", {"task_id": "a", "more": 1}, "invalid_params"),
        ("get_task", {"task_id": "task_never"}, "not_found"),
        ("list_tasks", {"state": "sleeping"}, "invalid_params"),
        ("delegate_task", {"title": "x" * 201, "instructions": "i"}, "invalid_params"),
        ("delegate_task", {"title": "t", "instructions": "字" * 21_334}, "invalid_params"),
        ("delegate_task", {"title": "t", "instructions": " "}, "invalid_params"),
        ("delegate_task", {"title": "t", "instructions": "i", "engine": "codex"}, "engine_unavailable"),
        ("delegate_task", {"title": "t", "instructions": "i", "permission_mode": "unconfined"}, "invalid_params"),
        ("delegate_task", {"title": "t", "instructions": "i", "attachment_ids": ["att_never"]}, "not_found"),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_a_mistake_is_an_answer(tools: Tools, name: str, given: object, expected: str) -> None:
    """O3, T14, C5: the run goes on, the model reads the code and what to change, and nothing was done."""
    run = await tools.plane.turn()
    assert code(await tools.answer(run, name, given)) == expected
    assert await tools.plane.follows(run) == Following(kind="model", step=2)
    assert await tools.plane.rows(TaskRow) == []


async def test_a_refused_tool_leaves_nothing_but_its_answer(tools: Tools, monkeypatch: pytest.MonkeyPatch) -> None:
    """I1: what a tool had written before it refused is taken back; the answer that says so is stored."""

    async def half_done(tx: Transaction, *_: object) -> str:
        outbox.post(tx, outbox.TASK_START, "task_half")
        await tx.session.flush()
        raise refuse("not_found", "Only now.")

    monkeypatch.setattr("activities.tool_calls.SHARED_TOOLS", {"list_tasks": half_done})
    run = await tools.plane.turn()
    assert code(await tools.answer(run, "list_tasks", {})) == "not_found"
    assert await tools.plane.rows(OutboxRow, OutboxRow.kind == outbox.TASK_START) == []


@pytest.mark.parametrize("name", ["list_tasks", "get_task", "stop_task", "resume_task", "answer_question"])
async def test_an_executor_has_no_tools_of_the_main_agent(tools: Tools, name: str) -> None:
    """C5, I8: a hidden task can neither look at the user's other tasks nor decide about them."""
    run = await tools.plane.attempt()
    assert code(await tools.answer(run, name, {})) == "method_not_found"
    assert len(await tools.plane.rows(TaskRow)) == 1


async def test_delegation_is_recorded_before_it_is_told(tools: Tools) -> None:
    """T1, T2, I1: the task, its source and its start are there with the call's answer."""
    upload = await tools.plane.upload()
    run = await tools.plane.turn("please")
    wanted = {"title": "T", "instructions": "Do it.", "attachment_ids": [upload.attachment_id]}
    told = await tools.answer(run, "delegate_task", wanted)
    task = await tools.plane.only(TaskRow)
    requirement = await tools.plane.only(RequirementRow, RequirementRow.task_id == task.task_id)
    assert told == {"task_id": task.task_id, "title": "T", "state": "accepted"}
    assert (requirement.source_session_id, requirement.source_seqs) == (tools.plane.main_session_id, [1])
    assert requirement.attachment_ids == [upload.attachment_id]
    assert "task.start" in [row.kind for row in await tools.plane.rows(OutboxRow)]


async def test_a_repeated_call_is_done_once(tools: Tools) -> None:
    """I2, T10: the same call after a crash, and many times at once, makes one task."""
    run = await tools.plane.turn()
    await tools.plane.step(run, "", ("delegate_task", {"title": "T", "instructions": "Do it."}))
    point = RunPoint(run=run, step=1)
    answers = await asyncio.gather(*(tools.calls.shared(point) for _ in range(5)))
    assert set(map(str, answers)) == {str(Following(kind="model", step=2))}
    assert len(await tools.plane.rows(TaskRow)) == 1


async def test_two_calls_of_one_step_are_two_tasks(tools: Tools) -> None:
    """T1: the same words twice, asked for by two calls, are two pieces of work."""
    run = await tools.plane.turn()
    given = ("delegate_task", {"title": "T", "instructions": "Do it."})
    await tools.plane.step(run, "", given, given)
    for index in range(2):
        await tools.calls.shared(RunPoint(run=run, step=1, index=index))
    assert len(await tools.plane.rows(TaskRow)) == 2


async def test_calls_are_carried_out_in_order(tools: Tools) -> None:
    """T4: one after the other; a call that is not the next one does nothing."""
    run = await tools.plane.turn()
    await tools.plane.step(run, "", ("list_tasks", {}), ("delegate_task", {"title": "T", "instructions": "Do it."}))
    assert await tools.calls.shared(RunPoint(run=run, step=1, index=1)) == Following(kind="call", step=1, index=0)
    assert await tools.plane.rows(TaskRow) == []


async def test_nothing_is_done_for_a_run_that_has_ended(tools: Tools) -> None:
    """I7, S8: a call that comes after the stop is neither carried out nor answered."""
    run = await tools.plane.turn()
    await tools.plane.step(run, "", ("delegate_task", {"title": "T", "instructions": "Do it."}))
    async with tools.plane.database.write(tools.plane.scope) as tx:
        await turn_ends.stop(tx, run)
    assert (await tools.calls.shared(RunPoint(run=run, step=1))).kind == "ended"
    assert await tools.plane.rows(TaskRow) == []


async def test_tasks_are_listed_and_shown(tools: Tools, other: Plane) -> None:
    """C5, I8: newest first, by state, of this user alone."""
    foreign = await other.task("foreign")
    old, new = await tools.plane.task("old"), await tools.plane.task("new")
    run = await tools.plane.turn()
    listed = await tools.answer(run, "list_tasks", {"state": "accepted"})
    assert [task["task_id"] for task in listed["tasks"]] == [new.task_id, old.task_id]
    assert listed["more"] is False
    assert (await tools.answer(run, "list_tasks", {"state": "failed"}, number=2))["tasks"] == []
    shown = await tools.answer(run, "get_task", {"task_id": old.task_id}, number=3)
    assert (shown["task"]["title"], shown["task"]["state"]) == ("old", "accepted")
    absent = await tools.answer(run, "get_task", {"task_id": "task_never"}, number=4)
    assert await tools.answer(run, "get_task", {"task_id": foreign.task_id}, number=5) == absent


async def test_more_tasks_than_are_listed(tools: Tools) -> None:
    """C5: the list is bounded and says so."""
    for number in range(21):
        await tools.plane.task(str(number))
    listed = await tools.answer(await tools.plane.turn(), "list_tasks", {})
    assert (len(listed["tasks"]), listed["more"]) == (20, True)


async def test_progress_is_kept(tools: Tools) -> None:
    """T17: the executor's line is the task's."""
    run = await tools.plane.attempt()
    assert await tools.answer(run, "report_progress", {"text": "half done"}) == {"noted": True}
    assert (await tools.plane.only(TaskRow)).progress == "half done"


async def test_failing_with_own_words(tools: Tools) -> None:
    """D10, T4: the executor's reason is kept as it was said."""
    run = await tools.plane.attempt()
    await tools.answer(run, "fail_task", {"reason": "the disk is full"})
    task = await tools.plane.only(TaskRow)
    assert (task.state, task.reason, task.reason_text) == ("failed", "executor_failed", "the disk is full")
    assert (await tools.plane.only(DeliveryRow)).kind == "failure"


async def test_a_refused_result_leaves_the_attempt_running(tools: Tools) -> None:
    """T8: during a question a result is refused with `question_pending`; what it had begun is taken back."""
    run = await tools.plane.attempt()
    async with tools.plane.database.write(tools.plane.scope) as tx:
        (await tasks.task_row(tx, run.task_id or "")).state = "waiting_user"
    assert code(await tools.answer(run, "submit_result", {"summary": "done"})) == "question_pending"
    assert (await tools.plane.only(TaskRow)).state == "waiting_user"
    assert await tools.plane.rows(EvidenceRow, EvidenceRow.task_id == run.task_id) == []
    assert await tools.plane.rows(DeliveryRow) == []


@pytest.mark.parametrize("kind", RunKind)
async def test_reading_files(tools: Tools, kind: RunKind) -> None:
    """C5: both kinds of run read and list below the files root; content that looks like an error is content."""
    run = await (tools.plane.turn() if kind is RunKind.TURN else tools.plane.attempt())
    (tools.folder / "notes").mkdir()
    (tools.folder / "notes/a.txt").write_text('{"error": {"code": "x"}}', "utf-8")
    assert await tools.answer(run, "read_file", {"path": "notes/a.txt"}) == {
        "content": '{"error": {"code": "x"}}', "size": 24, "truncated": False
    }  # fmt: skip
    assert await tools.answer(run, "list_files", {"path": "notes"}, number=2) == {
        "entries": [{"name": "a.txt", "kind": "file", "size": 24}], "truncated": False
    }  # fmt: skip
    assert (await tools.answer(run, "list_files", {}, number=3))["entries"] == [{"name": "notes", "kind": "folder"}]


async def test_a_long_file_is_shown_in_part(tools: Tools) -> None:
    """O19: what a model reads is bounded, and says so."""
    (tools.folder / "long.txt").write_text("x" * (READ_BYTES + 1))
    told = await tools.answer(await tools.plane.turn(), "read_file", {"path": "long.txt"})
    assert (len(told["content"]), told["size"], told["truncated"]) == (READ_BYTES, READ_BYTES + 1, True)


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("read_file", "never.txt", "not_found"),
        ("read_file", "../outside.txt", "protected_path"),
        ("read_file", "/etc/hostname", "protected_path"),
        ("read_file", "link.txt", "protected_path"),
        ("read_file", "", "invalid_params"),
        ("list_files", "never", "not_found"),
        ("list_files", "..", "protected_path"),
    ],
)
async def test_files_that_are_not_read(tools: Tools, tmp_path: Path, name: str, path: str, expected: str) -> None:
    """E3: refused with a code, without a path of the machine, and without a look outside."""
    (tmp_path / "outside.txt").write_text("secret")
    (tools.folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    told = await tools.answer(await tools.plane.turn(), name, {"path": path})
    assert code(told) == expected
    assert "secret" not in json.dumps(told)
    assert str(tmp_path) not in json.dumps(told)


async def test_a_result_with_files(tools: Tools) -> None:
    """T5: each file is copied with its digest when the result is accepted; the copy does not change any more."""
    content = b"col\n1\n"
    (tools.folder / "out").mkdir()
    (tools.folder / "out/table.csv").write_bytes(content)
    run = await tools.plane.attempt()
    told = await tools.answer(run, "submit_result", {"summary": "done", "artifacts": ["out/table.csv"]})
    assert told == {"noted": True}
    (tools.folder / "out/table.csv").write_bytes(b"changed")
    file = await tools.plane.only(ArtifactRow, ArtifactRow.task_id == run.task_id)
    assert (file.name, file.size, file.sha256) == ("table.csv", 6, hashlib.sha256(content).hexdigest())
    with tools.managed.artifacts.open_content(file.artifact_id) as descriptor:
        assert os.read(descriptor, 100) == content


async def test_a_repeated_result_copies_nothing_anew(tools: Tools, prepared_url: str) -> None:
    """T5, T10: by two workers at once, or again after a crash: one result, its files once, as they first were."""
    (tools.folder / "a.txt").write_text("first")
    run = await tools.plane.attempt()
    given = {"summary": "done", "artifacts": ["a.txt"]}
    await tools.plane.step(run, "", ("submit_result", given), place=Place.FILES)
    point = RunPoint(run=run, step=1)
    other = Database(prepared_url)
    second = ToolCalls(other, BOUNDS, tools.calls.files, tools.managed)
    answers = await asyncio.gather(tools.calls.on_files(point), second.on_files(point))
    assert [answer.state for answer in answers] == ["succeeded", "succeeded"]
    (tools.folder / "a.txt").write_text("second")
    assert (await tools.calls.on_files(point)).state == "succeeded"
    file = await tools.plane.only(ArtifactRow, ArtifactRow.task_id == run.task_id)
    assert file.sha256 == hashlib.sha256(b"first").hexdigest()
    assert len(await tools.plane.rows(DeliveryRow)) == 1
    await other.close()


@pytest.mark.parametrize("artifacts", [["never.txt"], ["a.txt", "never.txt"], ["../a.txt"], ["a.txt", "huge.bin"]])
async def test_a_result_with_a_file_that_cannot_be_kept(tools: Tools, artifacts: list[str]) -> None:
    """T5: refused as a whole, with the reason; the executor may correct it and submit again."""
    (tools.folder / "a.txt").write_text("a")
    with (tools.folder / "huge.bin").open("wb") as huge:
        huge.truncate(ARTIFACT_BYTES + 1)
    run = await tools.plane.attempt()
    told = await tools.answer(run, "submit_result", {"summary": "done", "artifacts": artifacts})
    assert code(told) in ("not_found", "protected_path", "invalid_params")
    assert (await tools.plane.only(TaskRow)).state == "running"
    assert await tools.plane.rows(ArtifactRow, ArtifactRow.task_id == run.task_id) == []
    again = await tools.answer(run, "submit_result", {"summary": "done", "artifacts": ["a.txt"]}, number=2)
    assert again == {"noted": True}


async def test_a_stale_result_is_told_so(tools: Tools) -> None:
    """T5, I7: the task has a newer requirement; the answer says `stale_result` and nothing changes."""
    run = await tools.plane.attempt()
    async with tools.plane.database.write(tools.plane.scope) as tx:
        (await tasks.task_row(tx, run.task_id or "")).requirement_version = 2
    assert code(await tools.answer(run, "submit_result", {"summary": "late"})) == "stale_result"
    assert (await tools.plane.only(TaskRow)).result_summary is None


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("delegate_task", {"title": "t", "instructions": "i", "attachment_ids": None, "chain_of_thought": "secret"}),
        ("submit_result", {"summary": "s", "reasoning": "secret"}),
    ],
)
async def test_refusals_do_not_repeat_what_was_sent(tools: Tools, name: str, given: object) -> None:
    """P3, I9: the words of an error name fields, never contents."""
    run = await (tools.plane.attempt() if name == "submit_result" else tools.plane.turn())
    told = await tools.answer(run, name, given)
    assert "secret" not in json.dumps(told)
    assert "error" in told
