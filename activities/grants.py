"""The row behind a grant's workflow (A12)."""

from temporalio import activity

from activities.scopes import scope_of
from contracts.grants import GrantActivities, GrantRef, GrantStatus
from store import grant_rows, grants
from store.database import Database


class GrantWork(GrantActivities):
    """The grant's activities over the control plane."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @activity.defn(name="grant.look")
    async def look(self, grant: GrantRef) -> GrantStatus:
        """Read how the grant stands by the database's time; record its expiry once when it has come."""
        async with self._database.write(scope_of(grant)) as tx:
            row = await grant_rows.grant_row(tx, grant.grant_id)
            state = grant_rows.state_of(tx, row)
            ended = state in grant_rows.ENDED
            if ended:
                await grants.note_end(tx, row)
            return GrantStatus(
                state=state.value,
                ended=ended,
                expires_at=row.expires_at,
                actions=len(row.bounds["actions"]),
                resources=len(row.bounds["resources"]),
            )
