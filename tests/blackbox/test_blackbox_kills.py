"""SIGKILL of each process at each point of the main job: everything comes to rest, nothing is lost or doubled.

Each case first shows from outside that its point was reached, so none passes by missing it. The hard point is the one
between claim and outcome of a file effect: the file to be replaced is large and sparse, so looking at it takes a while.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import pytest

from tests.blackbox.conftest import StartSteward
from tests.blackbox.instance import PROCESSES, Instance
from tests.blackbox.rpc_client import Disconnected, Json, RpcClient
from tests.blackbox.scripts import delay, delegate, hang, say, steps, tool
from tests.blackbox.work import check_invariants, decide, look, until_at_rest, until_card, until_reply
from tests.fake_model_server import FakeModelServer

LARGE_BYTES = 600_000_000
WORDS = " ".join(f"word{number}" for number in range(40))


class Case:
    """One kill: the process, a name of its own, and what has been sent so far."""

    def __init__(self, steward: Instance, models: FakeModelServer, process: str, point: str) -> None:
        self.steward = steward
        self.models = models
        self.process = process
        self.name = f"{process}-{point}"
        self.receipts: list[Json] = []

    async def send(self, text: str) -> Json:
        """Send an input and keep its receipt."""
        receipt = await self.steward.send(text, f"{self.name}:{len(self.receipts)}")
        self.receipts.append(receipt)
        return receipt

    def kill(self) -> None:
        """End the process without a word."""
        self.steward.kill(self.process)

    def model_is_asked(self, script: str) -> bool:
        """Whether the model is at this moment answering a request with this script."""
        return any(entry["script"] == script and entry["outcome"] == "open" for entry in self.models.log())


async def after_accept(case: Case) -> None:
    """Four inputs are accepted, one of them hands over a task; nothing has been answered."""
    expected = [f"{case.name} answer {number}" for number in range(3)]
    for text in expected:
        await case.send(say(text))
    await case.send(delegate(case.name, tool("submit_result", summary=f"result of {case.name}")))
    receipt = case.receipts[-1]
    read = await case.steward.ask(lambda c: c.call("agents.receipt", {"request_id": receipt["request_id"]}))
    assert read["receipt"]["state"] == "accepted", "the point was missed: all was answered before the kill"
    case.kill()
    seen = await until_at_rest(case.steward, case.receipts)
    texts = [message["text"] for message in seen.messages]
    assert [text for text in texts if text in expected] == expected
    assert texts.count(f"echo: result of {case.name}") == 1


async def during_a_model_step(case: Case) -> None:
    """The executor's model has been asked and says nothing yet."""
    slow = hang(4) + tool("submit_result", summary=f"result of {case.name}")
    await case.send(delegate(case.name, slow))
    await case.steward.until(lambda: case.model_is_asked(slow), "the executor's model was asked")
    case.kill()
    await case.send(say(f"{case.name} goes on"))
    seen = await until_at_rest(case.steward, case.receipts)
    texts = [message["text"] for message in seen.messages]
    assert texts.count(f"echo: result of {case.name}") == 1
    assert texts.count(f"{case.name} goes on") == 1
    detail = await case.steward.ask(
        lambda c: c.call("agents.tasks.get", {"task_id": seen.task(case.name)["task_id"]})
    )
    assert [(each["attempt"], each["state"]) for each in detail["attempts"]] == [(1, "succeeded")], "T10"


async def between_claim_and_outcome(case: Case) -> None:
    """The change was allowed, and its dispatch has begun and not ended."""
    path = f"{case.name}.bin"
    with (case.steward.files / path).open("wb") as large:
        large.truncate(LARGE_BYTES)
    new = f"new content of {case.name}"
    change = steps(
        tool("write_file", path=path, content=new), tool("submit_result", summary=f"result of {case.name}")
    )
    receipt = await case.send(delegate(case.name, change))
    await until_reply(case.steward, receipt)
    task = (await case.steward.ask(look)).task(case.name)
    await decide(case.steward, await until_card(case.steward, task_id=task["task_id"]))

    async def is_claimed() -> bool:
        # A look at everything would take longer than the dispatch that is to be caught.
        effects = await case.steward.ask(lambda client: client.listed("agents.effects.list"))
        (effect,) = [each for each in effects if each.get("task_id") == task["task_id"]]
        assert effect["state"] in ("waiting_decision", "claimed", "started"), "the point was missed"
        return effect["state"] in ("claimed", "started")

    await case.steward.until(is_claimed, "the effect is claimed")
    case.kill()
    seen = await until_at_rest(case.steward, case.receipts)
    written = case.steward.files / path
    is_new = written.stat().st_size == len(new) and written.read_text() == new
    effect = seen.effect_of(task)
    trail = [(entry["step"], entry["verdict"]) for entry in effect["trail"]]
    assert sum(step == "start" for step, _ in trail) <= 1, "I4: nothing is dispatched twice"
    assert effect["state"] in {True: ("succeeded", "unknown"), False: ("failed", "unknown")}[is_new]
    assert is_new or written.stat().st_size == LARGE_BYTES, "E4: the old file or the new one, nothing else"
    assert not [name for name in case.steward.files.iterdir() if name.name.startswith(".")], "no temporary file is left"
    assert [message["text"] for message in seen.messages].count(f"echo: result of {case.name}") == 1
    written.unlink()


