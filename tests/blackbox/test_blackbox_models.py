"""Models that fail, hang, break off, talk nonsense or call what is not there: a clear reply, and the next turn works.

The shared bounds are short here: a model is given up after 2 s of silence, a delivery waits 6 s for its words.
"""

from collections.abc import AsyncIterator

import pytest

from tests.blackbox.conftest import StartSteward
from tests.blackbox.instance import Instance
from tests.blackbox.scripts import delegate, hang, say, steps, tool
from tests.blackbox.work import look, until_at_rest, until_message, until_reply

FAILING = {
    "error-400": "[[error:400 scripted]]",
    "error-401": "[[error:401 scripted]]",
    "error-404": "[[error:404 scripted]]",
    "error-429": "[[error:429 scripted]]",
    "error-500": "[[error:500 scripted]]",
    "error-503": "[[error:503 scripted]]",
    "hangs": hang(30) + say("too late"),
    "hangs-in-the-middle": say("half of") + hang(30) + say("the reply"),
    "drops": "[[drop]]",
    "drops-in-the-middle": say("half of the reply") + "[[drop]]",
    "says-nothing": "[[think:only thoughts]]",
    "fails-after-a-tool": steps(tool("list_tasks"), "[[error:500 scripted]]"),
}
WRONG_CALLS = {
    "unknown-tool": tool("no_such_tool", a=1),
    "tool-of-others": tool("submit_result", summary="not mine"),
    "wrong-types": tool("list_tasks", state=7),
    "unknown-field": tool("get_task", task_id="x", extra=True),
    "absent-task": tool("get_task", task_id="task_x"),
    "outside": tool("read_file", path="../../../etc/passwd"),
    "absolute": tool("read_file", path="/etc/passwd"),
    "state-folder": tool("write_file", path="../state/owner.token", content="x"),
    "foreign-engine": tool("delegate_task", title="t", instructions="i", engine="codex"),
    "foreign-attachment": tool("delegate_task", title="t", instructions="i", attachment_ids=["attachment_x"]),
    "many": tool("list_tasks") * 20,
}


@pytest.fixture(scope="module")
async def steward(start_steward: StartSteward) -> AsyncIterator[Instance]:
    async with start_steward("models", STEWARD_MODEL_TIMEOUT_S="2", STEWARD_DELIVERY_MODEL_WAIT_S="6") as started:
        yield started


@pytest.mark.parametrize("kind", FAILING)
async def test_a_model_that_fails_ends_the_turn_in_words(steward: Instance, kind: str) -> None:
    """O3, C4: the turn is `failed` with one stored reply, its sequence is told; nothing partial is kept; on it goes."""
    async with steward.client() as watching:
        receipt = await watching.send(FAILING[kind], f"failing:{kind}")
        after = await watching.send(say(f"fine after {kind}"), f"after:{kind}")
        reply = await until_reply(steward, receipt)
        assert "language model did not respond" in reply["text"]
        assert (reply["origin"], reply["role"]) == ("reply", "assistant")
        assert (await until_reply(steward, after))["text"] == f"fine after {kind}"
        states = [
            event
            for event in watching.events
            if event["topic"] == "turn.state" and event["turn_id"] == receipt["turn_id"]
        ]
        assert (states[-1]["state"], states[-1]["message_seq"]) == ("failed", reply["seq"])
        read = await watching.call("agents.receipt", {"request_id": receipt["request_id"]})
        assert read["receipt"]["state"] == "done"
        assert len((await look(watching)).replies_to(receipt["turn_id"])) == 1


@pytest.mark.parametrize("kind", WRONG_CALLS)
async def test_a_wrong_call_is_an_answer_to_the_model(steward: Instance, kind: str) -> None:
    """O3, E3, T4, P1: the model is told, and the turn goes on to its reply."""
    before = await steward.ask(look)
    receipt = await steward.send(steps(WRONG_CALLS[kind], say(f"went on: {kind}")), f"wrong:{kind}")
    assert (await until_reply(steward, receipt))["text"] == f"went on: {kind}"
    after = await steward.ask(look)
    assert (len(after.tasks), len(after.cards)) == (len(before.tasks), len(before.cards))
    assert steward.token


@pytest.mark.parametrize("kind", ["error-500", "hangs", "drops"])
async def test_a_task_whose_model_fails_is_a_delivered_failure(steward: Instance, kind: str) -> None:
    """O3, D10, T4: `model_unavailable`, told in the conversation in words."""
    receipt = await steward.send(delegate(f"Fails by {kind}", FAILING[kind]), f"task:{kind}")
    seen = await until_at_rest(steward, [receipt])
    task = seen.task(f"Fails by {kind}")
    assert (task["state"], task["reason"]) == ("failed", "model_unavailable")
    (delivery,) = task["deliveries"]
    message = next(each for each in seen.messages if each["seq"] == delivery["message_seq"])
    assert (delivery["kind"], delivery["state"], message["origin"]) == ("failure", "delivered", "delivery")


async def test_a_result_does_not_wait_for_a_broken_model(steward: Instance) -> None:
    """D4: when no model words it, the stored result is delivered verbatim after one fixed sentence."""
    summary = f"{hang(30)} is the answer"
    receipt = await steward.send(delegate("Verbatim", tool("submit_result", summary=summary)), "verbatim:1")
    await until_reply(steward, receipt)
    delivered = await until_message(steward, origin="delivery", delivery=await _delivery(steward, "Verbatim"))
    assert "Verbatim" in delivered["text"]
    assert summary in delivered["text"]
    last = await steward.send(say("and on"), "verbatim:2")
    assert (await until_reply(steward, last))["text"] == "and on"


async def _delivery(steward: Instance, title: str) -> dict[str, str]:
    found: list[dict[str, str]] = []

    async def there() -> bool:
        task = (await steward.ask(look)).task(title)
        found[:] = [
            {"delivery_id": each["delivery_id"], "kind": each["kind"], "task_id": task["task_id"]}
            for each in task["deliveries"]
        ]
        return bool(found)

    await steward.until(there, "the task has its delivery")
    return found[0]


@pytest.mark.parametrize("kind", ["talks", "wrong-result"])
async def test_an_executor_that_does_not_end_its_task(steward: Instance, kind: str) -> None:
    """T5: reminded once, then failed; a result that cannot be accepted does not complete the task."""
    instructions = {
        "talks": steps(say("hm"), say("well")),
        "wrong-result": steps(tool("submit_result", summary="s", artifacts=["no/such.txt"]), say("hm"), say("well")),
    }[kind]
    receipt = await steward.send(delegate(f"Unended {kind}", instructions), f"unended:{kind}")
    seen = await until_at_rest(steward, [receipt])
    task = seen.task(f"Unended {kind}")
    assert (task["state"], task["reason"]) == ("failed", "no_result_submitted")
