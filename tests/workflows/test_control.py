"""Questions, stops, resume, retry and sub-tasks with real workflows (T7-T13, S1-S12, D5)."""

import asyncio
import json
from typing import Any

from sqlalchemy import select

from store import control_views, delivery_retries, questions, resumes, stops
from store.questions import Settlement
from store.tables_work import DeliveryRow
from store.turn_stops import stop_turn
from store.turns import turn_row
from tests.workflows.rig import Rig
from tests.workflows.test_effects_of_runs import delegate, write

SUBMIT = '[[then]][[tool:submit_result {"summary":"done"}]]'


def ask(question: str, *options: str) -> str:
    """The directive that makes an executor ask."""
    return f"[[tool:ask_user {json.dumps({'question': question, 'options': list(options)})}]]"


async def open_question(rig: Rig) -> dict[str, Any]:
    """Wait for an open question."""
    for _ in range(1500):
        async with rig.parts.database.read(rig.scope) as tx:
            page = await control_views.question_page(tx, "open", 10, None)
        if page["items"]:
            return dict(page["items"][0])
        await asyncio.sleep(0.02)
    raise AssertionError("nobody asked")


async def stop(rig: Rig, task_id: str, request_id: str = "stop-1") -> str:
    """Accept a stop."""
    async with rig.parts.database.write(rig.scope) as tx:
        _receipt, intent = await stops.accept_stop(tx, task_id, request_id, "owner")
    rig.pulse.ring()
    return intent.intent_id


async def until_done(rig: Rig, intent_id: str) -> dict[str, Any]:
    """Wait for a stop's end."""
    view: dict[str, Any] = {}
    for _ in range(1500):
        async with rig.parts.database.read(rig.scope) as tx:
            view = await control_views.intent_view(tx, await stops.intent_row(tx, intent_id))
        if view["state"] == "done":
            return view
        await asyncio.sleep(0.02)
    raise AssertionError(f"the stop is still {view}")


async def the_task(rig: Rig, **wanted: object) -> dict[str, Any]:
    """Wait for a task with these fields."""
    for _ in range(1500):
        for task in await rig.tasks():
            if all(task.get(key) == value for key, value in wanted.items()):
                return task
        await asyncio.sleep(0.02)
    raise AssertionError(f"no task with {wanted}: {await rig.tasks()}")


async def test_a_question_is_delivered_and_its_answer_lets_the_same_attempt_go_on(rig: Rig) -> None:
    """T7, T8, D9: the question has its own delivery; a result in the same step cannot complete around it."""
    both = ask("Which month?", "March", "April") + '[[tool:submit_result {"summary":"early"}]]'
    await rig.send(delegate("Ask", both + SUBMIT))
    question = await open_question(rig)
    delivered = await rig.until_message(origin="delivery")
    assert delivered["delivery"]["kind"] == "question"
    assert delivered["text"] == "echo: Which month?"
    task = await the_task(rig, state="waiting_user")
    answer = Settlement(str(question["question_id"]), int(str(question["revision"])), "answer-1", option_id="option_1")
    async with rig.parts.database.write(rig.scope) as tx:
        await questions.settle(tx, answer, "owner")
    rig.pulse.ring()
    done = await rig.until_task(str(task["task_id"]), "completed")
    assert (done["result"]["summary"], done["attempt"], done["requirement_version"]) == ("done", 1, 1)


async def test_the_main_agent_answers_with_what_the_user_said(rig: Rig) -> None:
    """T9: an answer by talking; the message is its provenance."""
    await rig.send(delegate("Ask", ask("Which month?") + SUBMIT))
    question = await open_question(rig)
    said = {"question_id": question["question_id"], "text": "March, please"}
    receipt = await rig.send(f"[[tool:answer_question {json.dumps(said)}]][[then]][[say:passed on]]")
    await rig.until_message(role="assistant", turn_id=receipt.turn_id)
    await the_task(rig, state="completed")
    async with rig.parts.database.read(rig.scope) as tx:
        row = await questions.question_row(tx, str(question["question_id"]))
        assert (row.answer, row.source_seq) == ("March, please", receipt.message_seq)


async def test_a_hanging_model_is_let_go_of_by_a_stop(rig: Rig) -> None:
    """S1-S3, S11: the intent is done only when nothing runs; the task is stopped, nothing is delivered."""
    await rig.send(delegate("Hang", "[[hang:60]][[say:late]]"))
    task = await the_task(rig, state="running")
    intent_id = await stop(rig, str(task["task_id"]))
    assert (await the_task(rig, task_id=task["task_id"]))["state"] in ("stopping", "stopped")
    view = await until_done(rig, intent_id)
    assert (view["outcome"], view["unsettled"]) == ("stopped", [])
    stopped = await the_task(rig, task_id=task["task_id"], state="stopped")
    assert stopped["deliveries"] == []
    assert await stop(rig, str(task["task_id"]), "stop-2") == intent_id


