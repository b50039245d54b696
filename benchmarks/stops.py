"""(g) From `agents.tasks.stop` to no running model call of the task, under load (S11).

Many tasks hang in their model call while others come and go; then all that hang are stopped one after the other, in
random order, each as soon as the one before is accepted.
The end of a call is when the model server saw its connection end: it is asked all the time.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import httpx
from ulid import ULID

from benchmarks.instance import Instance, steward, until
from benchmarks.report import Table, median, ms, p99, progress, s, spread
from benchmarks.rpc_client import Deliveries, RpcClient

HANGING = 64
BESIDE = 8
"""Tasks that come and go meanwhile, at any moment."""
LOOK_S = 0.05
PAGE = 100
HANGS_S = 3_600
HANG = "[[hang:3600]][[say:{}]]"
SUBMIT = '[[tool:submit_result {"summary":"four"}]]'
BAR_S = 10.0


async def run(rounds: int) -> Table:
    """Hang, stop and wait, so many times."""
    taken: list[tuple[list[float], list[float], list[float]]] = []
    async with AsyncExitStack() as stack:
        instance = await stack.enter_async_context(steward(max_open_tasks=256, model_timeout_s=HANGS_S))
        client, other = [await stack.enter_async_context(instance.client()) for _ in range(2)]
        await stack.enter_async_context(_coming_and_going(other))
        for number in range(rounds):
            progress(f"stops: round {number + 1} of {rounds}")
            taken.append(await _round(instance, client))
    accepted, calls, settled = zip(*taken, strict=True)
    rows = [
        _row("the stop is accepted", accepted, ms),
        _row("its model call has ended", calls, ms, f"{BAR_S:.0f} s"),
        _row("the task is stopped", settled, s),
    ]
    notes = [
        f"{rounds} rounds of {HANGING} tasks that hang in a model call, stopped in random order, each as soon as the "
        f"one before is accepted, while {BESIDE} other tasks are in flight at any moment. From the moment the client "
        "sends the stop. Each figure is the median of the rounds' own, with the spread of the rounds.",
    ]
    return Table("(g) Stopping tasks that hang", ("until", "median", "p99", "largest", "bar"), rows, notes)


def _row(moment: str, rounds: Sequence[list[float]], show: Callable[[float], str], bar: str = "") -> tuple[str, ...]:
    """One moment: each figure of every round by itself, so that a round that was disturbed shows."""
    figures = [spread([figure(of_round) for of_round in rounds], show) for figure in (median, p99, max)]
    return moment, *figures, bar


async def _round(instance: Instance, client: RpcClient) -> tuple[list[float], list[float], list[float]]:
    """Seconds from each stop to its acceptance, to the end of the task's call, and to the stopped task."""
    words = {await client.create_task(HANG.format(word)): word for word in (str(ULID()) for _ in range(HANGING))}
    async with httpx.AsyncClient(base_url=instance.model_url, trust_env=False) as http:
        await until(partial(_all_hang, http, words))
        began: dict[str, float] = {}
        order = random.sample(list(words), HANGING)
        ended = asyncio.create_task(_ends(http, words))
        listed = asyncio.create_task(_stopped(client, set(words)))
        taken = [await _stop(client, task_id, began) for task_id in order]
        call_ends, stopped = await asyncio.gather(ended, listed)
    calls = [call_ends[task_id] - began[task_id] for task_id in order]
    return taken, calls, [stopped[task_id] - began[task_id] for task_id in order]


async def _stop(client: RpcClient, task_id: str, began: dict[str, float]) -> float:
    began[task_id] = time.perf_counter()
    await client.call("agents.tasks.stop", {"task_id": task_id}, request_id=f"bench:{ULID()}")
    return time.perf_counter() - began[task_id]


async def _all_hang(http: httpx.AsyncClient, words: Mapping[str, str]) -> bool:
    return len(await _open_calls(http, words)) == len(words)


async def _open_calls(http: httpx.AsyncClient, words: Mapping[str, str]) -> set[str]:
    """The tasks whose model call the server still answers."""
    scripts = {HANG.format(word): task_id for task_id, word in words.items()}
    log = (await http.get("/__log")).json()
    return {scripts[entry["script"]] for entry in log if entry["outcome"] == "open" and entry["script"] in scripts}


async def _ends(http: httpx.AsyncClient, words: Mapping[str, str]) -> dict[str, float]:
    """When each task's call was seen to have ended."""
    ends: dict[str, float] = {}
    while len(ends) < len(words):
        still = await _open_calls(http, words)
        moment = time.perf_counter()
        ends |= {task_id: moment for task_id in words if task_id not in still and task_id not in ends}
        await asyncio.sleep(LOOK_S)
    return ends


async def _stopped(client: RpcClient, wanted: set[str]) -> dict[str, float]:
    """When each task was first listed as stopped."""
    seen: dict[str, float] = {}
    while len(seen) < len(wanted):
        page = await client.call("agents.tasks.list", {"state": "stopped", "limit": PAGE})
        moment = time.perf_counter()
        listed = wanted & {item["task_id"] for item in page["items"]}
        seen |= dict.fromkeys(listed - set(seen), moment)
        await asyncio.sleep(LOOK_S)
    return seen


@asynccontextmanager
async def _coming_and_going(client: RpcClient) -> AsyncIterator[None]:
    """Keep some tasks in flight during the block, each until its result is delivered."""
    deliveries = Deliveries(client)

    async def keep() -> None:
        while True:
            await deliveries.of(await client.create_task(SUBMIT))

    working = [asyncio.create_task(deliveries.follow()), *(asyncio.create_task(keep()) for _ in range(BESIDE))]
    try:
        yield
    finally:
        for work in working:
            work.cancel()
        await asyncio.gather(*working, return_exceptions=True)
