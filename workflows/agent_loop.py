"""The agent loop that turns and attempts share (T4): ask what follows, do it, until the run has its end."""

from collections.abc import Awaitable, Callable

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from contracts import options
    from contracts.run import RunActivities
    from domain.run import Following, RunRef
    from workflows.activity_calls import model_step, shared, tool_call

Wait = Callable[[Following], Awaitable[bool]]
WAITING = ("effect", "question", "child")
WORKING = ("model", "call", "propose")


async def agent_loop(run: RunRef, following: Following, wait: Wait) -> Following | None:
    """Run the loop from `following` on.

    Args:
        run: The run.
        following: Where it stands.
        wait: Waits until what a call waits for (an effect, a question, a sub-task) may have ended; False when the run
            lets go of it instead (parked).

    Returns:
        The end: `reply`, `fail` or `ended`; what follows, when the history has no more room and the workflow has to
        continue as new (T18); None when `wait` let go.
    """
    while unfinished(following) and has_room():
        try:
            if following.kind == "model":
                following = await model_step(run, following.step)
            elif following.kind in WORKING:
                following = await tool_call(run, following)
            elif await wait(following):
                following = await shared(RunActivities.position, run, summary="What follows")
            else:
                return None
        except ActivityError as error:
            # Retries have a bound only where the failure is certain to repeat; a run never hangs on it (O3).
            workflow.logger.warning("a step of the run failed: %s", error.activity_type)
            return Following(kind="fail", reason="turn_failed")
    return following


def has_room() -> bool:
    """Whether the history may grow, or the workflow should continue as new: by its length, or by the server's word."""
    info = workflow.info()
    return info.get_current_history_length() < options.EVENTS_BEFORE_NEW_RUN and not info.is_continue_as_new_suggested()


def unfinished(following: Following) -> bool:
    """Whether the run has something left to do."""
    return following.kind in (*WORKING, *WAITING)
