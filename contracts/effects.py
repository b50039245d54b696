"""Effects on the wire (E18)."""

from datetime import datetime

from temporalio import activity

from contracts.run import Wire


class EffectRef(Wire):
    """Names one effect and the files queue of the machine that does it."""

    user_space: str
    domain: str
    effect_id: str
    kind: str = "file"


class EffectStatus(Wire):
    """What an effect's workflow needs to know: states, codes and times only (I9).

    `review_due`: the gate wants the automatic review before it asks anybody (E8). `kind` says how long it may take.
    """

    state: str
    decision: str | None = None
    ended: bool = False
    expires_at: datetime | None = None
    review_due: bool = False
    kind: str = "file"


class EffectActivities:
    """The path of one effect after its proposal."""

    @activity.defn(name="effect.status")
    async def status(self, effect: EffectRef) -> EffectStatus:
        """Read the effect's state and its card's decision."""
        raise NotImplementedError

    @activity.defn(name="effect.expire")
    async def expire(self, effect: EffectRef) -> EffectStatus:
        """Expire the effect's card if its time has passed and nobody decided; by database time (E10, E11)."""
        raise NotImplementedError

    @activity.defn(name="effect.review")
    async def review(self, effect: EffectRef) -> None:
        """Have the automatic review judge the exact action and keep what it said (E8); an earlier answer stays."""
        raise NotImplementedError

    @activity.defn(name="effect.gate")
    async def gate(self, effect: EffectRef) -> EffectStatus:
        """Decision, authorization and policy again, then the claim, in one transaction (E12, I3)."""
        raise NotImplementedError

    @activity.defn(name="effect.dispatch")
    async def dispatch(self, effect: EffectRef) -> EffectStatus:
        """Start the fresh claim in a transaction, do the effect once, store its outcome (E12). Never repeated (I4)."""
        raise NotImplementedError

    @activity.defn(name="effect.reconcile")
    async def reconcile(self, effect: EffectRef) -> EffectStatus:
        """Settle a dispatch that did not answer: withdraw an unstarted claim, else observe or call it unknown (E13)."""
        raise NotImplementedError

    @activity.defn(name="effect.report")
    async def report(self, effect: EffectRef) -> None:
        """Tell the run that waits for the effect that it has ended."""
        raise NotImplementedError
