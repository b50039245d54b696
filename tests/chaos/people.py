"""The people of a round: they grant, decide, answer and retry failed deliveries as each job wants it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Literal

from tests.blackbox.rpc_client import Json
from tests.chaos.line import Stuck
from tests.chaos.world import World

CARD_GONE = ("approval_invalidated", "approval_expired", "approval_version_conflict")
THINKS_S = 0.6
LOOKS_S = 0.2


class People:
    """Whoever answers what the tasks ask; nothing is taken up a second time before the first is through."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._taken: set[str] = set()
        self._retries: Counter[str] = Counter()
        self._busy: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Look after everything until cancelled."""
        watch = self._world.watch
        try:
            while True:
                for card in watch.cards:
                    self._take(card["approval_id"], partial(self._decide, card))
                for proposal in watch.proposals:
                    self._take(proposal["proposal_id"], partial(self._grant, proposal["proposal_id"]))
                for question in watch.questions:
                    self._take(question["question_id"], partial(self._answer, question))
                for task in watch.tasks.values():
                    for delivery in task["deliveries"]:
                        if delivery["state"] == "failed" and self._world.job(task["title"]) is not None:
                            self._take(delivery["delivery_id"], partial(self._retry, delivery["delivery_id"]))
                await asyncio.sleep(LOOKS_S)
        finally:
            for busy in self._busy:
                busy.cancel()
            await asyncio.gather(*self._busy, return_exceptions=True)

    def _take(self, subject: str, work: Callable[[], Awaitable[None]]) -> None:
        if subject not in self._taken:
            self._taken.add(subject)
            busy = asyncio.create_task(self._through(work))
            self._busy.add(busy)
            busy.add_done_callback(self._busy.discard)

    async def _through(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Stuck as stuck:
            self._world.ledger.breach("lost", str(stuck))

    async def _decide(self, card: Json) -> None:
        world = self._world
        job = world.job_of(card)
        if job is None or job.card == "leave":
            self._taken.discard(card["approval_id"])
            return
        await world.pause(THINKS_S)
        request_id = f"{job.tag}:decide:{card['approval_id']}"
        may_refuse = CARD_GONE if job.stop_wanted else ()
        await world.act(request_id, "agents.approvals.decide", decision_of(card, job.card), may_refuse=may_refuse)

    async def _grant(self, proposal_id: str) -> None:
        """Allow what a task asks for (A10); a stop or newer instructions may have closed the request meanwhile."""
        await self._world.act(
            f"grant:{proposal_id}", "agents.grants.issue", {"proposal_id": proposal_id, "lifetime_s": 3600},
            may_refuse=("authorization_requirement_mismatch",),
        )  # fmt: skip

    async def _answer(self, question: Json) -> None:
        world = self._world
        title = next((name for name, task in world.watch.tasks.items() if task["task_id"] == question["task_id"]), "")
        job = world.job(title)
        if job is None:
            self._taken.discard(question["question_id"])
            return
        if job.question == "leave":
            return
        await world.pause(THINKS_S)
        await settle_question(world, f"{title}:{job.question}", question, job.question)

    async def _retry(self, delivery_id: str) -> None:
        self._retries[delivery_id] += 1
        request_id = f"retry:{delivery_id}:{self._retries[delivery_id]}"
        # What was seen may be old: a stop cancels a failed delivery, another retry may have brought it in.
        await self._world.act(
            request_id, "agents.tasks.retry_delivery", {"delivery_id": delivery_id}, may_refuse=("delivery_not_failed",)
        )
        self._world.ledger.counts["retried"] += 1
        self._taken.discard(delivery_id)


def decision_of(card: Json, decision: Literal["allow", "deny"]) -> Json:
    """What decides a card as it was shown (E10)."""
    named = {key: card[key] for key in ("approval_id", "version", "action_digest")}
    return {**named, "decision": {"allow": "allow_once", "deny": "deny"}[decision]}


async def settle_question(
    world: World, request_id: str, question: Json, how: str, may_refuse: tuple[str, ...] = ()
) -> bool:
    """Answer a question or cancel it; whether that was accepted."""
    named = {"question_id": question["question_id"], "revision": question["revision"]}
    if how == "cancel":
        answer = await world.act(request_id, "user-question/cancel", named, may_refuse=may_refuse)
    else:
        said = {**named, "answer": {"text": f"answer to {request_id}"}}
        answer = await world.act(request_id, "user-question/respond", said, may_refuse=may_refuse)
    return answer is not None
