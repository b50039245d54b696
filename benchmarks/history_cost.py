"""What workflows cost in history: events, bytes, and activities, normal and local, counted from the server."""

from collections.abc import Iterable
from dataclasses import dataclass

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowHistory


@dataclass(frozen=True, slots=True)
class Cost:
    """The size of some histories."""

    events: int = 0
    size: int = 0
    normal: int = 0
    local: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.events + other.events, self.size + other.size, self.normal + other.normal, self.local + other.local
        )

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(
            self.events - other.events, self.size - other.size, self.normal - other.normal, self.local - other.local
        )


async def cost_of(client: Client, *workflow_ids: str) -> Cost:
    """The cost of these workflows' newest runs together."""
    total = Cost()
    for workflow_id in workflow_ids:
        handle = client.get_workflow_handle(workflow_id)
        events = [event async for event in handle.fetch_history_events()]
        size = sum(event.ByteSize() for event in events)
        normal = _count(event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED for event in events)
        local = _count(event.event_type == EventType.EVENT_TYPE_MARKER_RECORDED for event in events)
        total += Cost(len(events), size, normal, local)
    return total


async def runs_of(client: Client, workflow_id: str) -> list[WorkflowHistory]:
    """The histories of all runs of a workflow that continues as new, newest first."""
    histories: list[WorkflowHistory] = []
    run_id: str | None = None
    while run_id != "":
        history = await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()
        histories.append(history)
        run_id = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    return histories


def size_of(history: WorkflowHistory) -> int:
    """The bytes of a history's events."""
    return sum(event.ByteSize() for event in history.events)


def _count(found: Iterable[bool]) -> int:
    return sum(1 for one in found if one)
