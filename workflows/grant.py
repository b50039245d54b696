"""A grant (A12): keeps its time and shows how it stands. The row decides: a late timer here extends nothing."""

from datetime import timedelta

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from contracts import options
    from contracts.grants import GrantActivities, GrantRef, GrantStatus
    from contracts.search_attributes import STATE
    from workflows.activity_calls import shared


@workflow.defn(name="GrantWorkflow")
class GrantWorkflow:
    """Follows one grant until it has expired or was revoked.

    Signal: `revoke` (it was revoked; look at the row). Query: `state`.
    """

    @workflow.init
    def __init__(self, grant: GrantRef) -> None:
        """Nothing is known yet."""
        self._look = False
        self._status = GrantStatus(state="active")

    @workflow.signal
    def revoke(self) -> None:
        """The grant was revoked."""
        self._look = True

    @workflow.query(description="How the grant stands, and the size of its bounds")
    def state(self) -> GrantStatus:
        """What was read last."""
        return self._status

    @workflow.run
    async def run(self, grant: GrantRef) -> str:
        """Wait for the expiry or the revocation, whichever is first."""
        while True:
            self._status = await shared(GrantActivities.look, grant, summary="Read how the grant stands")
            status = self._status
            workflow.set_current_details(
                f"The grant is **{status.state}**: {status.actions} kinds of action, {status.resources} resources."
            )
            if status.ended:
                workflow.upsert_search_attributes([STATE.value_set(status.state)])
                return status.state
            await self._until_due()

    async def _until_due(self) -> None:
        left = options.EXPIRE_AGAIN_AFTER
        if self._status.expires_at is not None:
            # The database's clock decides; where it is behind this one, asking again must not become a busy loop.
            left = max(self._status.expires_at - workflow.now(), options.EXPIRE_AGAIN_AFTER)
        await self._revoked_within(left)

    async def _revoked_within(self, patience: timedelta) -> None:
        try:
            await workflow.wait_condition(lambda: self._look, timeout=patience, timeout_summary="Until it expires")
        except TimeoutError:
            return
        self._look = False
