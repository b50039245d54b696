"""Records the histories: `python -m tests.replay.record` writes those that are not there yet.

`--label L` writes all of them beside the old ones as `scenario.L.json`: what a patched workflow needs. `--replace`
overwrites, which is right only for histories that were never committed to the main branch. Names may follow.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowHistory

from tests.fake_model_server import FakeModelServer
from tests.replay import (
    attention_scenarios,
    automation_scenarios,
    control_scenarios,
    effect_scenarios,
    task_scenarios,
    turn_scenarios,
)
from tests.replay.history_files import FOLDER, KNOWN_BAD, save
from tests.replay.scenario import Recorded, Scenario
from tests.workflows.rig import Rig, steward

SCENARIOS = (
    *turn_scenarios.SCENARIOS,
    *task_scenarios.SCENARIOS,
    *effect_scenarios.SCENARIOS,
    *control_scenarios.SCENARIOS,
    *attention_scenarios.SCENARIOS,
    *automation_scenarios.SCENARIOS,
)
POLL_S = 0.05
POLLS = 600


async def histories_of(scenario: Scenario) -> list[tuple[Recorded, WorkflowHistory]]:
    """Play a scenario on a Steward of its own and fetch the histories that it leaves."""
    with tempfile.TemporaryDirectory() as folder, FakeModelServer() as models, scenario.around():
        model = {"model": "openai-chat:fake-model", "model_base_url": f"{models.url}/v1", "model_api_key": "key"}
        settings: dict[str, Any] = {**model, **scenario.settings}
        async with steward(Path(folder) / "home", **settings) as rig:
            return [(recorded, await _history(rig, recorded)) for recorded in await scenario.play(rig)]


async def _history(rig: Rig, recorded: Recorded) -> WorkflowHistory:
    """The history of a workflow at rest: closed, or for the conversation, idle."""
    run_id = await _first_run(rig.client, recorded.workflow_id) if recorded.first_run else None
    handle = rig.client.get_workflow_handle(recorded.workflow_id, run_id=run_id)
    for _ in range(POLLS):
        if (await handle.describe()).status is not WorkflowExecutionStatus.RUNNING:
            return await handle.fetch_history()
        if recorded.name.startswith("conversation/"):
            state: dict[str, str | None] = await handle.query("state")
            if state["running_turn_id"] is None:
                return await handle.fetch_history()
        await asyncio.sleep(POLL_S)
    raise AssertionError(f"{recorded.name}: {recorded.workflow_id} is not at rest")


async def _first_run(client: Client, workflow_id: str) -> str:
    newest = await client.get_workflow_handle(workflow_id).fetch_history()
    return newest.events[0].workflow_execution_started_event_attributes.first_execution_run_id


def _known_bad(history: WorkflowHistory) -> None:
    """Keep a history that no version of the code has made: its first activity is another one."""
    event = next(each for each in history.events if each.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED)
    event.activity_task_scheduled_event_attributes.activity_type.name = "run.another_step"
    save(KNOWN_BAD / "turn" / "another_activity.json", history)


async def record(titles: Sequence[str], label: str | None, *, replace: bool) -> None:
    """Play the scenarios one after the other and write what is wanted of them."""
    for scenario in SCENARIOS:
        if titles and scenario.title not in titles:
            continue
        for recorded, history in await histories_of(scenario):
            path = FOLDER / f"{recorded.name}{f'.{label}' if label else ''}.json"
            if recorded.name == "turn/plain_reply" and (replace or not KNOWN_BAD.exists()):
                _known_bad(WorkflowHistory.from_json(recorded.workflow_id, history.to_json()))
            if path.exists() and not replace:
                continue
            size = save(path, history)
            sys.stdout.write(f"{path.relative_to(FOLDER)}: {len(history.events)} events, {size} bytes\n")
            sys.stdout.flush()


def main() -> None:
    """Read the arguments and record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("titles", nargs="*", metavar="NAME", help="scenarios to play; all when none is named")
    parser.add_argument("--label", help="write beside the old files, as SCENARIO.LABEL.json")
    parser.add_argument("--replace", action="store_true", help="overwrite; never for histories of the main branch")
    wanted = parser.parse_args()
    asyncio.run(record(wanted.titles, wanted.label, replace=wanted.replace))


if __name__ == "__main__":
    main()
