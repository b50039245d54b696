"""The conversation (C1): turns one after the other, in order of acceptance, for ever."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from contracts import options
    from contracts.conversation import ConversationActivities, ConversationRef, TurnEnded
    from contracts.names import turn_workflow
    from workflows.activity_calls import shared, tell
    from workflows.agent_loop import has_room


@workflow.defn(name="ConversationWorkflow")
class ConversationWorkflow:
    """Follows the turns of the queue in SQL, and begins those that nobody else has begun.

    Signals: `wake` (something was queued), `turn_ended`. Both are hints to look at the rows; none carries content.
    Query: `state`. Lives for ever; continues as new between turns.
    """

    @workflow.init
    def __init__(self, ref: ConversationRef) -> None:
        """Start with a look at the queue."""
        self._ref = ref
        self._woken = True
        self._running: str | None = None
        self._ended: set[str] = set()
        self._told_others_wait = False

    @workflow.signal
    def wake(self) -> None:
        """Something was queued."""
        self._woken = True

    @workflow.signal
    def turn_ended(self, ended: TurnEnded) -> None:
        """A turn ended or was parked."""
        self._ended.add(ended.turn_id)

    @workflow.query(description="Which turn runs, if any")
    def state(self) -> dict[str, str | None]:
        """The running turn's id."""
        return {"running_turn_id": self._running}

    @workflow.run
    async def run(self, ref: ConversationRef) -> None:
        """Take the next turn, wait for its end, and so on."""
        while True:
            self._woken = False
            self._ended.clear()
            turn = await shared(ConversationActivities.next_turn, ref, summary="Next turn")
            if turn is None:
                self._running = None
                workflow.set_current_details("Waiting for input.")
                await workflow.wait_condition(lambda: self._woken)
            else:
                self._running = turn.run.turn_id
                workflow.set_current_details(f"Running `{turn_workflow(turn.run.turn_id or '')}`.")
                await self._until_ended(turn.run.turn_id or "")
            if not has_room():
                workflow.continue_as_new(ref)

    async def _until_ended(self, turn_id: str) -> None:
        self._told_others_wait = False
        while turn_id not in self._ended:
            if self._woken and not self._told_others_wait:
                # A turn that waits for a card is parked when something else is queued (C1); it must hear of it.
                self._told_others_wait = True
                await tell(turn_workflow(turn_id), "others_wait")
                continue
            try:
                await workflow.wait_condition(
                    lambda: turn_id in self._ended or (self._woken and not self._told_others_wait),
                    timeout=options.REREAD_AFTER,
                    timeout_summary="Look at the rows again",
                )
            except TimeoutError:
                return
