"""One model step: stored once, reused, dropped when it comes too late, shown while it is written (T10, C4, D4, S8)."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from temporalio.testing import ActivityEnvironment

from activities.model_steps import TRIES_OF_A_BUG, ModelSteps
from activities.runs import RunWork
from activities.stop_watch import StopWatch
from activities.tool_calls import ToolCalls
from adapters.files_root import FilesRoot
from adapters.managed_files import ManagedFiles
from assistant.prompts import read_clock_note
from contracts.run import RunPoint
from domain.run import Following, Place, RunRef
from store import tasks, turn_ends, turn_stops
from store.database import Scope
from store.tables_conversation import TurnRow
from store.tables_work import CallRow, DeliveryRow, StepRow, TaskRow
from tests.activities.scripted_model import Answer, Script, ShownReplies
from tests.control_plane import BOUNDS, Plane


class Asked:
    """The activity of model steps over a script, with what pages were shown."""

    def __init__(self, plane: Plane, *answers: Answer, silence_s: float = 20.0, delivery_wait_s: float = 20.0) -> None:
        self.plane = plane
        self.script = Script(list(answers))
        self.live = ShownReplies()
        models = {"main": self.script.model, "task": self.script.model}
        stops = StopWatch(plane.database)
        steps = ModelSteps(plane.database, models, BOUNDS, 8_000, silence_s, delivery_wait_s, stops, self.live)  # type: ignore[arg-type]
        self.steps = steps
        self.answers_with(ToolCalls(plane.database, BOUNDS))

    def answers_with(self, calls: ToolCalls) -> None:
        self.work = RunWork(self.plane.database, BOUNDS, self.steps, calls)

    async def step(self, run: RunRef, number: int = 1, attempt: int = 1) -> Following:
        environment = ActivityEnvironment()
        environment.info = replace(environment.info, attempt=attempt)
        following: Following = await environment.run(self.work.model_step, RunPoint(run=run, step=number))
        return following

    def shown(self, run: RunRef) -> str:
        return str(self.live.open(run.turn_id or "").text)


async def stop(plane: Plane, run: RunRef) -> None:
    async with plane.database.write(plane.scope) as tx:
        await turn_stops.stop_turn(tx, plane.main_session_id, run.turn_id or "", plane.request_id(), "owner")


async def test_an_answer_is_stored_and_shown(plane: Plane) -> None:
    """C4, T10: streamed while it is written, stored whole with the record of its context."""
    asked = Asked(plane, ["Good ", "morning."])
    run = await plane.turn()
    assert await asked.step(run) == Following(kind="reply", step=1)
    assert asked.shown(run) == "Good morning."
    step = await plane.only(StepRow, StepRow.run_id == run.run_id)
    assert (step.text, step.turn_id) == ("Good morning.", run.turn_id)
    assert [item["kind"] for item in step.context["items"]] == ["host_note", "user_text"]
    assert "hello" not in json.dumps(step.context)


async def test_a_stored_answer_is_reused(plane: Plane) -> None:
    """T10: repeated after a crash, the step asks no model and stores nothing."""
    asked = Asked(plane, ["once"])
    run = await plane.turn()
    assert await asked.step(run) == await asked.step(run) == Following(kind="reply", step=1)
    assert len(asked.script.seen) == 1
    assert asked.shown(run) == "once"


async def test_a_step_that_is_not_next_asks_nothing(plane: Plane) -> None:
    """T10: the rows decide, not the workflow's memory."""
    asked = Asked(plane)
    run = await plane.turn()
    assert await asked.step(run, number=3) == Following(kind="model", step=1)
    await plane.complete(run)
    assert (await asked.step(run)).kind == "ended"
    assert asked.script.seen == []


async def test_calls_that_need_only_rows_are_answered_with_the_step(plane: Plane) -> None:
    """T4, T18: in order, up to the first that needs something else; the model is told each answer."""
    asked = Asked(plane, [("list_tasks", {}), ("no_such_tool", {}), ("read_file", {"path": "a"}), ("list_tasks", {})])
    run = await plane.turn()
    assert await asked.step(run) == Following(kind="call", step=1, index=2, place=Place.FILES)
    calls = await plane.rows(CallRow, CallRow.run_id == run.run_id)
    assert [call.result is not None for call in calls] == [True, True, False, False]
    assert json.loads(calls[1].result or "")["error"]["code"] == "method_not_found"


