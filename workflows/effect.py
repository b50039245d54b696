"""The path of one effect (E18): have it reviewed, wait for the decision, pass the gate, dispatch once, tell the run.

The rows decide everything; this workflow only keeps the time and never lets go before the effect has its end.
"""

from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ActivityError

with workflow.unsafe.imports_passed_through():
    from contracts import options
    from contracts.effects import EffectActivities, EffectRef, EffectStatus
    from contracts.search_attributes import EFFECT, STATE
    from domain.approval import ApprovalState
    from domain.effect import EffectKind, EffectState
    from workflows.activity_calls import on_any_worker, on_files, shared


@workflow.defn(name="EffectWorkflow")
class EffectWorkflow:
    """Carries one effect from its proposal to its outcome.

    Signal: `decided` (look at the rows: a card was decided or withdrawn, a grant was issued). Query: `state`. Started
    again for an effect that has ended, it tells the run and ends.
    """

    @workflow.init
    def __init__(self, effect: EffectRef) -> None:
        """Nothing is known yet."""
        self._effect = effect
        self._look = False
        self._status = EffectStatus(state=EffectState.WAITING_DECISION)

    @workflow.signal
    def decided(self) -> None:
        """Something about the effect changed."""
        self._look = True

    @workflow.query(description="How far the effect is")
    def state(self) -> dict[str, str | None]:
        """The state that was last read, and the card's."""
        return {"state": self._status.state, "decision": self._status.decision}

    @workflow.run
    async def run(self, effect: EffectRef) -> str:
        """Go on until the effect has ended, then tell the run that waits for it."""
        self._show(await shared(EffectActivities.status, effect, summary="Where the effect stands"))
        if self._status.state == EffectState.WAITING_AUTHORIZATION:
            # What it lacked may have been granted before this workflow could be told.
            await self._attempt()
        while not self._status.ended:
            if self._status.review_due:
                await self._review()
                await self._attempt()
            elif _waits(self._status):
                await self._wait()
            else:
                await self._attempt()
        await shared(EffectActivities.report, effect, summary="Tell the run")
        return self._status.state

    async def _wait(self) -> None:
        """Wait for a person or the card's expiry; without an expiry this grows no history, however long it takes."""
        if not await self._changed_within(self._time_left()):
            self._show(await shared(EffectActivities.expire, self._effect, summary="Expire the card"))
        elif self._status.state == EffectState.WAITING_AUTHORIZATION:
            # Only the gate can say whether what was granted covers the effect (A10).
            await self._attempt()
        else:
            self._show(await shared(EffectActivities.status, self._effect, summary="Read the decision"))

    async def _attempt(self) -> None:
        """Pass the gate and dispatch; again, ever less often, when the claim was too old to start (E12)."""
        pause = options.GATE_AGAIN_AFTER
        while True:
            self._show(await self._gate())
            if self._status.state == EffectState.CLAIMED:
                self._show(await self._dispatch())
            if self._status.ended or self._status.review_due or _waits(self._status):
                return
            await self._changed_within(pause)
            pause = min(2 * pause, options.GATE_AGAIN_AT_MOST)

    async def _review(self) -> None:
        """Have the action judged; what was said is in the rows, and only the gate acts on it (E8)."""
        await on_any_worker(
            EffectActivities.review, self._effect, summary="Review", start_to_close=options.REVIEW_TIMEOUT
        )

    async def _gate(self) -> EffectStatus:
        effect = self._effect
        return await on_files(
            EffectActivities.gate, effect, user_space=effect.user_space, domain=effect.domain, summary="Gate"
        )

    async def _dispatch(self) -> EffectStatus:
        effect = self._effect
        try:
            return await on_files(
                EffectActivities.dispatch,
                effect,
                user_space=effect.user_space,
                domain=effect.domain,
                summary="Do it",
                start_to_close=_longest(self._status),
                retry=options.ONE_ATTEMPT,
                schedule_to_start=options.DISPATCH_SCHEDULE_TO_START,
                heartbeat=options.DISPATCH_HEARTBEAT,
            )
        except ActivityError:
            return await on_files(
                EffectActivities.reconcile,
                effect,
                user_space=effect.user_space,
                domain=effect.domain,
                summary="See what became of it",
                start_to_close=options.RECONCILE_TIMEOUT,
                heartbeat=options.DISPATCH_HEARTBEAT,
            )

    async def _changed_within(self, patience: timedelta | None) -> bool:
        try:
            await workflow.wait_condition(lambda: self._look, timeout=patience, timeout_summary="Patience")
        except TimeoutError:
            return False
        self._look = False
        return True

    def _time_left(self) -> timedelta | None:
        if self._status.expires_at is None:
            return None
        # The database's time decides; where its clock is behind this one, asking again must not become a busy loop.
        return max(self._status.expires_at - workflow.now(), options.EXPIRE_AGAIN_AFTER)

    def _show(self, status: EffectStatus) -> None:
        if status.state != self._status.state or status.ended:
            state = "ended" if status.ended else "running"
            workflow.upsert_search_attributes([EFFECT.value_set(status.state), STATE.value_set(state)])
        self._status = status
        card = f" Its card is **{status.decision}**." if status.decision else ""
        workflow.set_current_details(f"The effect is **{status.state}**.{card}")


def _waits(status: EffectStatus) -> bool:
    """Whether nothing follows until somebody decides or grants something."""
    if status.state == EffectState.WAITING_AUTHORIZATION:
        return True
    return status.state == EffectState.WAITING_DECISION and status.decision == ApprovalState.PENDING


def _longest(status: EffectStatus) -> timedelta:
    """How long the effect may take once it has started."""
    is_command = status.kind == EffectKind.COMMAND
    return options.COMMAND_DISPATCH_TIMEOUT if is_command else options.DISPATCH_TIMEOUT
