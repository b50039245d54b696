"""Questions, stops, resumes and retries over the wire (T9, T11, D5, S1-S7, I2)."""

from typing import Any

import pytest

from store.stops import intent_row
from tests.control_acts import asked, failed, finished, let_go, turn_failed
from tests.control_plane import Plane
from tests.host.conftest import Host, Json, Rpc

INTENT_FIELDS = {"intent_id", "task_id", "state", "covered", "unsettled"}
QUESTION_FIELDS = {
    "question_id", "revision", "task_id", "session_id", "message_seq", "text", "options", "allow_text", "created_at",
    "state",
}  # fmt: skip


@pytest.fixture
def plane(host: Host) -> Plane:
    """The host's own space, with runs that nobody works on."""
    return Plane(host.services.database, host.services.scope, host.session)


async def code(rpc: Rpc, method: str, given: Json) -> str:
    """The code that refuses a method of the host's own."""
    answer = await rpc.request(method, given)
    assert "error" in answer, answer
    return str(answer["error"]["data"]["code"])


async def test_a_question_is_listed_answered_once_and_told_to_everybody(host: Host, plane: Plane) -> None:
    """T9, I2: exactly what api.md shows; a repeated request gets the first receipt."""
    run = await plane.attempt()
    question = await asked(plane, run, "March", "April")
    async with host.rpc() as rpc:
        [listed] = (await rpc.request("user-question/list", {"state": "open"}))["result"]["items"]
        assert set(listed) == QUESTION_FIELDS
        assert listed["options"] == [{"id": "option_1", "label": "March"}, {"id": "option_2", "label": "April"}]
        given = {"question_id": question.question_id, "revision": 1, "answer": {"option_id": "option_2"}}
        first = (await rpc.request("user-question/respond", given | {"request_id": "answer"}))["result"]["receipt"]
        assert (first["request_id"], first["state"], first["task_id"]) == ("answer", "done", run.task_id)
        again = (await rpc.request("user-question/respond", given | {"request_id": "answer"}))["result"]["receipt"]
        assert again == first
        assert (await rpc.result("agents.receipt", {"request_id": "answer"}))["receipt"] == first
        assert await code(rpc, "user-question/respond", given | {"request_id": "late"}) == "question_closed"
        cancel = {"question_id": question.question_id, "revision": 2, "request_id": "answer"}
        assert await code(rpc, "user-question/cancel", cancel) == "request_id_conflict"
        assert (await rpc.request("user-question/list", {"state": "open"}))["result"]["items"] == []
        [seen] = (await rpc.request("user-question/list"))["result"]["items"]
        assert (seen["state"], seen["revision"], seen["answer"]) == ("answered", 2, "April")
        [shown] = (await rpc.result("agents.tasks.get", {"task_id": run.task_id}))["questions"]
        assert shown == seen


async def test_a_question_is_cancelled(host: Host, plane: Plane) -> None:
    """T9: without an answer; the task goes on."""
    run = await plane.attempt()
    question = await asked(plane, run)
    async with host.rpc() as rpc:
        given = {"question_id": question.question_id, "revision": 1, "request_id": "cancel"}
        assert (await rpc.request("user-question/cancel", given))["result"]["receipt"]["state"] == "done"
        assert (await rpc.result("agents.tasks.get", {"task_id": run.task_id}))["task"]["state"] == "running"


WRONG_ANSWERS: list[tuple[Json, str]] = [
    ({"revision": 2}, "revision_conflict"),
    ({"revision": 0}, "invalid_params"),
    ({"revision": "1"}, "invalid_params"),
    ({"question_id": "question_none"}, "not_found"),
    ({"answer": {}}, "invalid_params"),
    ({"answer": {"option_id": "option_1", "text": "March"}}, "invalid_params"),
    ({"answer": {"option_id": "option_9"}}, "invalid_params"),
    ({"answer": {"text": ""}}, "invalid_params"),
    ({"answer": {"text": "x" * 64_001}}, "invalid_params"),
    ({"answer": {"words": "March"}}, "invalid_params"),
    ({"answer": "March"}, "invalid_params"),
    ({"answer": None}, "invalid_params"),
    ({"request_id": ""}, "invalid_params"),
    ({"request_id": "a b"}, "invalid_params"),
    ({"extra": 1}, "invalid_params"),
]


@pytest.mark.parametrize(("change", "expected"), WRONG_ANSWERS)
async def test_a_wrong_answer_gets_its_code(host: Host, plane: Plane, change: Json, expected: str) -> None:
    """T9, api.md: each wrong field has its own answer, and the question stays open; never is it taken for a cancel."""
    question = await asked(plane, await plane.attempt(), "March")
    given = {"question_id": question.question_id, "revision": 1, "answer": {"text": "March"}, "request_id": "answer"}
    async with host.rpc() as rpc:
        assert await code(rpc, "user-question/respond", given | change) == expected
        assert len((await rpc.request("user-question/list", {"state": "open"}))["result"]["items"]) == 1
        assert await rpc.code("agents.receipt", {"request_id": "answer"}) == "not_found"