async def test_an_effect_is_not_carried_out_by_asking(plane: Plane) -> None:
    """E1: a call that changes something is proposed first."""
    asked = Asked(plane, [("write_file", {"path": "a", "content": "b"})])
    run = await plane.turn()
    assert await asked.step(run) == Following(kind="propose", step=1, place=Place.EFFECT)


@pytest.mark.parametrize("cut", [True, False], ids=["stream-cut", "answer-just-in-time"])
async def test_a_stopped_reply_keeps_what_was_shown(plane: Plane, cut: bool) -> None:
    """S8, S11: the answer is abandoned or dropped, no call of it is carried out; its text is stored as interrupted."""
    run = await plane.turn()

    async def stopped() -> None:
        await stop(plane, run)
        if cut:
            asked.live.open(run.turn_id or "").stop_requested.set()
            await asyncio.Event().wait()

    asked = Asked(plane, ["I was ", stopped, ("delegate_task", {"title": "t", "instructions": "i"})])
    assert await asked.step(run) == Following(kind="ended", reason="turn_stopped")
    assert await plane.rows(StepRow, StepRow.run_id == run.run_id) == []
    assert await plane.rows(TaskRow) == []
    async with plane.database.write(plane.scope) as tx:
        await turn_ends.stop(tx, run)
    assert (await plane.messages())[1:] == [(2, "assistant", "I was ")]


async def test_a_late_answer_of_an_ended_turn_leaves_no_trace(plane: Plane) -> None:
    """I7: the turn has failed meanwhile; neither a step nor a part of the text is kept."""
    run = await plane.turn()

    async def fail() -> None:
        async with plane.database.write(plane.scope) as tx:
            await turn_ends.fail(tx, run, "turn_failed", "words")

    asked = Asked(plane, ["late", fail])
    assert (await asked.step(run)).kind == "ended"
    assert await plane.rows(StepRow, StepRow.run_id == run.run_id) == []
    assert (await plane.only(TurnRow)).partial_text is None


async def test_of_two_answers_for_one_step_the_first_is_kept(plane: Plane) -> None:
    """T10: another worker was faster; its answer stands, this one is dropped."""
    run = await plane.turn()

    async def faster() -> None:
        await plane.step(run, "the first")

    asked = Asked(plane, ["the second", faster])
    assert await asked.step(run) == Following(kind="reply", step=1)
    assert (await plane.only(StepRow, StepRow.run_id == run.run_id)).text == "the first"


async def test_a_repeated_step_never_doubles_text(plane: Plane) -> None:
    """C4: what a dead process had shown is taken back; what earlier steps said stays in front."""
    asked = Asked(plane, ["Done."])
    run = await plane.turn()
    await plane.step(run, "Let me see.", ("list_tasks", {}))
    await asked.work.shared_call(RunPoint(run=run, step=1, index=0))
    asked.live.open(run.turn_id or "").delta("Let me see.\n\nDo")
    assert await asked.step(run, number=2) == Following(kind="reply", step=2)
    assert asked.shown(run) == "Let me see.\n\nDone."


async def test_a_model_that_fails_fails_the_run(plane: Plane) -> None:
    """O3: silence, and an answer without content, end in `model_unavailable`, never in an exception."""
    run = await plane.turn()
    asked = Asked(plane, [_silent], silence_s=0.05)
    assert await asked.step(run) == Following(kind="fail", reason="model_unavailable")


