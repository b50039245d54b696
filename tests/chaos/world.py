"""What the jobs of a round share: the connection, the watch, seeded chance, and one way to ask for anything."""

import asyncio
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import Json, Refusal
from tests.chaos.job import Job, Reply
from tests.chaos.ledger import Ledger, Request
from tests.chaos.line import Line
from tests.chaos.watch import Watch
from tests.fake_model_server import FakeModelServer

REPEATED = 0.2
"""The share of requests that are made twice at once under one request id (I2)."""


@dataclass
class World:
    """One round."""

    steward: Instance
    line: Line
    watch: Watch
    models: FakeModelServer
    random: Random
    ledger: Ledger
    session_id: str
    jobs: list[Job] = field(default_factory=list)
    replies: dict[str, Reply] = field(default_factory=dict)
    acts: Counter[str] = field(default_factory=Counter)
    """What was asked for so far, by method."""
    kills: Counter[str] = field(default_factory=Counter)
    load_is_over: bool = False
    acted: asyncio.Event = field(default_factory=asyncio.Event)

    async def act(
        self, request_id: str, method: str, params: Json, *, may_refuse: Collection[str] = (), **envelope: object
    ) -> Json | None:
        """Ask for something until it is accepted; None when it was refused by one of these codes."""
        request = Request(request_id, method, params, dict(envelope))
        self.acts[method] += 1
        self.acted.set()
        times = 2 if self.random.random() < REPEATED else 1
        answers = await asyncio.gather(*(self._once(request, may_refuse) for _ in range(times)))
        accepted = [answer for answer in answers if answer is not None]
        for answer in accepted:
            self.ledger.accept(request, answer["receipt"])
        return accepted[0] if accepted else None

    async def _once(self, request: Request, may_refuse: Collection[str]) -> Json | None:
        try:
            return await self.line.ask(request.make)
        except Refusal as refusal:
            self.ledger.expect(refusal.code in may_refuse, "broken", f"{request.request_id} was refused: {refusal}")
            self.ledger.counts[f"refused {refusal.code}"] += 1
            return None

    async def send(self, request_id: str, text: str) -> Json:
        """Send an input and return its receipt."""
        answer = await self.act(request_id, "agents.send", {"session_id": self.session_id}, user_input={"text": text})
        assert answer is not None
        receipt: Json = answer["receipt"]
        return receipt

    async def create(self, title: str, instructions: str) -> None:
        """Create a task."""
        await self.act(f"{title}:create", "agents.tasks.create", {"title": title}, user_input={"text": instructions})

    async def pause(self, most_s: float) -> None:
        """Let some time pass."""
        await asyncio.sleep(self.random.uniform(0, most_s))

    def job(self, title: str) -> Job | None:
        """The job that a task belongs to."""
        return next((job for job in self.jobs if title in job.titles), None)

    def job_of(self, card: Json) -> Job | None:
        """The job that a card belongs to, once what it belongs to is known."""
        if "task_id" not in card:
            return next((job for job in self.jobs if job.own is not None and job.owns_card(card)), None)
        title = next((name for name, task in self.watch.tasks.items() if task["task_id"] == card["task_id"]), "")
        return self.job(title)

    def steps(self, marker: str) -> int:
        """How often an executor's model was asked with this marker in its script."""
        return sum(marker in entry["script"] and "submit_result" in entry["tools"] for entry in self.models.log())

    def asked_for(self, job: Job) -> list[str]:
        """The model calls of a job's tasks and of their deliveries that somebody waits for at this moment."""
        return [
            entry["script"][:60]
            for entry in self.models.open_calls()
            if job.tag in entry["script"] and (not entry["tools"] or "submit_result" in entry["tools"])
        ]


def now() -> str:
    """The present as the wire contract writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
