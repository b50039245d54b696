"""A stop (S12): reconciles until nothing that it covers runs any more, however long that takes (S9)."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from contracts import options
    from contracts.search_attributes import STATE
    from contracts.stops import IntentRef, StopActivities, StopStatus
    from workflows.activity_calls import shared


@workflow.defn(name="StopWorkflow")
class StopWorkflow:
    """Drives one stop intent to `done`.

    Signal: `look` (something it waits for ended). Query: `state`. It looks by itself too, ever less often.
    """

    @workflow.init
    def __init__(self, intent: IntentRef) -> None:
        """Nothing is known yet."""
        self._look = False
        self._status = StopStatus(state="accepted")

    @workflow.signal
    def look(self) -> None:
        """Something the stop waits for has ended."""
        self._look = True

    @workflow.query(description="How far the stop is, and how much still runs")
    def state(self) -> StopStatus:
        """What was read last."""
        return self._status

    @workflow.run
    async def run(self, intent: IntentRef) -> str:
        """Reconcile until it is done."""
        pause = options.STOP_LOOKS_AGAIN
        while True:
            self._status = await shared(StopActivities.reconcile, intent, summary="Reconcile")
            if self._status.done:
                workflow.upsert_search_attributes([STATE.value_set(self._status.state)])
                return self._status.state
            workflow.set_current_details(
                f"Still running: {self._status.attempts} attempts, {self._status.effects} effects, "
                f"{self._status.replies} replies."
            )
            await self._looked_within(pause)
            pause = min(2 * pause, options.STOP_LOOKS_AGAIN_AT_MOST)
            if workflow.info().get_current_history_length() > options.EVENTS_BEFORE_NEW_RUN:
                workflow.continue_as_new(intent)

    async def _looked_within(self, patience: timedelta) -> None:
        try:
            await workflow.wait_condition(lambda: self._look, timeout=patience, timeout_summary="Look again")
        except TimeoutError:
            return
        finally:
            self._look = False
