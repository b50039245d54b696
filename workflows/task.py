"""A task (T18): starts the current attempt, waits for its end and for its deliveries, begins again on resume."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from contracts.search_attributes import STATE
    from contracts.tasks import TaskActivities, TaskRef, TaskStatus
    from workflows.activity_calls import shared


@workflow.defn(name="TaskWorkflow")
class TaskWorkflow:
    """Follows a task until it is terminal and its deliveries are settled.

    Signals: `attempt_ended`, `delivery_settled`, `changed`; all are hints to look at the rows. Query: `state`.
    """

    @workflow.init
    def __init__(self, task: TaskRef) -> None:
        """Nothing is known yet."""
        self._changed = False
        self._state = "accepted"

    @workflow.signal
    def attempt_ended(self) -> None:
        """The current attempt ended."""
        self._changed = True

    @workflow.signal
    def delivery_settled(self) -> None:
        """A delivery was delivered, failed or cancelled."""
        self._changed = True

    @workflow.signal
    def changed(self) -> None:
        """The rows changed otherwise: a new requirement version, say."""
        self._changed = True

    @workflow.query(description="The task's state")
    def state(self) -> dict[str, str]:
        """The state that was last read."""
        return {"state": self._state}

    @workflow.run
    async def run(self, task: TaskRef) -> str:
        """Begin the attempt, then follow the rows to the end."""
        status = await shared(TaskActivities.begin, task, summary="Begin the current attempt")
        # A resume may have been told of while the rows were read.
        while self._changed or not (status.terminal and status.open_deliveries == 0):
            self._show(status)
            await workflow.wait_condition(lambda: self._changed)
            self._changed = False
            status = await shared(TaskActivities.begin, task, summary="Read the task")
        self._show(status)
        workflow.upsert_search_attributes([STATE.value_set(status.state)])
        return status.state

    def _show(self, status: TaskStatus) -> None:
        self._state = status.state
        workflow.set_current_details(f"State **{status.state}**, open deliveries: {status.open_deliveries}.")
