"""Work that people interfere with: stops at every point, resumes, races, and replies that are stopped and retried."""

import asyncio

from tests.blackbox.rpc_client import Json
from tests.blackbox.scripts import delay, hang, say, steps, tool
from tests.blackbox.work import TERMINAL
from tests.chaos.job import Job, Reply
from tests.chaos.jobs import asks, handed_over, mark, submit, words, writes_file
from tests.chaos.people import settle_question
from tests.chaos.stops import stop_for_good, stop_task
from tests.chaos.world import World

HANG_S = 60
SETTLE_RACE = ("question_closed", "revision_conflict", "task_stopping")


async def stopped_talk(world: World, job: Job) -> None:
    """A long reply that is stopped, perhaps too early or too late (S8)."""
    text = words(job.tag, 60)
    receipt = await world.send(f"{job.tag}:say", delay(50) + say(text))
    turn_id = receipt["turn_id"]
    await world.pause(3)
    named = {"session_id": world.session_id, "turn_id": turn_id}
    answer = await world.act(f"{job.tag}:stop", "agents.stop_turn", named)
    outcome = "" if answer is None else answer["outcome"]
    world.ledger.counts[f"stop_turn {outcome}"] += 1
    world.replies[turn_id] = Reply(text, may_be_cut=outcome != "turn_not_running")


async def raced_question(world: World, job: Job) -> None:
    """Answer, cancel and stop meet at one question (T9)."""
    job.question = "leave"
    job.stop_wanted = world.random.random() < 0.5
    job.ends = ("completed", "stopped") if job.stop_wanted else ("completed",)
    await asks(world, job)
    task = await world.watch.task(job.tag, "waiting_user")
    await world.watch.until(lambda: any(each["task_id"] == task["task_id"] for each in world.watch.questions), job.tag)
    question = next(each for each in world.watch.questions if each["task_id"] == task["task_id"])
    racing = [
        settle_question(world, f"{job.tag}:answer", question, "answer", SETTLE_RACE),
        settle_question(world, f"{job.tag}:cancel", question, "cancel", SETTLE_RACE),
    ]
    stopping = [stop_task(world, job, task)] if job.stop_wanted else []
    won, _ = await asyncio.gather(asyncio.gather(*racing), asyncio.gather(*stopping))
    world.ledger.expect(sum(won) <= 1, "doubled", f"{job.tag}: a question was both answered and cancelled")
    world.ledger.expect(sum(won) == 1 or job.stop_wanted, "lost", f"{job.tag}: nobody won the question")


async def stopped_in_model_call(world: World, job: Job) -> None:
    """A model call that hangs is stopped; half of these are resumed (S11, T11)."""
    await world.create(job.tag, hang(HANG_S) + mark(job) + submit(job))
    await world.watch.task(job.tag, "running")
    await world.pause(2)
    await _stopped_and_perhaps_resumed(world, job)


async def stopped_at_card(world: World, job: Job) -> None:
    """A task that waits for a decision is stopped: the effect is withdrawn."""
    job.card = "leave"
    await writes_file(world, job)
    await world.watch.task(job.tag, "waiting_approval")
    await _stopped_and_perhaps_resumed(world, job)


async def stopped_at_question(world: World, job: Job) -> None:
    """A task that waits for an answer is stopped: the question is closed."""
    job.question = "leave"
    await asks(world, job)
    await world.watch.task(job.tag, "waiting_user")
    await _stopped_and_perhaps_resumed(world, job)


async def stopped_any_time(world: World, job: Job) -> None:
    """A stop at any moment of a task with an effect: both orders are legal (S10)."""
    job.stop_wanted, job.ends = True, ("completed", "stopped")
    await writes_file(world, job)
    task = await world.watch.task(job.tag)
    await world.pause(4)
    await stop_task(world, job, task)


async def stopped_after_completion(world: World, job: Job) -> None:
    """A completed task keeps its result; at most its reply is cancelled (S5)."""
    job.stop_wanted = True
    await handed_over(world, job)
    task = await world.watch.task(job.tag, *TERMINAL)
    await world.pause(1)
    intent = await stop_task(world, job, task)
    allowed = ("already_terminal", "nothing_to_stop")
    world.ledger.expect(intent.get("outcome") in allowed, "broken", f"{job.tag}: {intent.get('outcome')} (S5)")


async def stopped_with_sub_task(world: World, job: Job) -> None:
    """A parent that waits for its child is stopped, and the child with it (T13, S2)."""
    child = f"{job.tag}-child"
    job.titles.append(child)
    hanging = hang(HANG_S) + mark(job) + tool("submit_result", summary="late")
    delegating = tool("delegate_task", title=child, instructions=hanging)
    await world.create(job.tag, steps(mark(job) + delegating, submit(job)))
    await world.watch.task(child, "running", "accepted")
    await world.pause(1)
    await _stopped_and_perhaps_resumed(world, job)
    await world.watch.task(child, "stopped")


async def resumed_failure(world: World, job: Job) -> None:
    """A task that fails, and is resumed with other instructions (T11)."""
    await world.create(job.tag, mark(job) + tool("fail_task", reason=say(f"{job.tag} failed")))
    task = await world.watch.task(job.tag, "failed")
    await _resume(world, job, task)


async def stopped_delivery(world: World, job: Job) -> None:
    """The reply that brings a result is stopped while it is written, and retried (S8, D5)."""
    await world.create(job.tag, mark(job) + submit(job, number=40, slowly=50))
    text = job.results[1]

    def turn() -> str | None:
        return next((turn for turn, shown in world.watch.live.items() if shown and shown in text), None)

    def is_over() -> bool:
        deliveries = world.watch.tasks.get(job.tag, {}).get("deliveries", [])
        return any(delivery["state"] == "delivered" for delivery in deliveries)

    await world.watch.until(lambda: turn() is not None or is_over(), f"{job.tag} is delivered")
    if (turn_id := turn()) is not None:
        named = {"session_id": world.session_id, "turn_id": turn_id}
        answer = await world.act(f"{job.tag}:stop_turn", "agents.stop_turn", named)
        world.ledger.counts[f"stop_turn {'' if answer is None else answer['outcome']}"] += 1


async def _stopped_and_perhaps_resumed(world: World, job: Job) -> None:
    task = await stop_for_good(world, job)
    if world.random.random() < 0.5 and job.card != "leave":
        job.question, job.stop_wanted = "answer", False
        await _resume(world, job, task)


async def _resume(world: World, job: Job, task: Json) -> None:
    """Resume an ended task with instructions that it can carry out."""
    wanted = {"task_id": task["task_id"], "instructions": mark(job, 2) + submit(job, 2)}
    job.ends = ("completed",)
    await world.act(f"{job.tag}:resume", "agents.tasks.resume", wanted)
    world.ledger.counts["resumed"] += 1
    await world.watch.until(
        lambda: world.watch.tasks[job.tag]["requirement_version"] == 2, f"{job.tag} has its second requirement"
    )
