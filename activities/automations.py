"""The rows and the schedule behind a firing's workflow (U3-U7)."""

from dataclasses import replace
from datetime import datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.authority import OutsideAuthority
from activities.heartbeat import beating
from activities.schedule_sync import AutomationSchedules
from activities.scopes import scope_of
from contracts.automations import AutomationActivities, AutomationRef, FiringStatus
from domain.automation_firing import FiringState
from domain.refusal import Refused
from store import automation_runs
from store.automation_runs import FiringRules
from store.database import Database
from store.tables_automations import AutomationRunRow


class AutomationWork(AutomationActivities):
    """The activities of firings over the control plane."""

    def __init__(
        self, database: Database, schedules: AutomationSchedules, rules: FiringRules, outside: OutsideAuthority
    ) -> None:
        self._database = database
        self._schedules = schedules
        self._rules = rules
        self._outside = outside

    @activity.defn(name="automation.fire")
    async def fire(self, firing: AutomationRef) -> FiringStatus:
        """Decide the nominal time, and all that are due before it, once and for all; again, it is the same answer."""
        nominal_time = _nominal_time(firing)
        refused = await self._outside.refused_of_binding(firing.automation_id, scope_of(firing))
        try:
            async with self._database.write(scope_of(firing)) as tx:
                run = await automation_runs.fire(
                    tx, firing.automation_id, nominal_time, firing.schedule_revision,
                    replace(self._rules, refused=refused),
                )  # fmt: skip
                return _status(run)
        except Refused as refusal:
            raise _for_good(refusal) from None

    @activity.defn(name="automation.renew")
    async def renew(self, firing: AutomationRef) -> str:
        """Make the automation's schedule follow its row, with the instants that come next; what was done to it."""
        async with beating():
            try:
                return await self._schedules.renew(scope_of(firing), firing.automation_id)
            except Refused as refusal:
                raise _for_good(refusal) from None

    @activity.defn(name="automation.conclude")
    async def conclude(self, firing: AutomationRef) -> FiringStatus:
        """Record how the run ended if its task has, with what follows: the count of failures, a buffered firing."""
        nominal_time = _nominal_time(firing)
        refused = await self._outside.refused_of_binding(firing.automation_id, scope_of(firing))
        try:
            async with self._database.write(scope_of(firing)) as tx:
                run = await automation_runs.conclude(
                    tx, firing.automation_id, nominal_time, firing.schedule_revision,
                    replace(self._rules, refused=refused),
                )  # fmt: skip
                return _status(run)
        except Refused as refusal:
            # It ended long ago and its record was forgotten, or SQL was restored to before it: nothing is to follow.
            raise _for_good(refusal) from None


def _nominal_time(firing: AutomationRef) -> datetime:
    if firing.nominal_time is None:
        raise ApplicationError("a firing without its nominal time", type="nominal_time_missing", non_retryable=True)
    return firing.nominal_time


def _status(run: AutomationRunRow) -> FiringStatus:
    return FiringStatus(
        state=run.state,
        reason=run.reason,
        outcome=run.outcome,
        open=run.state == FiringState.RAN.value and run.ended_at is None,
    )


def _for_good(refused: Refused) -> ApplicationError:
    # The row is gone, or cannot be read by this version: asking again changes nothing (U8).
    return ApplicationError(refused.refusal.code, type=refused.refusal.code, non_retryable=True)
