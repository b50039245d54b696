"""(b), (d) Delegated tasks from the request to the delivery, against a bare workflow with as many activities (O16).

The hard thing is a fair measure: activities are counted from the histories of a real task, and the bare workflow runs
once with the same normal and local ones, and once with all of them normal.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial

from ulid import ULID

from benchmarks.bare import QUEUE, BareWorkflow
from benchmarks.history_cost import Cost, cost_of
from benchmarks.instance import Instance, running_process, steward
from benchmarks.load import Load, watched
from benchmarks.report import Table, median, ms, p99, progress, times
from benchmarks.rpc_client import Deliveries, RpcClient
from contracts.names import attempt_workflow, conversation_workflow, delivery_workflow, task_workflow, turn_workflow

SUBMIT = '[[tool:submit_result {"summary":"four"}]]'
DELEGATE = f"[[tool:delegate_task {json.dumps({'title': 'Benchmark', 'instructions': SUBMIT})}]][[then]][[say:in hand]]"
WARM_UP = 3
ONE_BY_ONE = 10
SIDE_BY_SIDE = 64
IN_FLIGHT = 200


@dataclass(frozen=True, slots=True)
class Bench:
    """A running Steward with a client that follows deliveries."""

    instance: Instance
    client: RpcClient
    deliveries: Deliveries

    async def handed_over(self) -> None:
        """One task by way of the main conversation: the model hands it over; until its result is delivered."""
        known = set(self.deliveries.at)
        await self.client.send(DELEGATE)
        while not set(self.deliveries.at) - known:
            await self.deliveries.next()

    async def created(self) -> None:
        """One task created by the client; until its result is delivered."""
        await self.deliveries.of(await self.client.create_task(SUBMIT))

    async def bare(self, cost: Cost) -> None:
        """One bare workflow with as many activities."""
        await self.instance.temporal.execute_workflow(
            BareWorkflow.run, args=[cost.normal, cost.local], id=f"bare:{ULID()}", task_queue=QUEUE
        )


@asynccontextmanager
async def bench() -> AsyncIterator[Bench]:
    """Everything that runs during the measurements, warmed up."""
    async with steward(max_open_tasks=256) as instance, instance.client() as client:
        address = instance.temporal.service_client.config.target_host
        async with running_process(sys.executable, "-m", "benchmarks.bare", address):
            deliveries = Deliveries(client)
            following = asyncio.create_task(deliveries.follow())
            try:
                ready = Bench(instance, client, deliveries)
                for _ in range(WARM_UP):
                    await ready.handed_over()
                    await ready.created()
                    await ready.bare(Cost(normal=4, local=4))
                yield ready
            finally:
                following.cancel()
                with suppress(asyncio.CancelledError):
                    await following


async def run(rounds: int) -> AsyncIterator[Table]:
    """Measure (b) and (d) on one instance."""
    async with bench() as ready:
        costs = await _costs(ready)
        yield costs.table()
        yield await _alone(ready, costs, rounds)
        yield await _throughput(ready, costs, SIDE_BY_SIDE, max(1, rounds - 2), "(b)")
        yield await _throughput(ready, costs, IN_FLIGHT, 1, "(d)")


@dataclass(frozen=True, slots=True)
class Costs:
    """What one task and its turns cost in history."""

    task: Cost
    turn: Cost
    delivery_turn: Cost
    conversation: Cost

    @property
    def handed_over(self) -> Cost:
        """All activities from the send to the delivery."""
        return self.task + self.turn + self.delivery_turn + self.conversation

    @property
    def created(self) -> Cost:
        """All activities from the creation by a client to the delivery; half of the conversation's two turns."""
        half = Cost(local=self.conversation.local // 2, normal=self.conversation.normal // 2)
        return self.task + self.delivery_turn + half

    def table(self) -> Table:
        """Events and bytes."""
        parts = (
            ("task: Task, Attempt and Delivery workflows, one model step", self.task, "60 (40 in the end)"),
            ("turn that hands the task over, two model steps", self.turn, ""),
            ("turn that delivers the result, one model step", self.delivery_turn, ""),
            ("conversation's share of both turns", self.conversation, ""),
        )
        rows = [(name, f"{c.events}", bar, f"{c.size}", f"{c.normal}", f"{c.local}") for name, c, bar in parts]
        columns = ("", "events", "bar", "bytes", "normal activities", "local activities")
        return Table("(b) History of a task without effects", columns, rows)


async def _costs(ready: Bench) -> Costs:
    temporal = ready.instance.temporal
    conversation = conversation_workflow("local", "personal")
    await ready.instance.rest()
    before = await cost_of(temporal, conversation)
    known = set(ready.deliveries.at)
    receipt = await ready.client.send(DELEGATE)
    while not (new := set(ready.deliveries.at) - known):
        await ready.deliveries.next()
    (task_id,) = new
    message = ready.deliveries.messages[task_id]
    delivery = message["delivery"]["delivery_id"]
    ids = (task_workflow(task_id), attempt_workflow(task_id, 1, 1), delivery_workflow(delivery))
    for workflow_id in ids:
        await temporal.get_workflow_handle(workflow_id).result()
    await ready.instance.rest()
    return Costs(
        task=await cost_of(temporal, *ids),
        turn=await cost_of(temporal, turn_workflow(receipt["turn_id"])),
        delivery_turn=await cost_of(temporal, turn_workflow(message["turn_id"])),
        conversation=await cost_of(temporal, conversation) - before,
    )


async def _taken(work: Callable[[], Awaitable[None]], count: int) -> list[float]:
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        await work()
        taken.append(time.perf_counter() - start)
    return taken


async def _alone(ready: Bench, costs: Costs, rounds: int) -> Table:
    """One at a time: both ways to a task, each against both bare workflows, in alternating rounds."""
    rows = []
    for name, work, cost in (
        ("handed over by the main agent, `agents.send` to delivered", ready.handed_over, costs.handed_over),
        ("created by a client, `agents.tasks.create` to delivered", ready.created, costs.created),
    ):
        all_normal = Cost(normal=cost.normal + cost.local)
        ours: list[float] = []
        mixed: list[float] = []
        normal: list[float] = []
        to_mixed, to_normal = [], []
        for number in range(rounds):
            progress(f"tasks one at a time: {name}: round {number + 1} of {rounds}")
            one = await _taken(work, ONE_BY_ONE)
            two = await _taken(partial(ready.bare, cost), ONE_BY_ONE)
            three = await _taken(partial(ready.bare, all_normal), ONE_BY_ONE)
            ours, mixed, normal = ours + one, mixed + two, normal + three
            to_mixed.append(median(one) / median(two))
            to_normal.append(median(one) / median(three))
        rows.append((name, ms(median(ours)), ms(p99(ours)), "", ""))
        both = f"bare, {cost.normal} normal and {cost.local} local"
        rows.append((both, ms(median(mixed)), ms(p99(mixed)), times(to_mixed), "3"))
        rows.append((f"bare, {all_normal.normal} normal", ms(median(normal)), ms(p99(normal)), times(to_normal), "3"))
    columns = ("", "median", "p99", "Steward's time to this (spread of rounds)", "bar")
    return Table(f"(b) A task, one at a time ({rounds} rounds of {ONE_BY_ONE})", columns, rows)


async def _throughput(ready: Bench, costs: Costs, count: int, rounds: int, letter: str) -> Table:
    """So many at once, until the last is delivered."""
    cost = costs.created
    all_normal = Cost(normal=cost.normal + cost.local)
    ours, mixed, normal, load = [], [], [], Load()
    for number in range(rounds):
        progress(f"{count} tasks in flight: round {number + 1} of {rounds}")
        async with watched(ready.instance, load):
            ours.append(await _rate(ready.created, count))
        mixed.append(await _rate(partial(ready.bare, cost), count))
        normal.append(await _rate(partial(ready.bare, all_normal), count))
    to_mixed = [one / two for one, two in zip(ours, mixed, strict=True)]
    to_normal = [one / two for one, two in zip(ours, normal, strict=True)]
    rows = [
        ("tasks, created to delivered", f"{median(ours):.1f}/s", "", ""),
        (f"bare, {cost.normal} normal and {cost.local} local", f"{median(mixed):.1f}/s", times(to_mixed), "0.5"),
        (f"bare, {all_normal.normal} normal", f"{median(normal):.1f}/s", times(to_normal), "0.5"),
        *load.rows(count * rounds),
    ]
    columns = ("", "", "Steward's throughput to this", "bar")
    return Table(f"{letter} {count} tasks in flight at once", columns, rows)


async def _rate(work: Callable[[], Awaitable[None]], count: int) -> float:
    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(count)))
    return count / (time.perf_counter() - start)
