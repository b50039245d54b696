"""What a task costs in history (T18): counted from the server, so that nothing a step does is forgotten."""

import json

from benchmarks.history_cost import cost_of
from contracts.names import attempt_workflow, delivery_workflow, task_workflow
from tests.workflows.rig import Rig
from tests.workflows.test_effects_of_runs import delegate

READ = '[[tool:read_file {"path":"notes.txt"}]]'
BAR = 40
A_FURTHER_STEP = 6


async def test_a_task_costs_forty_events_and_six_for_each_further_step(rig: Rig) -> None:
    """T18: also a step that reads files, several of them, costs no more than its model step."""
    (rig.parts.files.root / "notes.txt").write_text("kept")
    plain = await _events(rig, "plain")
    reading = await _events(rig, "reading", f"{READ}[[then]]{READ}[[tool:list_files {{}}]][[then]]")
    assert plain <= BAR
    assert reading - plain <= 2 * A_FURTHER_STEP


async def _events(rig: Rig, summary: str, first: str = "") -> int:
    await rig.send(delegate(summary, f"{first}[[tool:submit_result {json.dumps({'summary': summary})}]]"))
    told = (await rig.until_message(origin="delivery", text=f"echo: {summary}"))["delivery"]
    ids = (
        task_workflow(told["task_id"]),
        attempt_workflow(told["task_id"], 1, 1),
        delivery_workflow(told["delivery_id"]),
    )
    for workflow_id in ids:
        await rig.client.get_workflow_handle(workflow_id).result()
    return (await cost_of(rig.client, *ids)).events
