"""What must be true when everything rests, checked from the outside: API, files, Temporal, processes, model server."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import psutil

from tests.blackbox.instance import PROCESSES, Instance
from tests.blackbox.rpc_client import Json, RpcClient
from tests.blackbox.work import SETTLED, TERMINAL
from tests.chaos.checks_effects import check_effects, check_unsettled
from tests.chaos.job import FileChange, Job
from tests.chaos.kills import lives, named
from tests.chaos.ledger import Ledger, named_by
from tests.chaos.line import Stuck
from tests.chaos.stops import check_stopped
from tests.chaos.watch import note_finals
from tests.chaos.world import World

REST_LIMIT_S = 240.0
LET_GO_S = 30


async def rest(world: World) -> None:
    """Wait until nothing is under way any more.

    Raises:
        Stuck: Something never came to rest.
    """
    watch = world.watch
    titles = [title for job in world.jobs for title in job.titles]
    await watch.until(lambda: all(_rests(watch.tasks.get(title)) for title in titles), "all tasks rest", REST_LIMIT_S)
    left = set(world.ledger.accepted)
    for _ in range(int(REST_LIMIT_S / 0.3)):
        for request_id in sorted(left):
            receipt = (await world.line.call("agents.receipt", request_id=request_id))["receipt"]
            if receipt["state"] == "done":
                left.discard(request_id)
        if not left:
            return
        await asyncio.sleep(0.3)
    raise Stuck(f"no end of {sorted(left)}")


def _rests(task: Json | None) -> bool:
    if task is None or task["state"] not in TERMINAL:
        return False
    return all(delivery["state"] in SETTLED and delivery["state"] != "failed" for delivery in task["deliveries"])


async def check_requests(world: World) -> None:
    """I1, I2: each accepted request has its receipt, and made again it has no other one."""
    for request, receipt in list(world.ledger.accepted.values()):
        again = (await world.line.ask(request.make))["receipt"]
        same = named_by(again) == named_by(receipt) and again["state"] == "done"
        world.ledger.expect(same, "doubled", f"{request.request_id}: {receipt} became {again}")


async def check_messages(world: World, base: int) -> tuple[int, list[Json]]:
    """I1, I5: inputs and replies once, no word lost or doubled; the last sequence and the messages."""
    messages = await world.line.ask(lambda client: _messages(client, world.session_id, base))
    ledger = world.ledger
    numbers = [message["seq"] for message in messages]
    ledger.expect(numbers == list(range(base + 1, base + 1 + len(messages))), "broken", f"sequences {numbers}")
    replies = [message for message in messages if message["role"] == "assistant"]
    for turn_id, count in Counter(message["turn_id"] for message in replies).items():
        ledger.expect(count == 1, "doubled", f"{turn_id} has {count} replies")
    for message in replies:
        said = message["text"].split()
        doubled = [word for word, count in Counter(said).items() if ".w" in word and count > 1]
        ledger.expect(not doubled, "doubled", f"message {message['seq']} says twice {doubled[:3]}")
    by_turn = {message["turn_id"]: message for message in replies}
    for request, receipt in ledger.accepted.values():
        if request.method == "agents.send":
            _check_input(ledger, messages, request.envelope["user_input"]["text"], receipt, base)
            _check_reply(world, by_turn.get(receipt["turn_id"]), receipt["turn_id"])
    return base + len(messages), messages


async def _messages(client: RpcClient, session_id: str, base: int) -> list[Json]:
    found: list[Json] = []
    while True:
        after = found[-1]["seq"] if found else base
        page = await client.call("agents.history", {"session_id": session_id, "after_seq": after, "limit": 100})
        found += page["items"]
        if not page["has_more"]:
            return found


def _check_input(ledger: Ledger, messages: list[Json], text: str, receipt: Json, base: int) -> None:
    at = receipt["message_seq"] - base - 1
    stored = messages[at] if 0 <= at < len(messages) else {"turn_id": None, "text": None}
    same = (stored["turn_id"], stored["text"]) == (receipt["turn_id"], text)
    ledger.expect(same, "lost", f"the input {receipt['request_id']} is not where its receipt says")


def _check_reply(world: World, message: Json | None, turn_id: str) -> None:
    wanted = world.replies[turn_id]
    if wanted.may_park:
        return
    if message is None:
        world.ledger.expect(wanted.may_be_cut, "lost", f"{turn_id} has no reply: {wanted.text[:40]}")
    elif message.get("interrupted"):
        cut = wanted.may_be_cut and wanted.text.startswith(message["text"].rstrip())
        world.ledger.expect(cut, "broken", f"{turn_id} is interrupted: {message['text'][:60]}")
    else:
        whole = message["text"] == wanted.text
        world.ledger.expect(whole, "lost", f"{turn_id} says {message['text'][:60]!r}, not {wanted.text[:60]!r}")


async def check_jobs(world: World, messages: list[Json]) -> list[Json]:
    """I4 to I7: each task with its deliveries, effects, questions and stops; the details of all tasks."""
    details = []
    for job in world.jobs:
        for title in job.titles:
            task_id = world.watch.tasks[title]["task_id"]
            detail = await world.line.call("agents.tasks.get", task_id=task_id)
            details.append(detail)
            _check_task(world.ledger, job, detail)
            _check_deliveries(world.ledger, job, detail, messages)
            check_unsettled(world.ledger, detail)
            if title == job.tag:
                check_effects(world, job, title, detail["effects"])
                check_stopped(world, job, detail["effects"])
    return details


def _check_task(ledger: Ledger, job: Job, detail: Json) -> None:
    task, title = detail["task"], detail["task"]["title"]
    note_finals(ledger, task)
    ends = job.ends if title == job.tag else ("completed", "stopped")
    ledger.expect(task["state"] in ends, "broken", f"{title} is {task['state']} ({task.get('reason')}), not {ends}")
    ledger.counts[f"task {task['state']}"] += 1
    for attempt in detail["attempts"]:
        ledger.expect(attempt["state"] != "running", "broken", f"{title}: an attempt runs at rest")
        ledger.expect(attempt["attempt"] == 1, "broken", f"{title}: recovery began another attempt (T10)")
    for question in detail["questions"]:
        ledger.expect(question["state"] != "open", "broken", f"{title}: a question is open at rest")
    for intent in detail["intents"]:
        ledger.expect(intent["state"] == "done", "broken", f"{title}: a stop is {intent['state']} at rest")
        ledger.final(intent.get("outcome", ""), title, intent["intent_id"])


def _check_deliveries(ledger: Ledger, job: Job, detail: Json, messages: list[Json]) -> None:
    task, title = detail["task"], detail["task"]["title"]
    results = [each for each in detail["deliveries"] if each["kind"] in ("result", "failure")]
    wanted = int(task["state"] in ("completed", "failed") and task["parent_task_id"] is None)
    current = sum(each["requirement_version"] == task["requirement_version"] for each in results)
    ledger.expect(current >= wanted, "lost", f"{title}: its result has no delivery")
    ledger.expect(current <= wanted, "doubled", f"{title}: {current} deliveries of one result")
    shown: dict[str, Json] = {}
    for message in messages:
        if message["origin"] == "delivery" and message["delivery"].get("task_id") == task["task_id"]:
            delivery_id = message["delivery"]["delivery_id"]
            ledger.expect(delivery_id not in shown, "doubled", f"{title}: {delivery_id} is shown twice")
            shown[delivery_id] = message
    stopped = bool(detail["intents"])
    for delivery in detail["deliveries"]:
        ledger.counts[f"delivery {delivery['state']}"] += 1
        allowed = ("delivered", "cancelled") if stopped else ("delivered",)
        ledger.expect(delivery["state"] in allowed, "lost", f"{title}: {delivery}")
        told = shown.pop(delivery["delivery_id"]) if delivery["delivery_id"] in shown else None
        is_there = told is not None and told["seq"] == delivery.get("message_seq")
        should = delivery["state"] == "delivered"
        ledger.expect(is_there == should, "broken", f"{title}: {delivery}, shown: {told is not None}")
        text = job.results.get(delivery["requirement_version"]) if delivery["kind"] == "result" else None
        if told is not None and text is not None:
            ledger.expect(told["text"] == text, "lost", f"{title}: delivered as {told['text'][:60]!r}")
    ledger.expect(not shown, "broken", f"{title}: messages of no delivery")


async def check_surroundings(world: World) -> None:
    """I6, H16: no workflow, model call, card, temporary file or process is left but those of a Steward at rest."""
    steward, ledger = world.steward, world.ledger
    open_ids: list[str] = []
    for _ in range(LET_GO_S):
        client = await steward.temporal()
        running = client.list_workflows("ExecutionStatus = 'Running'")
        # The conversation never ends, and a grant's workflow ends with the grant, an hour from now.
        open_ids = [each.id async for each in running if not each.id.startswith(("conversation:", "grant:"))]
        if not open_ids:
            break
        await asyncio.sleep(1)
    titles = {f"task:{task['task_id']}": title for title, task in world.watch.tasks.items()}
    named = [titles.get(workflow_id, workflow_id) for workflow_id in open_ids]
    ledger.expect(not open_ids, "broken", f"workflows run at rest: {named}")
    # Asked now: what was seen last may be from before a stop that made a card void.
    cards = (await world.line.call("agents.approvals.list", state="pending", limit=100))["items"]
    pending = [
        f"{card['words']} of {titles.get('task:' + card.get('task_id', ''), 'the conversation')}" for card in cards
    ]
    ledger.expect(not pending, "broken", f"cards are pending at rest: {pending}")
    asked = [entry["script"][:40] for entry in world.models.open_calls()]
    ledger.expect(not asked, "broken", f"the model is asked at rest: {asked}")
    hidden = [path.name for path in steward.files.iterdir() if path.name.startswith(".")]
    ledger.expect(not hidden, "broken", f"temporary files are left: {hidden}")
    check_orphans(ledger, steward)


def check_orphans(ledger: Ledger, steward: Instance) -> None:
    """H16: of the processes that name this Steward or descend from it, only those that serve are there."""
    assert steward.process is not None
    known = {steward.process.pid, *(steward.pid(name) for name in PROCESSES)}
    descended = psutil.Process(steward.process.pid).children(recursive=True)
    orphans = [process for process in {*steward.relatives(), *descended} if process.pid not in known and lives(process)]
    ledger.expect(not orphans, "orphan", f"at rest there are besides: {[named(process) for process in orphans]}")


@dataclass(frozen=True)
class Rested:
    """What a round had come to when everything rested: its tasks and its files."""

    details: Sequence[Json] = ()
    files: Mapping[str, str | None] = field(default_factory=dict)


def rested(world: World, details: list[Json]) -> Rested:
    """Keep what a round came to, for the next one to look at again."""
    changes = [change for job in world.jobs for change in job.changes]
    return Rested(details, {change.path: change.found(world.steward.files) for change in changes})


async def check_earlier(world: World, earlier: Rested) -> None:
    """I6, I7: what rested stays as it was, whatever died since, and no effect is applied any more."""
    for path, content in earlier.files.items():
        now_there = FileChange(path, content, "").found(world.steward.files)
        world.ledger.expect(now_there == content, "ran on", f"{path} changed after everything had come to rest")
    for before in earlier.details:
        now = await world.line.call("agents.tasks.get", task_id=before["task"]["task_id"])
        for part in ("task", "attempts", "effects", "deliveries", "questions", "intents"):
            same = now[part] == before[part]
            world.ledger.expect(same, "broken", f"{before['task']['title']}: {part} changed after rest")
