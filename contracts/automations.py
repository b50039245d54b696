"""Automations on the wire (U1, U10): ids, revisions, times and states; what they do and what they are called is in SQL.

The hard thing is that two start the same workflow: Temporal's schedule, which knows no nominal time beforehand, and the
relay, which names it.
"""

from datetime import datetime

from temporalio import activity

from contracts.run import Wire


class AutomationRef(Wire):
    """Names an automation as it stood when this was written, and a firing of it where `nominal_time` is set.

    Without one the nominal time is what the schedule that started the workflow says.
    """

    user_space: str
    domain: str
    automation_id: str
    binding_id: str
    revision: int
    schedule_revision: int
    binding_revision: int
    agent_id: str = "twin"
    nominal_time: datetime | None = None

    @property
    def memo(self) -> dict[str, str | int]:
        """What operators read beside a schedule or a firing (U10)."""
        return {
            "automation_id": self.automation_id,
            "binding_id": self.binding_id,
            "revision": self.revision,
            "schedule_revision": self.schedule_revision,
            "binding_revision": self.binding_revision,
        }


class FiringStatus(Wire):
    """What a firing's workflow needs to know: what was decided, and whether anything is still to be waited for."""

    state: str
    reason: str | None = None
    outcome: str | None = None
    open: bool = False


class AutomationActivities:
    """The rows and the schedule behind a firing's workflow."""

    @activity.defn(name="automation.fire")
    async def fire(self, firing: AutomationRef) -> FiringStatus:
        """Decide the nominal time, and all that are due before it, once and for all; again, it is the same answer."""
        raise NotImplementedError

    @activity.defn(name="automation.renew")
    async def renew(self, firing: AutomationRef) -> str:
        """Make the automation's schedule follow its row, with the instants that come next; what was done to it."""
        raise NotImplementedError

    @activity.defn(name="automation.conclude")
    async def conclude(self, firing: AutomationRef) -> FiringStatus:
        """Record how the run ended if its task has, with what follows: the count of failures, a buffered firing."""
        raise NotImplementedError
