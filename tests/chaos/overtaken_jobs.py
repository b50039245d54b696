"""Changes whose outcome nobody can tell (I4): the worker dies in the middle, and the file is another one afterwards.

A kill alone does not make an unknown: what stands in the file proves what became of it (E13). So a person writes the
same file while the worker is dead. From then on the file may never change again.
"""

import asyncio

import psutil

from tests.blackbox.rpc_client import Json
from tests.blackbox.work import EFFECT_ENDS
from tests.chaos.job import Job, Overtaken
from tests.chaos.jobs import replaces_large_file
from tests.chaos.kills import kill, lives
from tests.chaos.line import Stuck
from tests.chaos.stops import stop_task
from tests.chaos.world import World, now

LOOKS_S = 0.03
LOOKS_BEFORE_S = 0.3
DIES_LOOKS = 1000


async def overtaken_file(world: World, job: Job) -> None:
    """A person's change overtakes the task's one, which becomes unknown; half of these tasks are stopped then (S6)."""
    await replaces_large_file(world, job)
    task = await world.watch.task(job.tag)
    await _overtake(world, job, task)
    if world.random.random() < 0.5:
        job.stop_wanted, job.ends = True, ("completed", "stopped")
        await stop_task(world, job, task)


async def _overtake(world: World, job: Job, task: Json) -> None:
    started = await _started(world, job, task)
    pid = world.steward.pid("worker")
    if started is None or pid is None:
        return
    worker = psutil.Process(pid)
    if kill(world.steward, "worker") != pid:
        return
    world.kills["worker"] += 1
    await _dead(worker)
    at = now()
    (world.steward.files / job.changes[0].path).write_text(f"{job.tag} of a person")
    job.overtaken = Overtaken(at, started["effect_id"], f"{job.tag} of a person")


async def _started(world: World, job: Job, task: Json) -> Json | None:
    """Wait until the task's effect is under way; None when it was over before that could be seen."""
    while True:
        found = await world.line.call("agents.effects.list", task_id=task["task_id"], limit=1)
        for effect in found["items"]:
            if effect["state"] == "started":
                return dict(effect)
            if effect["state"] in EFFECT_ENDS:
                return None
        is_decided = any(request_id.startswith(f"{job.tag}:decide:") for request_id in world.ledger.accepted)
        await asyncio.sleep(LOOKS_S if is_decided else LOOKS_BEFORE_S)


async def _dead(process: psutil.Process) -> None:
    """Wait until a killed process is gone for certain, so that nothing of it can still write."""
    for _ in range(DIES_LOOKS):
        if not lives(process):
            return
        await asyncio.sleep(0.01)
    raise Stuck(f"the worker does not die within {DIES_LOOKS / 100:.0f} s")
