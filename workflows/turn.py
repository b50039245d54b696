"""One reply of the assistant (C1): the agent loop, parked while a card keeps others waiting."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from contracts.conversation import ConversationActivities, ParkRequest, TurnOutcome, TurnRef
    from contracts.effects import EffectRef
    from contracts.run import RunActivities
    from contracts.search_attributes import STATE
    from contracts.starting import effect_start
    from domain.run import Following, RunRef
    from workflows.activity_calls import shared, start
    from workflows.agent_loop import agent_loop, unfinished


@workflow.defn(name="TurnWorkflow")
class TurnWorkflow:
    """Carries out one turn.

    Signals: `effect_ended` (look at the rows), `others_wait` (something is queued behind), `stop` (look at the rows).
    Query: `state`. Ends with the turn's reply, failure, stop, or parked.
    """

    @workflow.init
    def __init__(self, turn: TurnRef) -> None:
        """Nothing has ended yet."""
        self._turn = turn
        self._ended_effects: list[str] = []
        self._others_wait = False
        self._state = "running"

    @workflow.signal
    def effect_ended(self, effect_id: str) -> None:
        """An effect of this run ended."""
        self._ended_effects.append(effect_id)

    @workflow.signal
    def others_wait(self) -> None:
        """Something is queued behind this turn."""
        self._others_wait = True

    @workflow.signal
    def stop(self) -> None:
        """A stop was accepted; the rows say so, the host has cut the stream, withdrawn cards end their effects."""

    @workflow.query(description="How far the turn is")
    def state(self) -> dict[str, str]:
        """The turn's state."""
        return {"state": self._state}

    @workflow.run
    async def run(self, turn: TurnRef) -> str:
        """Run the loop and store its end."""
        following = Following(kind="model", step=1)
        if turn.continues:
            following = await shared(RunActivities.position, turn.run, summary="Where the parked turn stood")
        end = await agent_loop(turn.run, following, self._wait)
        if end is not None and unfinished(end):
            workflow.continue_as_new(turn.model_copy(update={"continues": True}))
        self._state = "parked" if end is None else end.kind
        if end is not None:
            await shared(ConversationActivities.end, _outcome(turn.run, end), summary="Store the turn's end")
        workflow.upsert_search_attributes([STATE.value_set(self._state)])
        return self._state

    async def _wait(self, following: Following) -> bool:
        run, effect_id = self._turn.run, following.effect_id or ""
        await start(effect_start(EffectRef(user_space=run.user_space, domain=run.domain, effect_id=effect_id)))
        self._state = "waiting_effect"
        workflow.set_current_details(f"Waiting for `effect:{effect_id}`.")
        deadline = workflow.now() + timedelta(seconds=self._turn.park_after_s)
        while effect_id not in self._ended_effects:
            late = workflow.now() >= deadline
            request = ParkRequest(run=run, only_if_queued=not late)
            if await shared(ConversationActivities.park, request, summary="Park if others wait"):
                return False
            # After the deadline only the effect's end is waited for: the card was decided, or there is none.
            await self._ended_or_others_wait(effect_id, None if late else deadline - workflow.now())
        self._state = "running"
        return True

    async def _ended_or_others_wait(self, effect_id: str, patience: timedelta | None) -> None:
        self._others_wait = False
        try:
            await workflow.wait_condition(
                lambda: effect_id in self._ended_effects or self._others_wait,
                timeout=patience,
                timeout_summary="Park the turn",
            )
        except TimeoutError:
            return


def _outcome(run: RunRef, end: Following) -> TurnOutcome:
    if end.kind == "reply":
        return TurnOutcome(run=run, outcome="reply")
    if end.kind == "fail":
        return TurnOutcome(run=run, outcome="failed", reason=end.reason)
    return TurnOutcome(run=run, outcome="stopped", reason=end.reason)