async def while_a_person_is_waited_for(case: Case) -> None:
    """An effect waits for its grant, and after the next death for its card (A10, E10)."""
    path = f"{case.name}.txt"
    change = steps(
        tool("write_file", path=path, content="allowed"), tool("submit_result", summary=f"result of {case.name}")
    )
    receipt = await case.send(delegate(case.name, change))
    await until_reply(case.steward, receipt)

    async def lacks_authority() -> bool:
        return bool((await case.steward.ask(look)).task(case.name)["state"] == "waiting_authorization")

    await case.steward.until(lacks_authority, "the task waits for authority")
    case.kill()
    task = (await case.steward.ask(look)).task(case.name)
    assert task["grant"] is None, "A11: nothing grants by itself"
    card = await until_card(case.steward, task_id=task["task_id"])
    await case.steward.until(lambda: case.steward.pid(case.process) is not None, f"{case.process} runs again")
    case.kill()
    assert not (case.steward.files / path).exists()
    await decide(case.steward, card)
    seen = await until_at_rest(case.steward, case.receipts)
    assert (case.steward.files / path).read_text() == "allowed"
    effect = seen.effect_of(task)
    assert [entry["step"] for entry in effect["trail"]].count("start") == 1
    assert effect["state"] == "succeeded"
    assert [message["text"] for message in seen.messages].count(f"echo: result of {case.name}") == 1
    kinds = [delivery["kind"] for delivery in seen.task(case.name)["deliveries"]]
    assert kinds == ["authorization", "result"], "asked once, told once"


async def between_result_and_delivery(case: Case) -> None:
    """The task is completed; its delivery is being worded and is not stored."""
    await case.send(delegate(case.name, tool("submit_result", summary=f"{delay(60)}{say(f'{case.name} {WORDS}')}")))

    async def is_under_way() -> bool:
        tasks = [task for task in (await case.steward.ask(look)).tasks if task["title"] == case.name]
        if not tasks or tasks[0]["state"] != "completed":
            return False
        assert tasks[0]["deliveries"][0]["state"] in ("waiting", "submitted"), "the point was missed"
        return True

    await case.steward.until(is_under_way, "the task is completed and not delivered")
    case.kill()
    await case.send(say(f"{case.name} goes on"))
    seen = await until_at_rest(case.steward, case.receipts)
    (delivered,) = [message for message in seen.messages if message["text"] == f"{case.name} {WORDS}"]
    assert delivered["delivery"]["task_id"] == seen.task(case.name)["task_id"]


async def during_streaming(case: Case) -> None:
    """A client has seen some words of a reply, and more are coming."""
    text = f"{case.name} {WORDS}"
    async with case.steward.client() as watching:
        receipt = await case.send(delay(60) + say(text))
        turn_id = receipt["turn_id"]
        await case.steward.until(lambda: watching.live_text(turn_id).count("word") >= 3, "the reply is streamed")
        assert "word39" not in watching.live_text(turn_id), "the point was missed"
        case.kill()
        if case.process == "host":
            await watching.socket.wait_closed()
            shown = await _follow_on_a_new_connection(case, turn_id)
        else:
            await until_at_rest(case.steward, case.receipts)
            shown = watching.live_text(turn_id)
    seen = await until_at_rest(case.steward, case.receipts)
    assert [message["text"] for message in seen.replies_to(turn_id)] == [text]
    assert shown == text, "C4: what a page shows is never doubled and has no hole"


async def _follow_on_a_new_connection(case: Case, turn_id: str) -> str:
    """What a page shows that connects again as soon as it can, until the reply has its end."""
    shown: list[str] = []

    async def follow(client: RpcClient) -> None:
        def ended() -> bool:
            return any(
                event["topic"] == "turn.state" and event["turn_id"] == turn_id and event["state"] == "completed"
                for event in client.events
            )

        await case.steward.until(lambda: ended() or client.socket.close_code is not None, "the reply ended")
        if not ended():
            raise Disconnected
        shown.append(client.live_text(turn_id))

    await case.steward.hang_up()
    await case.steward.ask(follow)
    return shown[-1]


POINTS: Mapping[str, Callable[[Case], Awaitable[None]]] = {
    "accept": after_accept,
    "model-step": during_a_model_step,
    "authority": while_a_person_is_waited_for,
    "claim": between_claim_and_outcome,
    "delivery": between_result_and_delivery,
    "streaming": during_streaming,
}


@pytest.fixture(scope="module")
async def steward(start_steward: StartSteward) -> AsyncIterator[Instance]:
    async with start_steward("killed") as started:
        yield started


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("point", POINTS)
async def test_a_kill_loses_and_doubles_nothing(
    steward: Instance, models: FakeModelServer, process: str, point: str
) -> None:
    """I1, I2, I4, I5, H10, H16, O22, T10, D12, E13, C4: by itself, with no client's help, in any order of deaths."""
    await steward.until(lambda: steward.pid(process) is not None, f"{process} runs")
    case = Case(steward, models, process, point)
    await POINTS[point](case)
    last = await case.send(say(f"{case.name} is over"))
    assert (await until_reply(steward, last))["text"] == f"{case.name} is over"
    seen = await until_at_rest(steward, case.receipts)
    check_invariants(seen, case.receipts)
    for receipt in case.receipts:
        sent = next(message for message in seen.messages if message["seq"] == receipt["message_seq"])
        again = await steward.send(sent["text"], receipt["request_id"])
        assert again == {**receipt, "state": "done"}, "I2"
    assert len(await steward.history()) == len(seen.messages)