async def test_a_stop_withdraws_the_card_and_the_file_stays_away(rig: Rig) -> None:
    """S1, S6, E10: a card of a stopped task is void."""
    await rig.send(delegate("Write", write("a.txt", "hello") + SUBMIT))
    card = await rig.card(kind="file")
    view = await until_done(rig, await stop(rig, str(card["task_id"])))
    assert view["outcome"] == "stopped"
    assert (await rig.effect(card["effect_id"]))["state"] == "withdrawn"
    assert list(rig.parts.files.root.iterdir()) == []


async def test_a_stop_covers_descendants_and_nothing_else(rig: Rig) -> None:
    """S2, T13: the sub-task that hangs is stopped with its parent; another task goes on."""
    child = {"title": "Child", "instructions": "[[hang:60]][[say:late]]"}
    await rig.send(delegate("Parent", f"[[tool:delegate_task {json.dumps(child)}]]" + SUBMIT))
    await the_task(rig, title="Child", state="running")
    await rig.send(delegate("Other", ask("Still there?") + SUBMIT))
    other = await the_task(rig, title="Other", state="waiting_user")
    parent = await the_task(rig, title="Parent")
    view = await until_done(rig, await stop(rig, str(parent["task_id"])))
    assert len(view["covered"]) == 2
    assert (await the_task(rig, title="Child"))["state"] == "stopped"
    assert (await the_task(rig, title="Parent"))["state"] == "stopped"
    assert (await the_task(rig, title="Other"))["state"] == other["state"]


async def test_a_parent_sees_its_sub_tasks_result_and_the_conversation_does_not(rig: Rig) -> None:
    """T13: the result is the answer of the call that delegated."""
    child = {"title": "Child", "instructions": '[[tool:submit_result {"summary":"seven"}]]'}
    await rig.send(delegate("Parent", f"[[tool:delegate_task {json.dumps(child)}]]" + SUBMIT))
    await rig.until_message(origin="delivery")
    assert [m["text"] for m in await rig.messages() if m["origin"] == "delivery"] == ["echo: done"]
    assert (await the_task(rig, title="Child"))["state"] == "completed"


async def test_a_stopped_task_is_resumed_as_a_new_requirement(rig: Rig) -> None:
    """T11: requirement version 2 with a new attempt; its result is delivered under that version."""
    await rig.send(delegate("Hang", "[[hang:60]][[say:late]]"))
    task = await the_task(rig, state="running")
    await until_done(rig, await stop(rig, str(task["task_id"])))
    wanted = resumes.Resume(str(task["task_id"]), "resume-1", instructions='[[tool:submit_result {"summary":"now"}]]')
    async with rig.parts.database.write(rig.scope) as tx:
        await resumes.resume_task(tx, wanted, "owner")
    rig.pulse.ring()
    delivered = await rig.until_message(origin="delivery")
    assert delivered["text"] == "echo: now"
    done = await the_task(rig, state="completed")
    assert (done["requirement_version"], done["attempt"]) == (2, 1)


async def until_delivery(rig: Rig, **wanted: object) -> DeliveryRow:
    """Wait for the one delivery to have these fields."""
    for _ in range(1500):
        async with rig.parts.database.read(rig.scope) as tx:
            row = (await tx.session.scalars(select(DeliveryRow))).first()
        if row is not None and all(getattr(row, key) == value for key, value in wanted.items()):
            return row
        await asyncio.sleep(0.02)
    raise AssertionError(f"no delivery with {wanted}")


async def test_a_stopped_delivery_is_retried_without_running_the_executor_again(rig: Rig) -> None:
    """D3, D5, S8: a stopped delivery turn stores nothing; the retry brings the same result, once."""
    result = {"summary": "[[delay:1500]][[say:told slowly]]"}
    await rig.send(delegate("Sum", f"[[tool:submit_result {json.dumps(result)}]]"))
    turn_id = (await until_delivery(rig, state="submitted")).turn_id or ""
    for _ in range(1500):
        async with rig.parts.database.read(rig.scope) as tx:
            if (await turn_row(tx, turn_id)).state == "running":
                break
        await asyncio.sleep(0.02)
    async with rig.parts.database.write(rig.scope) as tx:
        await stop_turn(tx, rig.session_id, turn_id, "stop-turn-1", "owner")
    rig.pulse.ring()
    failed = await until_delivery(rig, state="failed")
    assert failed.reason == "turn_stopped"
    assert [m for m in await rig.messages() if m["origin"] == "delivery"] == []
    async with rig.parts.database.write(rig.scope) as tx:
        await delivery_retries.retry_delivery(tx, failed.delivery_id, "retry-1", "owner")
    rig.pulse.ring()
    await until_delivery(rig, state="delivered")
    assert [m["text"] for m in await rig.messages() if m["origin"] == "delivery"] == ["told slowly"]
    (task,) = await rig.tasks()
    assert task["attempt"] == 1