async def test_a_stop_answers_with_its_intent_and_is_read_again(host: Host, plane: Plane) -> None:
    """S1, S3, S7: accepted at once without Temporal; the same and a second request join it."""
    run = await plane.attempt()
    async with host.rpc() as rpc:
        stop = {"task_id": run.task_id}
        answer = await rpc.result("agents.tasks.stop", stop, request_id="stop")
        intent = answer["intent"]
        assert set(intent) == INTENT_FIELDS
        assert (intent["state"], intent["covered"]) == ("accepted", [run.task_id])
        assert answer["receipt"]["intent_id"] == intent["intent_id"]
        assert await rpc.result("agents.tasks.stop", stop, request_id="stop") == answer
        joined = await rpc.result("agents.tasks.stop", stop, request_id="stop-2")
        assert joined["intent"]["intent_id"] == intent["intent_id"]
        assert (await rpc.result("agents.tasks.get", stop))["task"]["state"] == "stopping"
        assert await rpc.code("agents.tasks.resume", stop, request_id="resume") == "intent_active"
        await let_go(plane, run)
        async with plane.database.read(plane.scope) as tx:
            row = await intent_row(tx, intent["intent_id"])
        await finished(plane, row)
        done = (await rpc.result("agents.intents.get", {"intent_id": intent["intent_id"]}))["intent"]
        assert (done["state"], done["outcome"], done["unsettled"]) == ("done", "stopped", [])
        detail = await rpc.result("agents.tasks.get", stop)
        assert (detail["task"]["state"], detail["intents"]) == ("stopped", [done])


async def test_an_ended_task_is_resumed_once(host: Host, plane: Plane) -> None:
    """T11, I2: both versions are in the detail; the same request reads its receipt."""
    run = await plane.attempt()
    await failed(plane, run)
    async with host.rpc() as rpc:
        wanted = {"task_id": run.task_id, "instructions": "Try it differently."}
        first = await rpc.result("agents.tasks.resume", wanted, request_id="resume")
        task = first["task"]
        assert (task["state"], task["requirement_version"], task["attempt"]) == ("accepted", 2, 1)
        again = await rpc.result("agents.tasks.resume", wanted, request_id="resume")
        assert again["receipt"] == first["receipt"]
        other = {"task_id": run.task_id}
        assert await rpc.code("agents.tasks.resume", other, request_id="resume") == "request_id_conflict"
        assert await rpc.code("agents.tasks.resume", wanted, request_id="resume-2") == "task_active"
        detail = await rpc.result("agents.tasks.get", {"task_id": run.task_id})
        assert [row["version"] for row in detail["requirements"]] == [1, 2]
        assert [row["state"] for row in detail["attempts"]] == ["failed", "running"]
        assert len({row["session_id"] for row in detail["attempts"]}) == 2


async def test_a_failed_delivery_is_retried_once(host: Host, plane: Plane) -> None:
    """D5, I2: under its own id; a second request finds it not failed."""
    turn = await plane.delivery_turn()
    await turn_failed(plane, turn)
    async with host.rpc() as rpc:
        [task] = (await rpc.result("agents.tasks.list"))["items"]
        [delivery] = task["deliveries"]
        assert (delivery["state"], delivery["reason"]) == ("failed", "model_unavailable")
        wanted = {"delivery_id": delivery["delivery_id"]}
        answer = await rpc.result("agents.tasks.retry_delivery", wanted, request_id="retry")
        assert (answer["delivery"]["state"], answer["receipt"]["delivery_id"]) == ("submitted", delivery["delivery_id"])
        assert await rpc.result("agents.tasks.retry_delivery", wanted, request_id="retry") == answer
        assert await rpc.code("agents.tasks.retry_delivery", wanted, request_id="retry-2") == "delivery_not_failed"


WRONG: list[tuple[str, Json, Json, str]] = [
    ("agents.tasks.stop", {"task_id": "task_none"}, {"request_id": "r"}, "not_found"),
    ("agents.tasks.stop", {"task_id": 1}, {"request_id": "r"}, "invalid_params"),
    ("agents.tasks.stop", {}, {"request_id": "r"}, "invalid_params"),
    ("agents.tasks.stop", {"task_id": "task_none", "force": True}, {"request_id": "r"}, "invalid_params"),
    ("agents.tasks.stop", {"task_id": "task_none"}, {}, "invalid_params"),
    ("agents.tasks.resume", {"task_id": "task_none"}, {"request_id": "r"}, "not_found"),
    ("agents.tasks.resume", {"task_id": "task_none"}, {}, "invalid_params"),
    ("agents.tasks.resume", {"task_id": "task_none", "permission_mode": "all"}, {"request_id": "r"}, "invalid_params"),
    ("agents.tasks.resume", {"task_id": "task_none", "attempt": 2}, {"request_id": "r"}, "invalid_params"),
    (
        "agents.tasks.resume",
        {"task_id": "task_none"},
        {"request_id": "r", "user_input": {"text": "x"}},
        "invalid_params",
    ),
    ("agents.tasks.retry_delivery", {"delivery_id": "delivery_none"}, {"request_id": "r"}, "not_found"),
    ("agents.tasks.retry_delivery", {"delivery_id": "delivery_none"}, {}, "invalid_params"),
    ("agents.tasks.retry_delivery", {"task_id": "task_none"}, {"request_id": "r"}, "invalid_params"),
    ("agents.intents.get", {"intent_id": "intent_none"}, {}, "not_found"),
    ("agents.intents.get", {}, {}, "invalid_params"),
]


@pytest.mark.parametrize(("method", "given", "envelope", "expected"), WRONG)
async def test_a_wrong_call_gets_its_code(
    shared_host: Host, method: str, given: Json, envelope: dict[str, Any], expected: str
) -> None:
    """api.md: absent ids, missing request ids, unknown fields and wrong types; nothing is accepted."""
    async with shared_host.rpc() as rpc:
        assert await rpc.code(method, given, **envelope) == expected
        assert await rpc.code("agents.receipt", {"request_id": "r"}) == "not_found"
