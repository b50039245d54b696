"""A delivery (D11): has the conversation accept it, waits until it is settled, tells its owner."""

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from contracts.deliveries import DeliveryActivities, DeliveryRef
    from contracts.search_attributes import DELIVERY, STATE
    from domain.delivery import SETTLED
    from workflows.activity_calls import on_host, shared


@workflow.defn(name="DeliveryWorkflow")
class DeliveryWorkflow:
    """Drives one delivery until it is settled; a retry starts it again under the same id.

    Signal: `settled` (look at the row). Query: `state`.
    """

    @workflow.init
    def __init__(self, delivery: DeliveryRef) -> None:
        """It waits."""
        self._look = False
        self._state = "waiting"

    @workflow.signal
    def settled(self) -> None:
        """The turn that carries the delivery ended, or a stop cancelled it."""
        self._look = True

    @workflow.query(description="The delivery's state")
    def state(self) -> dict[str, str]:
        """The state that was last read."""
        return {"state": self._state}

    @workflow.run
    async def run(self, delivery: DeliveryRef) -> str:
        """Submit, wait until it is settled, tell the owner."""
        self._state = await on_host(
            DeliveryActivities.submit,
            delivery,
            user_space=delivery.user_space,
            domain=delivery.domain,
            summary="Submit to the conversation",
        )
        if self._state in SETTLED:
            self._look = True
        while True:
            workflow.set_current_details(f"Delivery is **{self._state}**.")
            await workflow.wait_condition(lambda: self._look)
            self._look = False
            self._state = await shared(DeliveryActivities.conclude, delivery, summary="Read the delivery")
            # A retry may have been told of while the row was read.
            if self._state in SETTLED and not self._look:
                workflow.upsert_search_attributes([STATE.value_set(self._state), DELIVERY.value_set(self._state)])
                return self._state
