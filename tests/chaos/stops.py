"""Stops of tasks, believed only after a look: what one calls done must not run at that moment, nor ever again (I6)."""

import asyncio

from tests.blackbox.rpc_client import Json
from tests.blackbox.work import EFFECT_ENDS
from tests.chaos.job import Job, Stopped
from tests.chaos.ledger import Ledger
from tests.chaos.world import World, now

LOOKS = 600
LOOK_S = 0.3
LET_GO_LOOKS = 50
"""A second, between the row that says that a model call was given up and the kernel that closes its connection."""


async def stop_task(world: World, job: Job, task: Json) -> Json:
    """Stop a task twice at once, wait until the stop says that it is done, and note what is there then."""
    named = {"task_id": task["task_id"]}
    first, second = await asyncio.gather(
        world.act(f"{job.tag}:stop:1", "agents.tasks.stop", named),
        world.act(f"{job.tag}:stop:2", "agents.tasks.stop", named),
    )
    assert first is not None
    assert second is not None
    intent: Json = first["intent"]
    world.ledger.expect(
        intent["intent_id"] == second["intent"]["intent_id"], "doubled", f"{job.tag}: two intents for one stop (S7)"
    )
    for _ in range(LOOKS):
        intent = (await world.line.call("agents.intents.get", intent_id=intent["intent_id"]))["intent"]
        if intent["state"] == "done":
            break
        await asyncio.sleep(LOOK_S)
    world.ledger.expect(intent["state"] == "done", "lost", f"{job.tag}: the stop is still {intent['state']}")
    await _no_model_call(world, job)
    job.stopped = await _look(world, job, intent)
    world.ledger.counts[f"stop {intent.get('outcome')}"] += 1
    return intent


async def stop_for_good(world: World, job: Job) -> Json:
    """Stop a task that cannot end by itself; the task as it was seen before."""
    job.stop_wanted = True
    task = world.watch.tasks[job.tag]
    intent = await stop_task(world, job, task)
    world.ledger.expect(intent.get("outcome") == "stopped", "broken", f"{job.tag}: {intent} (S3)")
    job.ends = ("stopped",)
    return task


async def _no_model_call(world: World, job: Job) -> None:
    for _ in range(LET_GO_LOOKS):
        if not world.asked_for(job):
            return
        await asyncio.sleep(0.02)
    asked = world.asked_for(job)
    world.ledger.expect(not asked, "ran on", f"{job.tag}: the stop is done and a model is asked {asked} (I6)")


async def _look(world: World, job: Job, intent: Json) -> Stopped:
    """Note what a stop that is done has left; what still runs then is a breach."""
    details = [await world.line.call("agents.tasks.get", task_id=task_id) for task_id in intent["covered"]]
    for detail in details:
        check_standing(world.ledger, detail)
    effects = {effect["effect_id"]: effect["state"] for detail in details for effect in detail["effects"]}
    files = {change.path: change.found(world.steward.files) for change in job.changes}
    return Stopped(now(), world.steps(f"{job.tag}.v1"), effects, files)


def check_standing(ledger: Ledger, detail: Json) -> None:
    """I6: nothing of a stopped task's attempt, effects, questions and replies is under way."""
    title = detail["task"]["title"]
    for part, at_rest in (
        ("attempts", ("succeeded", "failed", "stopped")),
        ("effects", EFFECT_ENDS),
        ("questions", ("answered", "cancelled", "closed")),
        ("deliveries", ("delivered", "cancelled")),
    ):
        running = [each["state"] for each in detail[part] if each["state"] not in at_rest]
        ledger.expect(not running, "ran on", f"{title}: the stop is done, its {part} are {running} (I6)")


def check_stopped(world: World, job: Job, effects: list[Json]) -> None:
    """I6: since its stop was done no step, no effect and no file of a job has changed."""
    stopped, ledger = job.stopped, world.ledger
    if stopped is None:
        return
    steps = world.steps(f"{job.tag}.v1")
    ledger.expect(steps == stopped.steps, "ran on", f"{job.tag}: its executor went on after its stop was done")
    for effect in effects:
        before = stopped.effects.get(effect["effect_id"])
        ledger.expect(before == effect["state"], "ran on", f"{job.tag}: an effect went from {before} on after its stop")
        late = [entry["step"] for entry in effect["trail"] if entry["at"] > stopped.seen_at]
        ledger.expect(not late, "ran on", f"{job.tag}: {late} of an effect after its stop was done")
    for change in job.changes:
        found, before = change.found(world.steward.files), stopped.files[change.path]
        ledger.expect(found == before, "ran on", f"{job.tag}: {change.path} changed after its stop was done")
