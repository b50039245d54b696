"""(f) The conversation over thousands of turns, under a flood of sends and stops (C1, C2, S8, T18).

Several clients keep the queue full; one turn in ten is stopped while it writes, another one while it still waits. When
all is at rest, what was said is read back: each input has its reply in order, or its stop. Then the histories are read:
how large any run of the conversation's workflow became, and how long the longest takes to replay.
"""

import asyncio
import signal
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import pairwise

from temporalio.client import WorkflowHistory
from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from benchmarks.history_cost import runs_of, size_of
from benchmarks.instance import steward
from benchmarks.load import MEGABYTE, Load, watched
from benchmarks.report import Table, ms, progress
from benchmarks.rpc_client import Json, RpcClient
from contracts.names import conversation_workflow
from workflows.conversation import ConversationWorkflow

TURNS = 10_000
CLIENTS = 2
QUEUED = 200
STOPPED_RUNNING, STOPPED_QUEUED = 3, 7
"""Last digits of the turns that are stopped while they write, and while they wait."""
FILLING = " So that a few turns fill the model's context, this says nothing more." * 8
CONTEXT_TOKENS = 2_000
"""Earlier turns that are shown to the model cost processor time, and are not what is measured."""
STEP = 1_000
ENDS = ("completed", "stopped", "failed")


async def run(turns: int = TURNS) -> Table:
    """Say so many things, wait for rest, read everything back."""
    async with AsyncExitStack() as stack:
        instance = await stack.enter_async_context(steward(context_tokens=CONTEXT_TOKENS))
        clients = [await stack.enter_async_context(instance.client()) for _ in range(CLIENTS)]
        flood, load = Flood(clients, turns), Load()
        async with watched(instance, load):
            await flood.run()
            await flood.settled()
            await instance.rest()
        said = await _everything(clients[0])
        account, sent = judge(flood.turn_ids, said), len(flood.turn_ids)
        histories = await runs_of(instance.temporal, conversation_workflow("local", "personal"))
    largest = max(histories, key=lambda history: len(history.events))
    taken = await _replayed(largest)
    rows = [
        ("inputs accepted", f"{sent}"),
        ("replies stored whole", f"{account.whole}"),
        ("stops accepted: of a running, of another turn", f"{flood.stopping}, {flood.not_running}"),
        ("replies stopped: with words, before the first", f"{account.cut}, {account.silent}"),
        ("lost, doubled, out of order, other words", ", ".join(str(count) for count in account.breaches)),
        (f"turns a second: first {STEP}, last {STEP}", f"{flood.rate(0):.1f}, {flood.rate(-1):.1f}"),
        ("runs of the conversation's workflow", f"{len(histories)}"),
        ("largest history of a run: events", f"{len(largest.events)}"),
        ("largest history of a run: bytes", f"{max(size_of(history) for history in histories)}"),
        ("replay of the longest run: processor time", ms(taken)),
        *(
            (f"{name}: largest memory, processor time a turn", f"{size / MEGABYTE:.0f} MB, {ms(used / sent)}")
            for name, size, used in load.of_processes()
        ),
    ]
    return Table(f"(f) A conversation of {sent:,} turns", ("", ""), rows)


