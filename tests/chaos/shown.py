"""What a Steward at rest would show to the checks, without a Steward; tests plant one wrong thing each into it."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

from tests.blackbox.rpc_client import Json
from tests.chaos.checks import check_earlier, check_jobs, check_messages, rested
from tests.chaos.checks_effects import check_unknown
from tests.chaos.checks_order import all_told, check_order
from tests.chaos.checks_own import check_own
from tests.chaos.job import FileChange, Job, Overtaken, OwnWork, Reply, Stopped
from tests.chaos.ledger import Ledger, Request
from tests.chaos.watch import Watch
from tests.chaos.world import World

DELIVERY = {"delivery_id": "d1", "kind": "result", "state": "delivered", "message_seq": 3, "requirement_version": 1}
TASK = {"task_id": "t1", "title": "job", "state": "completed", "requirement_version": 1, "parent_task_id": None}
START = {"step": "start", "verdict": "started", "at": "2026-01-01T00:00:04.000Z"}
OUTCOME = {"step": "outcome", "verdict": "succeeded", "at": "2026-01-01T00:00:05.000Z"}
EFFECT = {"effect_id": "e1", "state": "succeeded", "words": "Create the file “job.txt”.", "trail": [START, OUTCOME]}
ATTEMPT = {"attempt": 1, "requirement_version": 1, "state": "succeeded", "ended_at": "2026-01-01T00:00:06.000Z"}
OWN = {
    "effect_id": "e2", "turn_id": "u5", "state": "succeeded", "words": "Create the file “own.txt”.",
    "approval_id": "a2", "trail": [START, OUTCOME],
}  # fmt: skip


@dataclass
class Shown:
    """Everything that the checks look at, as it should be."""

    detail: Json = field(default_factory=lambda: copy.deepcopy(_DETAIL))
    messages: list[Json] = field(default_factory=lambda: copy.deepcopy(_MESSAGES))
    own: list[Json] = field(default_factory=lambda: [copy.deepcopy(OWN)])
    unknown: list[Json] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=lambda: {"job.txt": "new", "own.txt": "mine"})
    steps: int = 1
    since: Json = field(default_factory=dict)
    """What has changed since the round before had come to rest."""
    job: Job = field(
        default_factory=lambda: Job(
            "job", titles=["job"], results={1: "result"}, changes=[FileChange("job.txt", None, "new")]
        )
    )

    @property
    def effect(self) -> Json:
        """The task's effect."""
        found: Json = self.detail["effects"][0]
        return found

    def lose(self, state: str, overtaken: bool = True) -> None:
        """Let the effect have no outcome but that it is this, and stand another file there."""
        self.effect["state"] = state
        self.effect["reason"] = "effect_outcome_unknown"
        self.effect["trail"][1]["verdict"] = state
        if state == "unknown":
            self.unknown.append(self.effect)
        if overtaken:
            self.files["job.txt"] = "of a person"
            self.job.overtaken = Overtaken("2026-01-01T00:00:04.500Z", "e1", "of a person")

    def stop(self) -> None:
        """Let a stop of the task be done."""
        self.detail["intents"] = [{"intent_id": "i1", "state": "done", "outcome": "already_terminal", "unsettled": []}]
        self.job.stopped = Stopped("2026-01-01T00:00:07.000Z", 1, {"e1": "succeeded"}, {"job.txt": "new"})


_DETAIL: Json = {
    "task": {**TASK, "deliveries": [DELIVERY]}, "attempts": [ATTEMPT], "effects": [EFFECT], "deliveries": [DELIVERY],
    "questions": [], "intents": [],
}  # fmt: skip
_MESSAGES: list[Json] = [
    {"seq": 1, "role": "user", "turn_id": "u1", "origin": "user", "text": "hello"},
    {"seq": 2, "role": "assistant", "turn_id": "u1", "origin": "reply", "text": "a.w0 a.w1"},
    {
        "seq": 3, "role": "assistant", "turn_id": "u2", "origin": "delivery", "text": "result",
        "delivery": {"delivery_id": "d1", "kind": "result", "task_id": "t1"},
    },
    {"seq": 4, "role": "user", "turn_id": "u5", "origin": "user", "text": "write"},
    {"seq": 5, "role": "assistant", "turn_id": "u5", "origin": "reply", "text": "before", "card": "a2"},
    {"seq": 6, "role": "assistant", "turn_id": "u6", "origin": "reply", "text": "after"},
]  # fmt: skip


async def breaches(folder: Path, shown: Shown) -> set[str]:
    """The kinds of breaches that the checks find."""
    for name, content in shown.files.items():
        (folder / name).write_text(content)
    ledger = Ledger()
    answers = {"agents.tasks.get": shown.detail, "agents.effects.list": {"items": shown.own, "next_cursor": None}}

    async def call(method: str, **_params: object) -> Json:
        return answers[method]

    async def listed(_method: str, **_filters: object) -> list[Json]:
        return shown.unknown

    async def history(_method: str, _params: object) -> Json:
        return {"items": shown.messages, "has_more": False}

    async def ask(question: Callable[[Any], Any]) -> object:
        return await question(SimpleNamespace(listed=listed, call=history))

    watch = Watch(ledger, 9)
    watch.tasks = {"job": shown.detail["task"]}
    own = Job("own", changes=[FileChange("own.txt", None, "mine")], own=OwnWork("u5", "before", "after"))
    step = {"script": "job.v1", "tools": ["submit_result"], "outcome": "ok"}
    models = SimpleNamespace(log=lambda: [step] * shown.steps)
    line, steward = SimpleNamespace(call=call, ask=ask), SimpleNamespace(files=folder)
    world = World(
        cast(Any, steward), cast(Any, line), watch, cast(Any, models), Random(1), ledger, "s", [shown.job, own]
    )
    for number, (turn_id, text) in enumerate((("u1", "hello"), ("u5", "write"))):
        request = Request(f"r{turn_id}", "agents.send", {}, {"user_input": {"text": text}})
        came = {"request_id": f"r{turn_id}", "turn_id": turn_id, "message_seq": 1 + 3 * number}
        ledger.accept(request, {**came, "accepted_at": f"2026-01-01T00:00:{2 + 5 * number:02}.000Z"})
    decided = Request("r7", "agents.approvals.decide", {"approval_id": "a2"}, {})
    ledger.accept(decided, {"request_id": "r7", "accepted_at": "2026-01-01T00:00:08.000Z"})
    world.replies = {"u1": Reply("a.w0 a.w1"), "u5": Reply("before", may_park=True)}
    _, found = await check_messages(world, 0)
    details = await check_jobs(world, found)
    effects = await check_own(world, found)
    await check_unknown(world, effects + details[0]["effects"])
    check_order(ledger, all_told(world, found, details))
    earlier = rested(world, copy.deepcopy(details))
    for name, content in shown.since.get("files", {}).items():
        (folder / name).write_text(content)
    shown.detail["task"]["state"] = shown.since.get("state", shown.detail["task"]["state"])
    await check_earlier(world, earlier)
    return {kind for kind, _ in ledger.breaches}
