"""Questions: opened by a call, settled once, by whoever is first (T7, T8, T9, I2, I7)."""

import asyncio
import json
from typing import Any

import pytest

from store import control_views, outbox, questions, tasks
from store.database import Database
from store.questions import Settlement
from store.tables_control import QuestionRow
from store.tables_host import OutboxRow
from store.tables_work import AttemptRow, CallRow
from tests.control_acts import (
    ASKS,
    asked,
    begun,
    code_of,
    deliveries_of,
    failed,
    resumed,
    settled,
    stopped,
    task_of,
    within,
)
from tests.control_plane import Plane


async def told(plane: Plane, run_id: str, index: int = 0, step: int = 1) -> Any:
    call = await plane.only(CallRow, CallRow.run_id == run_id, CallRow.step == step, CallRow.place_in_step == index)
    return None if call.result is None else json.loads(call.result)


async def test_a_question_waits_for_the_user_with_a_delivery_of_its_own(plane: Plane) -> None:
    """T7, D1: the task waits, its clock stands still, the question is on its way into the conversation."""
    run = await plane.attempt()
    question = await asked(plane, run, "March", "April")
    task = await task_of(plane, run.task_id)
    [delivery] = await deliveries_of(plane, run.task_id)
    attempt = await plane.only(AttemptRow, AttemptRow.task_id == run.task_id)
    assert (task.state, question.state, question.revision) == ("waiting_user", "open", 1)
    assert (delivery.kind, delivery.subject_id, delivery.state) == ("question", question.question_id, "waiting")
    assert attempt.waiting_since is not None
    assert (await plane.follows(run)).waits_for == question.question_id
    async with plane.database.read(plane.scope) as tx:
        view = await control_views.question_view(tx, question, delivery)
    assert view["options"] == [{"id": "option_1", "label": "March"}, {"id": "option_2", "label": "April"}]
    assert (view["allow_text"], view["message_seq"], view["session_id"]) == (True, None, None)


@pytest.mark.parametrize(
    ("said", "words"), [({"option_id": "option_2"}, "April"), ({"text": "In May, please."}, "In May, please.")]
)
async def test_an_answer_lets_the_same_attempt_go_on(plane: Plane, said: dict[str, str], words: str) -> None:
    """T7, T9: by option or in words; the executor is told the words, the attempt's workflow to look."""
    run = await plane.attempt()
    question = await asked(plane, run, "March", "April")
    receipt = await settled(plane, question, **said)
    row = await plane.only(QuestionRow)
    assert (row.state, row.answer, row.revision, row.answered_by) == ("answered", words, 2, "owner")
    assert (receipt.state, receipt.task_id, receipt.subject_id) == ("done", run.task_id, question.question_id)
    assert (await task_of(plane, run.task_id)).state == "running"
    assert await told(plane, run.run_id) == {"answer": words}
    assert (await plane.follows(run)).kind == "model"
    attempt = await plane.only(AttemptRow, AttemptRow.task_id == run.task_id)
    assert (attempt.attempt, attempt.waiting_since) == (1, None)
    looks = await plane.rows(OutboxRow, OutboxRow.kind == outbox.ATTEMPT_LOOK)
    assert [entry.subject_id for entry in looks] == [run.run_id]


async def test_a_cancelled_question_is_told_to_the_executor_which_goes_on(plane: Plane) -> None:
    """T9: `question_cancelled`; the task is running again."""
    run = await plane.attempt()
    question = await asked(plane, run)
    await settled(plane, question)
    assert (await plane.only(QuestionRow)).state == "cancelled"
    assert (await told(plane, run.run_id))["error"]["code"] == "question_cancelled"
    assert (await task_of(plane, run.task_id)).state == "running"


async def test_nothing_of_the_step_gets_around_an_open_question(plane: Plane) -> None:
    """T8: every further call of the step that asked is refused, and so is a result from anywhere else."""
    run = await plane.attempt()
    calls = (ASKS, ("submit_result", {"summary": "early"}), ("ask_user", {"question": "And which year?"}))
    question = await asked(plane, run, calls=calls)
    for index in (1, 2):
        assert (await told(plane, run.run_id, index))["error"]["code"] == "question_pending"
    assert await code_of(plane.succeed(run)) == "question_pending"
    await plane.step(run, "", ASKS, number=2)
    again = within(plane, lambda tx: questions.ask(tx, run, 2, 0, "And which year?", ()))
    assert await code_of(again) == "question_pending"
    assert (await plane.only(QuestionRow)).question_id == question.question_id
    await settled(plane, question, text="March")
    assert (await plane.succeed(run)).kind == "result"


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"text": "March", "revision": 2}, "revision_conflict"),
    ({"revision": 7}, "revision_conflict"),
    ({"option_id": "option_3"}, "invalid_params"),
    ({"option_id": "option_1", "text": "March"}, "invalid_params"),
    ({"text": ""}, "invalid_params"),
    ({"text": "x" * 64_001}, "invalid_params"),
    ({"text": "a\x00b"}, "invalid_params"),
]


@pytest.mark.parametrize(("said", "code"), WRONG)
async def test_a_wrong_answer_gets_its_code_and_changes_nothing(plane: Plane, said: dict[str, Any], code: str) -> None:
    """T9, api.md: no receipt is kept, the question stays open."""
    run = await plane.attempt()
    question = await asked(plane, run, "March", "April")
    assert await code_of(settled(plane, question, "answer", **said)) == code
    row = await plane.only(QuestionRow)
    assert (row.state, row.revision, row.answer) == ("open", 1, None)
    assert await told(plane, run.run_id) is None
    await settled(plane, question, "answer", option_id="option_1")


