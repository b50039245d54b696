"""How an effect ends (E13): its state, claim and card, what the model is told, and its run, in one transaction."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from domain.approval import ApprovalEvent
from domain.effect import EFFECT, ClaimState, EffectEvent, EffectState
from domain.refusal import Refusal
from store import leases, outbox
from store.cards import close_card
from store.database import Transaction
from store.effect_rows import advance, append_trail, newest_card, open_claim
from store.effect_waiting import end_waiting
from store.run_steps import finish_call
from store.tables_authority import EffectRow

Result = Mapping[str, str | int | bool | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a started effect: the model is told `result`, after the `refusal` where there is one."""

    event: EffectEvent
    refusal: Refusal | None = None
    result: Result | None = None


UNKNOWN = Outcome(
    EffectEvent.LOSE,
    Refusal(
        "effect_outcome_unknown",
        "It was started, and whether it happened is not known. It is not repeated by itself: look before you go on.",
    ),
)
"""A started claim without an outcome (I4)."""


async def store_outcome(tx: Transaction, effect: EffectRow, outcome: Outcome) -> bool:
    """Store what became of a started effect; False when it has its outcome already and this one changes nothing (I7).

    An effect that was called unknown may still be settled by whoever knows: what the model was told stays.
    """
    if isinstance(EFFECT.advance(EffectState(effect.state), outcome.event), Refusal):
        return False
    code = outcome.refusal.code if outcome.refusal else None
    advance(tx, effect, outcome.event, code)
    await append_trail(tx, effect, "outcome", effect.state, code)
    # The claim of an unknown effect stays open, so that the database itself admits no second one (I4).
    if outcome.event is not EffectEvent.LOSE:
        await close_claim(tx, effect, ClaimState.SETTLED)
    await leases.release(tx, effect, effect.state)
    await _tell_model(tx, effect, outcome.refusal, outcome.result)
    return True


async def refuse_effect(tx: Transaction, effect: EffectRow, refusal: Refusal, invalidates: str | None = None) -> None:
    """End an effect that the gate or a person said no to; its run goes on with the code (E12, E13)."""
    advance(tx, effect, EffectEvent.REFUSE, refusal.code)
    await append_trail(tx, effect, "outcome", effect.state, refusal.code)
    await _close_newest_card(tx, effect, invalidates)
    await _tell_model(tx, effect, refusal, None)
    await end_waiting(tx, effect)


async def withdraw_effect(tx: Transaction, effect: EffectRow, reason: str) -> bool:
    """Withdraw an effect that a stop covers, if it has not started (S6); its card is void (E10), its workflow is told.

    Args:
        tx: the unit of work.
        effect: the effect.
        reason: `turn_stopped` or `task_stopping`.

    Returns:
        False when the effect has started or ended and nothing was changed.
    """
    if isinstance(EFFECT.advance(EffectState(effect.state), EffectEvent.WITHDRAW), Refusal):
        return False
    advance(tx, effect, EffectEvent.WITHDRAW, reason)
    await append_trail(tx, effect, "outcome", effect.state, reason)
    await close_claim(tx, effect, ClaimState.WITHDRAWN)
    await _close_newest_card(tx, effect, "stopped")
    await _tell_model(tx, effect, Refusal("approval_invalidated", "This was stopped before it happened."), None)
    if effect.task_id is not None:
        await end_waiting(tx, effect)
    outbox.post(tx, outbox.EFFECT_DECIDED, effect.effect_id)
    return True


async def close_claim(tx: Transaction, effect: EffectRow, state: ClaimState) -> None:
    """Close the effect's open claim, if it has one."""
    claim = await open_claim(tx, effect.effect_id)
    if claim is not None:
        claim.state = state.value
        claim.ended_at = tx.now
        await tx.session.flush()
        if state is ClaimState.WITHDRAWN:
            await leases.release(tx, effect, state.value)


async def _close_newest_card(tx: Transaction, effect: EffectRow, reason: str | None) -> None:
    card = await newest_card(tx, effect.effect_id) if reason is not None else None
    if card is not None:
        close_card(tx, card, ApprovalEvent.INVALIDATE, reason)


async def _tell_model(tx: Transaction, effect: EffectRow, refusal: Refusal | None, result: Result | None) -> None:
    told = {"ok": True, **(result or {})} if refusal is None else {"error": _error(refusal), **(result or {})}
    text = json.dumps(told, ensure_ascii=False)
    await finish_call(tx, effect.run_id, effect.step, effect.place_in_step, text)


def _error(refusal: Refusal) -> dict[str, str]:
    return {"code": refusal.code, "message": refusal.message}
