"""Scenarios of control over tasks: questions, stops, resume, retry, sub-tasks (T7-T13, S12, D5)."""

from collections.abc import Sequence

from contracts.names import delivery_workflow, stop_workflow, task_workflow
from store import questions, resumes
from store.questions import Settlement
from tests.replay.scenario import MARKER, Recorded, Scenario, attempt, delegated, ended, say, submit, tool, write
from tests.workflows.rig import Rig
from tests.workflows.test_control import open_question, stop, the_task, until_delivery, until_done


async def question_answered(rig: Rig) -> Sequence[Recorded]:
    """A task asks, the user answers, the same attempt goes on."""
    task_id = await delegated(rig, tool("ask_user", question=f"{MARKER} which?") + f"[[then]]{submit()}")
    question = await open_question(rig)
    asked = await until_delivery(rig, kind="question", state="delivered")
    async with rig.parts.database.write(rig.scope) as tx:
        await questions.settle(
            tx, Settlement(question["question_id"], question["revision"], "answer", text=f"{MARKER} this"), "owner"
        )
    rig.pulse.ring()
    await ended(rig, task_id)
    return [
        Recorded("attempt/question_answered", attempt(task_id)),
        Recorded("delivery/question", delivery_workflow(asked.delivery_id)),
        Recorded("task/question_answered", task_workflow(task_id)),
    ]


async def hanging_model_stopped(rig: Rig) -> Sequence[Recorded]:
    """A stop lets go of a model that hangs; then the task is resumed and completes."""
    task_id = await delegated(rig, f"[[hang:60]]{say('late')}")
    await the_task(rig, task_id=task_id, state="running")
    intent_id = await stop(rig, task_id)
    await until_done(rig, intent_id)
    stopped = [
        Recorded("attempt/hanging_model_stopped", attempt(task_id)),
        Recorded("stop/hanging_model", stop_workflow(intent_id)),
    ]
    async with rig.parts.database.write(rig.scope) as tx:
        wanted = resumes.Resume(task_id, "resume", instructions=f"{MARKER} {submit()}")
        await resumes.resume_task(tx, wanted, "owner")
    rig.pulse.ring()
    await ended(rig, task_id)
    return [*stopped, Recorded("task/resumed", task_workflow(task_id))]


async def card_stopped(rig: Rig) -> Sequence[Recorded]:
    """A stop withdraws the card that a task waits for."""
    task_id = await delegated(rig, f"{write()}[[then]]{submit()}")
    await rig.card(task_id=task_id)
    intent_id = await stop(rig, task_id)
    await until_done(rig, intent_id)
    return [
        Recorded("attempt/card_stopped", attempt(task_id)),
        Recorded("task/stopped", task_workflow(task_id)),
        Recorded("stop/card", stop_workflow(intent_id)),
    ]


async def sub_task(rig: Rig) -> Sequence[Recorded]:
    """A task hands a part of its work over and waits for it."""
    part = tool("delegate_task", title=f"{MARKER} part", instructions=f"{MARKER} {submit()}")
    await rig.send(
        tool("delegate_task", title=f"{MARKER} whole", instructions=f"{MARKER} {part}[[then]]{submit()}")
        + f"[[then]]{say('in hand')}"
    )
    await rig.until_message(origin="delivery")
    whole = await the_task(rig, title=f"{MARKER} whole")
    child = await the_task(rig, title=f"{MARKER} part")
    return [
        Recorded("attempt/waited_for_sub_task", attempt(whole["task_id"])),
        Recorded("attempt/sub_task", attempt(child["task_id"])),
        Recorded("task/sub_task", task_workflow(child["task_id"])),
    ]


async def undelivered_stopped(rig: Rig) -> Sequence[Recorded]:
    """A completed task is stopped while its reply is written: the reply is cancelled, the result stays."""
    task_id = await delegated(rig, tool("submit_result", summary=f"[[delay:1500]]{say('slowly')}"))
    delivery = await until_delivery(rig, state="submitted")
    intent_id = await stop(rig, task_id)
    await until_done(rig, intent_id)
    return [
        Recorded("delivery/cancelled", delivery_workflow(delivery.delivery_id)),
        Recorded("stop/undelivered", stop_workflow(intent_id)),
    ]


SCENARIOS = (
    Scenario(question_answered),
    Scenario(hanging_model_stopped),
    Scenario(card_stopped),
    Scenario(sub_task),
    Scenario(undelivered_stopped),
)