@dataclass
class Flood:
    """Clients that send as fast as the queue has room, and stop some of what they sent."""

    clients: Sequence[RpcClient]
    turns: int
    turn_ids: dict[int, str] = field(default_factory=dict)
    stopping: int = 0
    not_running: int = 0
    _enough: asyncio.Event = field(default_factory=asyncio.Event)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: list[float] = field(default_factory=list)
    _stops: list["asyncio.Task[None]"] = field(default_factory=list)
    _numbers: dict[str, int] = field(default_factory=dict)

    async def run(self) -> None:
        """Send everything; a SIGTERM is enough of it, and what was sent is the measurement."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._enough.set)
        self._room = asyncio.Semaphore(QUEUED)
        self.clients[0].listeners.append(self._hear)
        await asyncio.gather(*(self._send(place) for place in range(len(self.clients))))

    async def settled(self) -> None:
        """Wait for the end of all turns, and for the answers of all stops."""
        while len(self._ended) < len(self.turn_ids):
            self._changed.clear()
            await self._changed.wait()
        await asyncio.gather(*self._stops)

    def rate(self, block: int) -> float:
        """Turns that ended a second, in the first (0) or last (-1) thousand."""
        of_block = self._ended[:STEP] if block == 0 else self._ended[-STEP:]
        return (len(of_block) - 1) / (of_block[-1] - of_block[0])

    async def _send(self, place: int) -> None:
        client = self.clients[place]
        for number in range(place, self.turns, len(self.clients)):
            await self._room.acquire()
            if self._enough.is_set():
                return
            receipt = await client.send(script(number))
            turn_id = receipt["turn_id"]
            self.turn_ids[receipt["message_seq"]] = turn_id
            self._numbers[turn_id] = number
            if number % 10 == STOPPED_QUEUED:
                self._stop(turn_id)

    def _hear(self, event: Json, moment: float) -> None:
        if event["topic"] != "turn.state":
            return
        if event["state"] == "running" and self._numbers.get(event["turn_id"], 0) % 10 == STOPPED_RUNNING:
            self._stop(event["turn_id"])
        if event["state"] in ENDS:
            self._ended.append(moment)
            self._room.release()
            self._changed.set()
            if len(self._ended) % STEP == 0:
                progress(f"conversation: {len(self._ended)} of {self.turns} turns")

    def _stop(self, turn_id: str) -> None:
        self._stops.append(asyncio.create_task(self._stopped(turn_id)))

    async def _stopped(self, turn_id: str) -> None:
        client, wanted = self.clients[-1], {"session_id": self.clients[-1].session_id, "turn_id": turn_id}
        answer = await client.call("agents.stop_turn", wanted, request_id=f"stop:{turn_id}")
        if answer["outcome"] == "stopping":
            self.stopping += 1
        else:
            self.not_running += 1


def script(number: int) -> str:
    """What a turn says to the scripted model: its number; one that is to be stopped is slow to say it."""
    words = f"{number} is what was asked for, and a little more of it" if _slow(number) else f"{number}"
    return f"{'[[delay:30]]' if _slow(number) else ''}[[say:{words}]]{FILLING}"


def _slow(number: int) -> bool:
    return number % 10 == STOPPED_RUNNING


@dataclass(frozen=True, slots=True)
class Account:
    """What became of all inputs: whole, cut and silent replies; and lost, doubled, disordered, foreign ones."""

    whole: int
    cut: int
    silent: int
    breaches: tuple[int, int, int, int]


def judge(turn_ids: dict[int, str], messages: Sequence[Json]) -> Account:
    """Compare the whole conversation with what was accepted.

    Args:
        turn_ids: The turn of each accepted input, by its sequence.
        messages: All messages, in their order.
    """
    inputs = {message["turn_id"]: message for message in messages if message["role"] == "user"}
    replies = [message for message in messages if message["role"] == "assistant"]
    replied: dict[str, list[Json]] = {}
    for message in replies:
        replied.setdefault(message["turn_id"], []).append(message)
    silent = [turn_id for turn_id, said in inputs.items() if "turn_state" in said and turn_id not in replied]
    accepted = set(turn_ids.values())
    lost = sum(turn_id not in inputs or (turn_id not in replied and turn_id not in silent) for turn_id in accepted)
    doubled = sum(len(said) > 1 for said in replied.values()) + len(inputs) - len(set(inputs) & accepted)
    order = [inputs[message["turn_id"]]["seq"] for message in replies if message["turn_id"] in inputs]
    disordered = sum(before > after for before, after in pairwise(order))
    cut = [message for message in replies if message.get("interrupted")]
    foreign = sum(not _fits(message, inputs.get(message["turn_id"])) for message in replies)
    return Account(len(replies) - len(cut), len(cut), len(silent), (lost, doubled, disordered, foreign))


def _fits(reply: Json, said: Json | None) -> bool:
    """Whether a reply is what its input asked for, or the beginning of it where it was stopped."""
    if said is None:
        return False
    wanted = str(said["text"]).partition("[[say:")[2].partition("]]")[0]
    return wanted.startswith(reply["text"]) if reply.get("interrupted") else wanted == reply["text"]


async def _everything(client: RpcClient) -> list[Json]:
    messages: list[Json] = []
    while page := await client.messages_after(messages[-1]["seq"] if messages else 0):
        messages += page
    return messages


async def _replayed(history: WorkflowHistory) -> float:
    """Seconds of processor time that a worker takes to replay the history from its beginning, as after a restart."""
    replayer = Replayer(
        workflows=[ConversationWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=pydantic_data_converter,
    )
    start = time.process_time()
    result = await replayer.replay_workflow(history)
    taken = time.process_time() - start
    if result.replay_failure is not None:
        raise result.replay_failure
    return taken
