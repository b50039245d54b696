"""How a delivery reaches the conversation (D11)."""

from temporalio import activity

from activities.heartbeat import beating
from activities.hints import Hints
from activities.scopes import scope_of
from activities.turn_start import TurnStarter
from contracts.deliveries import DeliveryActivities, DeliveryRef
from domain.delivery import SETTLED, DeliveryState
from store import deliveries
from store.database import Database


class DeliveryWork(DeliveryActivities):
    """The delivery's activities over the control plane."""

    def __init__(self, database: Database, hints: Hints, turn_starter: TurnStarter) -> None:
        self._database = database
        self._hints = hints
        self._turn_starter = turn_starter

    @activity.defn(name="delivery.submit")
    async def submit(self, delivery: DeliveryRef) -> str:
        """Accept the delivery into the conversation under its own request id; the same again is harmless."""
        async with beating():
            async with self._database.write(scope_of(delivery)) as tx:
                state = (await deliveries.submit(tx, delivery.delivery_id)).state
            await self._turn_starter.begin_next(scope_of(delivery))
            return state

    @activity.defn(name="delivery.conclude")
    async def conclude(self, delivery: DeliveryRef) -> str:
        """Read the delivery's state, and tell the owner's workflow when it is settled."""
        async with self._database.read_briefly(scope_of(delivery)) as tx:
            state = (await deliveries.delivery_row(tx, delivery.delivery_id)).state
        if DeliveryState(state) in SETTLED and delivery.owner_kind == "task":
            await self._hints.task_changed(delivery.owner_id, "delivery_settled")
        return state
