"""Deliveries on the wire (D11)."""

from temporalio import activity

from contracts.run import Wire


class DeliveryRef(Wire):
    """Names one delivery; `owner_id` is the task or automation that waits for it."""

    user_space: str
    domain: str
    delivery_id: str
    owner_kind: str
    owner_id: str
    kind: str = "result"


class DeliveryActivities:
    """How a delivery reaches the conversation."""

    @activity.defn(name="delivery.submit")
    async def submit(self, delivery: DeliveryRef) -> str:
        """Accept the delivery into the conversation under its own request id; the same again is harmless. State."""
        raise NotImplementedError

    @activity.defn(name="delivery.conclude")
    async def conclude(self, delivery: DeliveryRef) -> str:
        """Read the delivery's state, and tell the owner's workflow when it is settled."""
        raise NotImplementedError
