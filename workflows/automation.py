"""A firing of an automation (U4): decided by one transaction, then followed to the end of its task, so overlap is seen.

Whoever starts it, the schedule or the relay, it has the same id and does the same: the rows are the truth.
"""

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ActivityError, ApplicationError

with workflow.unsafe.imports_passed_through():
    from contracts import options
    from contracts.automations import AutomationActivities, AutomationRef, FiringStatus
    from contracts.search_attributes import STATE
    from workflows.activity_calls import on_any_worker, shared
    from workflows.agent_loop import has_room

# Set by Temporal in every workflow that a schedule starts: the nominal time, however late it is now.
SCHEDULED_TIME = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")


@workflow.defn(name="AutomationWorkflow")
class AutomationWorkflow:
    """Follows one firing until its task is terminal.

    Signal: `task_ended` (look at the rows). Query: `state`.
    """

    @workflow.init
    def __init__(self, firing: AutomationRef) -> None:
        """Nothing is decided yet."""
        self._look = False
        self._status = FiringStatus(state="deciding")

    @workflow.signal
    def task_ended(self) -> None:
        """The task of this firing, or of one before it, has ended."""
        self._look = True

    @workflow.query(description="What was decided about this nominal time, and how it ended")
    def state(self) -> FiringStatus:
        """What was read last."""
        return self._status

    @workflow.run
    async def run(self, firing: AutomationRef) -> str:
        """Decide, keep the schedule supplied, then follow the task to its end."""
        firing = _with_nominal_time(firing)
        self._show(await shared(AutomationActivities.fire, firing, summary="Decide this nominal time"))
        await self._renew(firing)
        while self._status.open or self._look:
            if not has_room():
                # The task may wait for a person for months. A new run reads everything again, so no hint is lost.
                workflow.continue_as_new(firing)
            self._look = False
            self._show(await shared(AutomationActivities.conclude, firing, summary="Read how the task stands"))
            if self._status.open:
                await self._until_told()
        workflow.upsert_search_attributes([STATE.value_set(self._status.outcome or self._status.state)])
        return self._status.outcome or self._status.state

    async def _renew(self, firing: AutomationRef) -> None:
        try:
            await on_any_worker(
                AutomationActivities.renew, firing, summary="Supply the schedule with the next times",
                start_to_close=options.RENEW_TIMEOUT, retry=options.RENEW_RETRY,
            )  # fmt: skip
        except ActivityError:
            # The next firing does it, or the host's regular look; this one is not lost for it.
            workflow.logger.warning("the schedule was not renewed")

    async def _until_told(self) -> None:
        try:
            await workflow.wait_condition(
                lambda: self._look, timeout=options.REREAD_AFTER, timeout_summary="Until the task is read again"
            )
        except TimeoutError:
            return

    def _show(self, status: FiringStatus) -> None:
        self._status = status
        reason = f" ({status.reason})" if status.reason is not None else ""
        workflow.set_current_details(f"This nominal time: **{status.outcome or status.state}**{reason}.")


def _with_nominal_time(firing: AutomationRef) -> AutomationRef:
    if firing.nominal_time is not None:
        return firing
    nominal_time = workflow.info().typed_search_attributes.get(SCHEDULED_TIME)
    if nominal_time is None:
        raise ApplicationError("No nominal time was given.", type="nominal_time_missing", non_retryable=True)
    return firing.model_copy(update={"nominal_time": nominal_time})