async def test_the_same_answer_gets_its_receipt_and_another_one_is_late(plane: Plane) -> None:
    """T9, I2: the same request id has no second effect; other content under it is a conflict."""
    run = await plane.attempt()
    question = await asked(plane, run)
    first = await settled(plane, question, "answer", text="March")
    again = await settled(plane, question, "answer", text="March")
    assert again.accepted_at == first.accepted_at
    assert await code_of(settled(plane, question, "answer", text="April")) == "request_id_conflict"
    assert await code_of(settled(plane, question, "late", text="April")) == "question_closed"
    assert await code_of(settled(plane, question, "cancel")) == "question_closed"
    assert (await plane.only(QuestionRow)).answer == "March"


async def test_an_answer_by_talking_keeps_the_message_it_came_from(plane: Plane) -> None:
    """T9: provenance; the same call again changes nothing (I2)."""
    run = await plane.attempt()
    question = await asked(plane, run)
    for _ in range(2):
        row = await within(
            plane,
            lambda tx: questions.answer_from_conversation(
                tx, question.question_id, "March", request_id="call:1", principal="owner", source=("session", 7)
            ),
        )
        assert (row.answer, row.source_session_id, row.source_seq) == ("March", "session", 7)


async def test_answer_cancel_stop_and_failure_have_one_winner(plane: Plane, prepared_url: str) -> None:
    """T9, S10: whoever commits first; all losers are refused, and the task agrees with the question."""
    databases = [Database(prepared_url) for _ in range(4)]
    planes = [Plane(database, plane.scope, plane.main_session_id) for database in databases]
    for number in range(4):
        run = await plane.attempt()
        question = await asked(plane, run)
        racers = {
            "answered": settled(planes[0], question, f"answer-{number}", text="March"),
            "cancelled": settled(planes[1], question, f"cancel-{number}"),
            "stopping": stopped(planes[2], run.task_id, f"stop-{number}"),
            "failed": failed(planes[3], run, "turn_failed"),
        }
        names = [*racers][number:] + [*racers][:number]
        codes = dict(zip(names, await asyncio.gather(*(code_of(racers[name]) for name in names)), strict=True))
        row = await plane.only(QuestionRow, QuestionRow.question_id == question.question_id)
        winners = [name for name in ("answered", "cancelled") if codes[name] == ""]
        assert winners == ([row.state] if row.state != "closed" else [])
        assert {codes["answered"], codes["cancelled"]} <= {"", "question_closed"}
        assert codes[(await task_of(plane, run.task_id)).state] == ""
        assert row.revision == 2
    for database in databases:
        await database.close()


@pytest.mark.parametrize("end", ["stop", "failure"])
async def test_the_attempts_end_closes_its_question(plane: Plane, end: str) -> None:
    """T9, S2: an answer that comes later is told so; a new requirement asks by itself."""
    run = await plane.attempt()
    question = await asked(plane, run)
    await (stopped(plane, run.task_id) if end == "stop" else failed(plane, run))
    assert (await plane.only(QuestionRow)).state == "closed"
    assert await code_of(settled(plane, question, text="March")) == "question_closed"
    assert (await told(plane, run.run_id))["error"]["code"] == "question_closed"
    assert (await task_of(plane, run.task_id)).state == ("stopping" if end == "stop" else "failed")


async def test_an_attempt_that_is_not_current_cannot_ask(plane: Plane) -> None:
    """T5, I7: what arrives late from an earlier requirement changes nothing."""
    run = await plane.attempt()
    await failed(plane, run)
    await plane.step(run, "", ASKS)
    assert await code_of(within(plane, lambda tx: questions.ask(tx, run, 1, 0, "?", ()))) == "stale_result"
    await resumed(plane, run.task_id)
    again = await begun(plane, run.task_id)
    assert await code_of(within(plane, lambda tx: questions.ask(tx, run, 1, 0, "?", ()))) == "stale_result"
    assert (await task_of(plane, run.task_id)).state == "running"
    await asked(plane, again)


async def test_pages_of_questions_are_of_this_space_alone(plane: Plane, other: Plane) -> None:
    """api.md, P1, I8: keyset pages, newest first; a foreign question is not found."""
    made = [await asked(plane, await plane.attempt()) for _ in range(3)]
    foreign = await asked(other, await other.attempt())
    await settled(plane, made[0], text="March")
    async with plane.database.read(plane.scope) as tx:
        first = await control_views.question_page(tx, None, 2, None)
        second = await control_views.question_page(tx, None, 2, first["next_cursor"])
        opened = await control_views.question_page(tx, "open", 10, None)
    ids = [question.question_id for question in reversed(made)]
    assert [item["question_id"] for item in first["items"] + second["items"]] == ids
    assert second["next_cursor"] is None
    assert [item["question_id"] for item in opened["items"]] == ids[:2]
    wanted = Settlement(foreign.question_id, 1, "foreign", text="March")
    assert await code_of(within(plane, lambda tx: questions.settle(tx, wanted, "owner"))) == "not_found"


async def test_an_answered_question_of_a_stopping_task_moves_nothing(plane: Plane) -> None:
    """I7: only a task that waits for the user goes on by an answer."""
    run = await plane.attempt()
    await asked(plane, run)
    await stopped(plane, run.task_id)
    assert await code_of(within(plane, lambda tx: tasks.fail(tx, run, "turn_failed"))) == "task_stopping"
    assert (await task_of(plane, run.task_id)).state == "stopping"
