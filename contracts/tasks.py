"""Tasks and attempts on the wire (T3, T18)."""

from temporalio import activity

from contracts.run import RunRef, Wire


class TaskRef(Wire):
    """Names one task."""

    user_space: str
    domain: str
    task_id: str
    agent_id: str = "twin"
    engine: str = "native"


class TaskStatus(Wire):
    """What a task's workflow needs to know: states and counts only (I9)."""

    state: str
    terminal: bool
    open_deliveries: int = 0


class AttemptEnd(Wire):
    """The end of an attempt; `reason` is set when the executor did not end it itself."""

    run: RunRef
    reason: str | None = None


class TaskActivities:
    """The rows behind a task's workflows."""

    @activity.defn(name="task.begin")
    async def begin(self, task: TaskRef) -> TaskStatus:
        """Begin the current attempt if it waits to begin, start its workflow if it does not run, read the state."""
        raise NotImplementedError

    @activity.defn(name="attempt.end")
    async def end_attempt(self, end: AttemptEnd) -> str:
        """Store the attempt's failure if nothing ended it yet, tell the task's workflow, return the attempt's state."""
        raise NotImplementedError
