"""One execution of one requirement version of a task (T18): the agent loop in a hidden session."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from contracts.effects import EffectRef
    from contracts.search_attributes import STATE
    from contracts.starting import effect_start
    from contracts.tasks import AttemptEnd, TaskActivities
    from domain.attempt import AttemptState
    from domain.run import Following, RunRef
    from workflows.activity_calls import shared, start
    from workflows.agent_loop import agent_loop, unfinished

ENDED_WITH_DELIVERY = (AttemptState.SUCCEEDED, AttemptState.FAILED)


@workflow.defn(name="AttemptWorkflow")
class AttemptWorkflow:
    """Carries out one attempt.

    Signals: `effect_ended`, `look` (both: look at the rows). Query: `state`. Ends when the attempt's row has ended.
    """

    @workflow.init
    def __init__(self, run: RunRef) -> None:
        """Nothing has ended yet."""
        self._run = run
        self._ended_effects: list[str] = []
        self._look = False
        self._state = "running"

    @workflow.signal
    def effect_ended(self, effect_id: str) -> None:
        """An effect of this attempt ended."""
        self._ended_effects.append(effect_id)

    @workflow.signal
    def look(self) -> None:
        """A question was settled, a sub-task ended, or a stop was accepted: look at the rows."""
        self._look = True

    @workflow.query(description="How far the attempt is")
    def state(self) -> dict[str, str]:
        """The attempt's state."""
        return {"state": self._state}

    @workflow.run
    async def run(self, run: RunRef) -> str:
        """Run the loop; store its end and tell the task where the executor did not end it itself."""
        # A stored first step is reused, so a run that continues as new finds its place by this too.
        end = await agent_loop(run, Following(kind="model", step=1), self._wait)
        if end is None or unfinished(end):
            workflow.continue_as_new(run)
        self._state = end.state or "running"
        if end.kind == "fail" or self._state not in ENDED_WITH_DELIVERY:
            # A result or failure is delivered, and its delivery tells the task; any other end is told from here.
            ended = AttemptEnd(run=run, reason=(end.reason or "turn_failed") if end.kind == "fail" else None)
            self._state = await shared(TaskActivities.end_attempt, ended, summary="Store the attempt's end")
        if self._state != AttemptState.SUCCEEDED:
            workflow.upsert_search_attributes([STATE.value_set(self._state)])
        return self._state

    async def _wait(self, following: Following) -> bool:
        if following.effect_id is not None:
            await self._wait_for_effect(following.effect_id)
        else:
            self._state = f"waiting_{following.kind}"
            workflow.set_current_details(f"Waiting for `{following.waits_for}`.")
            await workflow.wait_condition(lambda: self._look)
            self._look = False
        self._state = "running"
        workflow.set_current_details("Running.")
        return True

    async def _wait_for_effect(self, effect_id: str) -> None:
        run = self._run
        await start(effect_start(EffectRef(user_space=run.user_space, domain=run.domain, effect_id=effect_id)))
        self._state = "waiting_effect"
        workflow.set_current_details(f"Waiting for `effect:{effect_id}`.")
        await workflow.wait_condition(lambda: effect_id in self._ended_effects)
