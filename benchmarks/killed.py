"""(h) `kill -9` of the worker with 200 tasks in flight: the time until the last one has gone on (T10).

Half of them hang in a model call, the others wait for an answer that is given while no worker is there. A task has gone
on when the model is asked for it again. Beside it, in turns and on the same Temporal server, as many bare workflows in
as many hanging activities and waiting for as many signals; their worker is killed and started again at once.
"""

import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from temporalio.client import Client
from ulid import ULID

from benchmarks.bare import QUEUE, BareInFlight
from benchmarks.instance import Instance, running_process, steward
from benchmarks.report import Table, progress, s, spread, times
from benchmarks.rpc_client import Json, RpcClient

HANGING, ASKING = 96, 104
"""A worker carries out a hundred activities at once; the rest of those that hang would only wait for a place."""
LOOK_S = 0.1
PAGE = 100
HANGS_S = 3_600
HANG = "[[hang:3600]][[say:{}]]"
ASK = '[[tool:ask_user {{"question":"{}"}}]][[then]][[tool:submit_result {{"summary":"{}"}}]]'


@dataclass(slots=True)
class Recovery:
    """What one side's rounds took, in seconds from the kill."""

    last: list[float] = field(default_factory=list)
    half: list[float] = field(default_factory=list)

    def add(self, moments: Sequence[float], killed_at: float) -> None:
        """The moments at which each had gone on."""
        taken = sorted(moment - killed_at for moment in moments)
        self.half.append(taken[len(taken) // 2])
        self.last.append(taken[-1])


async def run(rounds: int) -> Table:
    """Kill both workers so many times, in turns."""
    ours, bare = Recovery(), Recovery()
    async with AsyncExitStack() as stack:
        instance = await stack.enter_async_context(steward(max_open_tasks=256, model_timeout_s=HANGS_S))
        client = await stack.enter_async_context(instance.client())
        http = await stack.enter_async_context(httpx.AsyncClient(base_url=instance.model_url, trust_env=False))
        for number in range(rounds):
            progress(f"killed worker: round {number + 1} of {rounds}")
            ours.add(*await _ours(instance, client, http))
            bare.add(*await _bare(instance.temporal))
    rows = [
        _row("tasks", ours, bare),
        _row("bare workflows", bare, bare),
    ]
    columns = ("", "half of them", "the last", "ratio of the last")
    count = HANGING + ASKING
    notes = [
        f"{rounds} rounds; {HANGING} in a call that beats every 3 s and is given up 10 s after its last beat, {ASKING} "
        "waiting for an answer. Each figure is the median of the rounds' own, with the spread of the rounds. All tasks "
        "went on in their first attempt, those that were answered were completed.",
    ]
    return Table(f"(h) kill -9 of the worker with {count} tasks in flight", columns, rows, notes)


def _row(name: str, of: Recovery, to: Recovery) -> tuple[str, ...]:
    ratios = [one / other for one, other in zip(of.last, to.last, strict=True)]
    return name, spread(of.half, s), spread(of.last, s), times(ratios) if of is not to else "1"


async def _ours(instance: Instance, client: RpcClient, http: httpx.AsyncClient) -> tuple[list[float], float]:
    """One round of tasks: the moments at which each had gone on, and the moment of the kill."""
    asking = [ASK.format(word, word) for word in (str(ULID()) for _ in range(ASKING))]
    hanging = [HANG.format(ULID()) for _ in range(HANGING)]
    answered = [await client.create_task(script) for script in asking]
    stopped = [await client.create_task(script) for script in hanging]
    questions = await _questions(client)
    before = len(await _log(http))
    while sum(entry["outcome"] == "open" and entry["script"] in hanging for entry in await _log(http)) < HANGING:
        before = len(await _log(http))
    os.kill(instance.process("worker").pid, signal.SIGKILL)
    killed_at = time.perf_counter()
    answers = [asyncio.create_task(_answer(client, question)) for question in questions.items()]

    async def gone_on() -> set[str]:
        return {entry["script"] for entry in (await _log(http))[before:]} & {*hanging, *asking}

    moments = await _moments(gone_on, HANGING + ASKING)
    await asyncio.gather(*answers)
    for task_id in stopped:
        await client.call("agents.tasks.stop", {"task_id": task_id}, request_id=f"bench:{ULID()}")
    for task_id, state in [*((one, "completed") for one in answered), *((one, "stopped") for one in stopped)]:
        await _ended(client, task_id, state)
    return moments, killed_at


async def _log(http: httpx.AsyncClient) -> list[Json]:
    """All requests that the model server has heard."""
    log: list[Json] = (await http.get("/__log")).json()
    return log


async def _questions(client: RpcClient) -> dict[str, int]:
    """The open questions of all tasks that ask, with their revisions."""
    found: dict[str, int] = {}
    while len(found) < ASKING:
        wanted: Json = {"state": "open", "limit": PAGE}
        while wanted.get("cursor", "first") is not None:
            page = await client.request("user-question/list", wanted)
            found |= {item["question_id"]: item["revision"] for item in page["items"]}
            wanted |= {"cursor": page["next_cursor"]}
        await asyncio.sleep(LOOK_S)
    return found


async def _answer(client: RpcClient, question: tuple[str, int]) -> None:
    question_id, revision = question
    given = {"question_id": question_id, "revision": revision, "answer": {"text": "March"}}
    await client.request("user-question/respond", {**given, "request_id": f"bench:{ULID()}"})


async def _ended(client: RpcClient, task_id: str, state: str) -> None:
    """Wait for a task's end, and insist that its first attempt came to it."""
    task: Json = {}
    while task.get("state") != state:
        task = (await client.call("agents.tasks.get", {"task_id": task_id}))["task"]
        if (task["requirement_version"], task["attempt"]) != (1, 1):
            raise AssertionError("a task went on in another attempt")
        await asyncio.sleep(LOOK_S)


async def _moments(gone_on: Callable[[], Awaitable[set[str]]], count: int) -> list[float]:
    """When each was first seen to have gone on."""
    seen: dict[str, float] = {}
    while len(seen) < count:
        new = await gone_on() - set(seen)
        seen |= dict.fromkeys(new, time.perf_counter())
        await asyncio.sleep(LOOK_S)
    return list(seen.values())


async def _bare(temporal: Client) -> tuple[list[float], float]:
    """One round of bare workflows."""
    async with AsyncExitStack() as stack:
        file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="steward-bench-"))) / "begun"
        file.touch()
        address = temporal.service_client.config.target_host
        serving = (sys.executable, "-m", "benchmarks.bare", address, str(file))
        worker = await stack.enter_async_context(running_process(*serving))
        names = [f"bare:{ULID()}" for _ in range(ASKING + HANGING)]
        handles = [
            await temporal.start_workflow(BareInFlight.run, place >= ASKING, id=name, task_queue=QUEUE)
            for place, name in enumerate(names)
        ]
        await _moments(lambda: _begun(file, 0), HANGING)
        before = file.stat().st_size
        os.kill(worker, signal.SIGKILL)
        killed_at = time.perf_counter()
        await stack.enter_async_context(running_process(*serving))
        for handle in handles[:ASKING]:
            await handle.signal(BareInFlight.answer)
        moments = await _moments(lambda: _begun(file, before), HANGING + ASKING)
        for handle in handles[ASKING:]:
            await handle.terminate()
    return moments, killed_at


async def _begun(file: Path, before: int) -> set[str]:
    """The workflows whose activity began, as the file says behind a place."""
    return set((await asyncio.to_thread(file.read_text))[before:].split())
