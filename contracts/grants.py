"""Grants on the wire (A12): states, times and counts only; what a grant covers stays in SQL (I9)."""

from datetime import datetime

from temporalio import activity

from contracts.run import Wire


class GrantRef(Wire):
    """Names one grant."""

    user_space: str
    domain: str
    grant_id: str


class GrantStatus(Wire):
    """What a grant's workflow needs to know, and what operators see of its bounds: how many, not which."""

    state: str
    ended: bool = False
    expires_at: datetime | None = None
    actions: int = 0
    resources: int = 0


class GrantActivities:
    """The row behind a grant's workflow."""

    @activity.defn(name="grant.look")
    async def look(self, grant: GrantRef) -> GrantStatus:
        """Read how the grant stands by the database's time; record its expiry once when it has come."""
        raise NotImplementedError
