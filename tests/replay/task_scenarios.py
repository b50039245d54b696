"""Scenarios of tasks, their attempts and deliveries (T5, T18, D1-D4, D10)."""

from collections.abc import Sequence

from contracts.names import delivery_workflow, effect_workflow, task_workflow, turn_workflow
from tests.replay.scenario import MARKER, Recorded, Scenario, attempt, delegated, ended, say, submit, tool, write
from tests.workflows.rig import Rig


async def one_step(rig: Rig) -> Sequence[Recorded]:
    """The shortest task: one model step that submits the result."""
    task_id = await delegated(rig, submit())
    delivery_id, turn_id = await ended(rig, task_id)
    return [
        Recorded("task/completed", task_workflow(task_id)),
        Recorded("attempt/one_step", attempt(task_id)),
        Recorded("delivery/result", delivery_workflow(delivery_id)),
        Recorded("turn/delivery", turn_workflow(turn_id)),
    ]


async def several_steps(rig: Rig) -> Sequence[Recorded]:
    """Progress, file tools, an unknown tool, then the result with an artifact."""
    (rig.parts.files.root / f"{MARKER}.md").write_text(MARKER)
    looking = tool("report_progress", text=f"{MARKER} half") + tool("list_files", path=".") + tool("no_such_tool")
    result = tool("submit_result", summary=f"{MARKER} four", artifacts=[f"{MARKER}.md"])
    task_id = await delegated(rig, f"{looking}[[then]]{say('thinking')}[[then]]{result}")
    await ended(rig, task_id)
    return [Recorded("attempt/several_steps", attempt(task_id))]


async def effect_allowed(rig: Rig) -> Sequence[Recorded]:
    """A task asks before it writes, and is allowed."""
    task_id = await delegated(rig, f"{write()}[[then]]{submit()}")
    card = await rig.card(task_id=task_id)
    await rig.decide(card, "allow_once")
    await ended(rig, task_id)
    return [
        Recorded("attempt/effect_allowed", attempt(task_id)),
        Recorded("effect/succeeded", effect_workflow(card["effect_id"])),
    ]


async def effect_denied(rig: Rig) -> Sequence[Recorded]:
    """A task asks before it writes, and is denied."""
    task_id = await delegated(rig, f"{write()}[[then]]{submit()}")
    card = await rig.card(task_id=task_id)
    await rig.decide(card, "deny")
    await ended(rig, task_id)
    return [
        Recorded("attempt/effect_denied", attempt(task_id)),
        Recorded("effect/denied", effect_workflow(card["effect_id"])),
    ]


async def effect_expired(rig: Rig) -> Sequence[Recorded]:
    """Nobody decides a task's card in time."""
    task_id = await delegated(rig, f"{write()}[[then]]{submit()}")
    card = await rig.card(task_id=task_id, state="expired")
    await ended(rig, task_id)
    return [
        Recorded("attempt/effect_expired", attempt(task_id)),
        Recorded("effect/expired", effect_workflow(card["effect_id"])),
    ]


async def no_result_submitted(rig: Rig) -> Sequence[Recorded]:
    """The executor only talks: it is reminded once, then the task fails."""
    task_id = await delegated(rig, f"{say('hm')}[[then]]{say('well')}")
    delivery_id, _ = await ended(rig, task_id)
    return [
        Recorded("attempt/no_result_submitted", attempt(task_id)),
        Recorded("task/failed", task_workflow(task_id)),
        Recorded("delivery/failure", delivery_workflow(delivery_id)),
    ]


async def failed_by_executor(rig: Rig) -> Sequence[Recorded]:
    """The executor gives up in words."""
    task_id = await delegated(rig, tool("fail_task", reason=f"{MARKER} no way"))
    delivery_id, _ = await ended(rig, task_id)
    return [
        Recorded("attempt/failed_by_executor", attempt(task_id)),
        Recorded("delivery/failure_by_executor", delivery_workflow(delivery_id)),
    ]


async def failed_model(rig: Rig) -> Sequence[Recorded]:
    """The executor's provider refuses for good."""
    task_id = await delegated(rig, f"[[error:400 {MARKER}]]")
    await ended(rig, task_id)
    return [Recorded("attempt/failed_model", attempt(task_id))]


async def verbatim(rig: Rig) -> Sequence[Recorded]:
    """No model answers when the result is to be told: it is delivered as it is."""
    task_id = await delegated(rig, tool("submit_result", summary=f"[[error:400 {MARKER}]] four"))
    delivery_id, turn_id = await ended(rig, task_id)
    return [
        Recorded("delivery/verbatim", delivery_workflow(delivery_id)),
        Recorded("turn/verbatim_delivery", turn_workflow(turn_id)),
    ]


SCENARIOS = (
    Scenario(one_step),
    Scenario(several_steps),
    Scenario(effect_allowed),
    Scenario(effect_denied),
    Scenario(effect_expired, {"card_expiry_s": 1}),
    Scenario(no_result_submitted),
    Scenario(failed_by_executor),
    Scenario(failed_model),
    Scenario(verbatim),
)
