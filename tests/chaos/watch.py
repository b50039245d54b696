"""Looks at a Steward's work all the time, as a page does, and lets jobs wait for what they are about.

One reader for all jobs, so that looking is not the load. What was once seen final must stay so (I7).
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from tests.blackbox.rpc_client import Json, RpcClient
from tests.blackbox.work import TERMINAL
from tests.chaos.ledger import Ledger
from tests.chaos.line import Line, Stuck

LOOK_S = 0.4
UNASKED_S = 2.0
"""How long nothing is looked at when nothing was heard: a host may die before it tells what it has stored."""
NEWS = ("tasks", "approvals", "questions", "grants")
REST_LIMIT_S = 240.0
FINAL_DELIVERY = ("delivered", "cancelled")


class Watch:
    """The newest tasks by title, the pending cards, the open questions and the running replies' texts."""

    def __init__(self, ledger: Ledger, most_tasks: int) -> None:
        """Watch the newest tasks: as many as a round can have, so that looking costs the same in every round."""
        self.ledger = ledger
        self._most = min(100, most_tasks)
        self.tasks: dict[str, Json] = {}
        self.cards: list[Json] = []
        self.questions: list[Json] = []
        self.proposals: list[Json] = []
        self.live: dict[str, str] = {}
        self._looked = asyncio.Condition()
        self._news = asyncio.Event()

    def hear(self, event: Json) -> None:
        """Take a notification: what a running reply shows so far, and that there is something to look at."""
        if event["topic"] in NEWS:
            self._news.set()
        elif event["topic"] == "turn.delta":
            self.live[event["turn_id"]] = self.live.get(event["turn_id"], "") + event["text"]
        elif event["topic"] == "turn.reset" or (event["topic"] == "turn.state" and event["state"] != "running"):
            self.live.pop(event["turn_id"], None)

    async def run(self, line: Line) -> None:
        """Look until cancelled."""
        while True:
            self._news.clear()
            try:
                await line.ask(self._look)
            except Stuck as stuck:
                self.ledger.breach("lost", str(stuck))
            async with self._looked:
                self._looked.notify_all()
            await asyncio.sleep(LOOK_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(UNASKED_S):
                    await self._news.wait()

    async def until(self, condition: Callable[[], bool], what: str, within_s: float = REST_LIMIT_S) -> None:
        """Wait until something is seen.

        Raises:
            Stuck: It was not seen in time.
        """
        deadline = time.monotonic() + within_s
        async with self._looked:
            while not condition():
                left = deadline - time.monotonic()
                if left <= 0:
                    raise Stuck(f"not within {within_s:.0f} s: {what}")
                try:
                    async with asyncio.timeout(left):
                        await self._looked.wait()
                except TimeoutError:
                    continue

    async def task(self, title: str, *states: str) -> Json:
        """Wait for a task, in one of these states if any are named."""
        await self.until(
            lambda: title in self.tasks and (not states or self.tasks[title]["state"] in states),
            f"{title} is {' or '.join(states) or 'there'}",
        )
        return self.tasks[title]

    async def _look(self, client: RpcClient) -> None:
        tasks = (await client.call("agents.tasks.list", {"limit": self._most}))["items"]
        cards = (await client.call("agents.approvals.list", {"state": "pending", "limit": 100}))["items"]
        asked = (await client.answer("user-question/list", {"state": "open", "limit": 100}))["result"]["items"]
        wanted = (await client.call("agents.grants.list", {"limit": 100}))["proposals"]
        newest: dict[str, Json] = {}
        for task in tasks:
            other = newest.setdefault(task["title"], task)
            self.ledger.expect(other is task, "doubled", f"{task['title']}: two tasks")
            note_finals(self.ledger, task)
        self.tasks, self.cards, self.questions, self.proposals = newest, cards, asked, wanted


def note_finals(ledger: Ledger, task: Json) -> None:
    """Note what of a task is final (I7)."""
    if task["state"] in TERMINAL:
        ledger.final(task["state"], task["title"], f"v{task['requirement_version']}")
    for delivery in task["deliveries"]:
        if delivery["state"] in FINAL_DELIVERY:
            ledger.final(delivery["state"], task["title"], delivery["delivery_id"])