async def test_a_bug_fails_the_run_after_its_tries(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """O3: an exception nobody expected is tried again a few times and then ends the run; it never hangs."""
    asked = Asked(plane)
    run = await plane.turn()

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("activities.model_steps.model_call", broken)
    with pytest.raises(ZeroDivisionError):
        await asked.step(run, attempt=TRIES_OF_A_BUG - 1)
    assert await asked.step(run, attempt=TRIES_OF_A_BUG) == Following(kind="fail", reason="turn_failed")


async def test_a_delivery_is_told_without_tools(plane: Plane) -> None:
    """D4, C6: no tools are offered; the result is one user message, verbatim, after the host's note."""
    asked = Asked(plane, ["Here it is: the result."])
    run = await plane.delivery_turn('the result with "quotes"\n[host] and a trap')
    assert await asked.step(run) == Following(kind="reply", step=1)
    assert asked.script.offered == [[]]
    assert asked.script.seen[0][-1] == ("user", 'the result with "quotes"\n[host] and a trap')


@pytest.mark.parametrize("words", ["", "I have also started this: "])
async def test_calls_of_a_delivery_are_dropped(plane: Plane, words: str) -> None:
    """D4: whoever talks the model into a call, a delivery does nothing but tell; without words it is verbatim."""
    trap: Answer = [
        ("delegate_task", {"title": "t", "instructions": "i"}),
        ("write_file", {"path": "a", "content": "b"}),
    ]
    asked = Asked(plane, [words, *trap])
    run = await plane.delivery_turn("the result")
    assert await asked.step(run) == Following(kind="reply", step=1)
    assert await plane.rows(CallRow, CallRow.run_id == run.run_id) == []
    assert len(await plane.rows(TaskRow)) == 1
    step = await plane.only(StepRow, StepRow.run_id == run.run_id)
    assert step.text == words if words else "the result" in step.text


async def _silent() -> None:
    await asyncio.Event().wait()


async def test_a_result_never_waits_on_a_broken_model(plane: Plane) -> None:
    """D4: after the configured time the stored text goes out under one fixed sentence; a part shown before is reset."""
    asked = Asked(plane, ["half a sen", _silent], delivery_wait_s=0.05)
    run = await plane.delivery_turn("the result")
    assert await asked.step(run) == Following(kind="reply", step=1)
    expected = "The task “title” is done. Its result:\n\nthe result"
    assert asked.shown(run) == expected
    await plane.complete(run)
    assert await plane.messages() == [(1, "assistant", expected)]
    assert (await plane.only(DeliveryRow)).state == "delivered"


async def test_nothing_of_a_stopped_delivery_is_kept(plane: Plane) -> None:
    """S8, D3: no partial text of a delivery is stored, not even in the turn's own row."""
    run = await plane.delivery_turn()

    async def stopped() -> None:
        await stop(plane, run)
        asked.live.open(run.turn_id or "").stop_requested.set()
        await asyncio.Event().wait()

    asked = Asked(plane, ["half a sen", stopped])
    assert (await asked.step(run)).kind == "ended"
    assert (await plane.only(TurnRow)).partial_text is None


async def test_an_attempt_ends_in_its_step(plane: Plane) -> None:
    """T5, T18: a result without files is accepted with the step that submits it; what follows says so."""
    asked = Asked(plane, [("submit_result", {"summary": "the result"})])
    run = await plane.attempt()
    assert await asked.step(run) == Following(kind="ended", state="succeeded")
    assert (await plane.only(TaskRow)).result_summary == "the result"


async def test_calls_after_the_result_are_not_carried_out(plane: Plane) -> None:
    """T5, I7: what a model asks for behind its own end does not happen."""
    asked = Asked(plane, [("submit_result", {"summary": "first"}), ("fail_task", {"reason": "second"})])
    run = await plane.attempt()
    assert (await asked.step(run)).state == "succeeded"
    assert (await plane.only(CallRow, CallRow.run_id == run.run_id, CallRow.place_in_step == 1)).result is None
    task = await plane.only(TaskRow)
    assert (task.state, task.reason) == ("completed", None)


async def test_an_executor_that_stops_talking_is_reminded_once(plane: Plane) -> None:
    """T5: the reminder is the last thing the model reads; a second plain answer fails the attempt."""
    asked = Asked(plane, ["I think I am done."], ["Really."])
    run = await plane.attempt()
    assert await asked.step(run) == Following(kind="model", step=2)
    assert await asked.step(run, number=2) == Following(kind="fail", reason="no_result_submitted")
    role, reminder = asked.script.seen[1][-1]
    assert role == "user"
    assert reminder.startswith("[host] The task is not ended.")
    assert not any("not ended" in text for _, text in asked.script.seen[0])


async def test_what_the_main_agent_reads(plane: Plane, other: Plane) -> None:
    """C6, I8: earlier turns as they were, when the input came, the input verbatim and last, and nothing queued."""
    await other.complete(await other.turn("foreign"))
    first = await plane.turn("first question")
    await plane.step(first, "Let me see.", ("list_tasks", {}))
    asked = Asked(plane, ["first answer"], ["second answer"])
    await asked.work.shared_call(RunPoint(run=first, step=1, index=0))
    await asked.step(first, number=2)
    await plane.complete(first)
    second = await plane.turn('{"text": "second question"}')
    await plane.send("queued behind")
    await asked.step(second)
    *seen, (role, note), said = asked.script.seen[-1]
    assert role == "user"
    assert read_clock_note(note) is not None
    assert [*seen, said] == [
        ("user", "first question"),
        ("assistant", "Let me see."),
        ("call", "list_tasks"),
        ("tool", '{"tasks": [], "more": false}'),
        ("assistant", "first answer"),
        ("user", '{"text": "second question"}'),
    ]


async def test_what_an_executor_reads(plane: Plane) -> None:
    """C6, C9: its attachments as a note of the host, its instructions as one message; nothing of the conversation."""
    await plane.complete(await plane.turn("private talk"))
    upload = await plane.upload("report.pdf", size=7)
    asked = Asked(plane, [("report_progress", {"text": "x"})])
    task = await plane.task(attachment_ids=(upload.attachment_id,), instructions="Sum it up.")
    async with plane.database.write(plane.scope) as tx:
        run = tasks.run_of(await tasks.begin(tx, task.task_id))
    await asked.step(run)
    note, instructions = asked.script.seen[-1]
    assert instructions == ("user", "Sum it up.")
    assert f"attachments/{upload.attachment_id}/report.pdf" in note[1]
    assert "application/pdf, 7 bytes" in note[1]
    assert "submit_result" in asked.script.offered[0]
    assert "list_tasks" not in asked.script.offered[0]


async def test_a_message_of_attachments_alone_is_a_note(plane: Plane) -> None:
    """C6, C8: nothing is put into the mouth of a person who only attached something."""
    upload = await plane.upload("photo.png")
    asked = Asked(plane, ["Nice."])
    run = await plane.turn("", attachment_ids=(upload.attachment_id,))
    await asked.step(run)
    [(_, clock), (role, note)] = asked.script.seen[-1]
    assert read_clock_note(clock) is not None
    assert role == "user"
    assert note.startswith("[host] Attachments")


async def test_an_interrupted_reply_is_remembered_as_it_was_shown(plane: Plane) -> None:
    """S8, C6: the next turn's context holds what the person read, and the deliveries told meanwhile."""
    asked = Asked(plane, ["answer"])
    run = await plane.turn("first")
    await stop(plane, run)
    async with plane.database.write(plane.scope) as tx:
        (await tx.session.get_one(TurnRow, run.turn_id)).partial_text = "half"
    async with plane.database.write(plane.scope) as tx:
        await turn_ends.stop(tx, run)
    told = await plane.delivery_turn("the result")
    await plane.step(told, "It is done.")
    await plane.complete(told)
    await asked.step(await plane.turn("next"))
    roles = [(role, text) for role, text in asked.script.seen[-1] if not text.startswith("[host]")]
    assert roles == [("user", "first"), ("assistant", "half"), ("assistant", "It is done."), ("user", "next")]


@pytest.mark.parametrize("here", [True, False], ids=["here", "elsewhere"])
async def test_files_are_read_in_the_model_step_where_they_are(plane: Plane, tmp_path: Path, here: bool) -> None:
    """T18: the worker with the files answers the read at once, so the step costs one activity and not two."""
    for folder in ("files", "state"):
        (tmp_path / folder).mkdir()
    (tmp_path / "files" / "notes.txt").write_text("kept")
    files = FilesRoot(tmp_path / "files", (tmp_path / "state",))
    of = plane.scope if here else Scope(plane.scope.user_space, "coding")
    asked = Asked(plane, [("read_file", {"path": "notes.txt"}), ("list_tasks", {})])
    asked.answers_with(ToolCalls(plane.database, BOUNDS, files, ManagedFiles(tmp_path / "state", files), of))
    run = await plane.attempt()
    following = await asked.step(run)
    read = await plane.only(CallRow, CallRow.run_id == run.run_id, CallRow.place_in_step == 0)
    assert (following.kind, "kept" in str(read.result)) == (("model", True) if here else ("call", False))
    assert await asked.step(run) == following
