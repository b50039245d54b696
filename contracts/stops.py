"""Stop intents on the wire (S12)."""

from temporalio import activity

from contracts.run import Wire


class IntentRef(Wire):
    """Names one stop intent."""

    user_space: str
    domain: str
    intent_id: str


class StopStatus(Wire):
    """How far a stop is: its state, and how much still runs."""

    state: str
    done: bool = False
    attempts: int = 0
    effects: int = 0
    replies: int = 0


class StopActivities:
    """The rows behind a stop."""

    @activity.defn(name="stop.reconcile")
    async def reconcile(self, intent: IntentRef) -> StopStatus:
        """Look what of the intent still runs, tell it, finish the intent when nothing does (S3, I6)."""
        raise NotImplementedError
