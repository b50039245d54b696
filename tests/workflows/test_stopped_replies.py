"""A reply that a stop removes from the queue leaves no workflow behind (D3, D11, S2)."""

import asyncio

from contracts.names import delivery_workflow, stop_workflow, task_workflow
from store.turn_stops import stop_turn
from tests.conftest import Eventually
from tests.workflows.rig import Rig
from tests.workflows.test_control import stop, the_task, until_done
from tests.workflows.test_effects_of_runs import delegate


async def test_a_queued_reply_is_cancelled_and_all_its_workflows_close(rig: Rig, eventually: Eventually) -> None:
    """D3, S5: the conversation is busy; the queued reply never appears, delivery, task and stop come to their end."""
    await rig.send(delegate("Sum", '[[tool:submit_result {"summary":"done"}]]'))
    busy = await rig.send("[[hang:60]][[say:late]]")
    task = await the_task(rig, title="Sum", state="completed")
    task_id = str(task["task_id"])

    async def submitted() -> bool:
        return [row["state"] for row in await _deliveries(rig, task_id)] == ["submitted"]

    await eventually(submitted, "the reply is queued")
    intent_id = await stop(rig, task_id)
    assert (await until_done(rig, intent_id))["outcome"] == "already_terminal"
    [delivery] = await _deliveries(rig, task_id)
    assert (delivery["state"], delivery["reason"]) == ("cancelled", "task_stopped")
    for workflow_id in (
        delivery_workflow(str(delivery["delivery_id"])), task_workflow(task_id), stop_workflow(intent_id)
    ):  # fmt: skip
        assert await asyncio.wait_for(rig.client.get_workflow_handle(workflow_id).result(), 30) is not None
    async with rig.parts.database.write(rig.scope) as tx:
        await stop_turn(tx, rig.session_id, busy.turn_id or "", "stop-turn", "owner")
    rig.pulse.ring()
    assert [m for m in await rig.messages() if m["origin"] == "delivery"] == []


async def _deliveries(rig: Rig, task_id: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = (await the_task(rig, task_id=task_id))["deliveries"]
    return found
