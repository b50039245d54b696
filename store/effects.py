"""Effects of runs: proposed once per call (E14), settled once, withdrawn by a stop, or settled by the owner (E13)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import select

from domain.effect import BEFORE_CLAIM, EffectEvent, EffectKind, EffectState
from domain.refusal import refuse
from domain.run import RunKind, RunRef
from store import audit, receipts
from store.action_digest import action_digest
from store.database import Transaction
from store.effect_ends import Outcome, store_outcome, withdraw_effect
from store.effect_rows import append_trail, effect_at, effect_row
from store.gate import NOTHING_OUTSIDE, GateLimits, pass_gate
from store.run_steps import call_row
from store.tables_authority import EffectRow

SETTLE_METHOD = "agents.effects.settle"
_STOPPABLE = (*BEFORE_CLAIM, EffectState.CLAIMED)


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a call of a run wants to do: its exact action and how the card shows it (E2, E9).

    Attributes:
        run: the run that wants it, and the call it comes from: `step` from 1, `index` from 0.
        kind: the kind of effect.
        action: every deciding field; its digest is taken here.
        content: the bytes to be written; None where the action has none.
        words: what will be done, by language; `impact` what it changes.
        preview: the diff as plain text; None where there is none.
    """

    run: RunRef
    step: int
    index: int
    kind: EffectKind
    action: dict[str, Any]
    content: bytes | None
    words: dict[str, str]
    impact: dict[str, str]
    preview: str | None


async def propose(tx: Transaction, proposal: Proposal, limits: GateLimits) -> EffectRow:
    """Make a call an effect and ask the gate about it; the same call again is the same effect (E14).

    The resource policy has said yes to exactly this action just before.
    """
    run = proposal.run
    earlier = await effect_at(tx, run.run_id, proposal.step, proposal.index)
    if earlier is not None:
        return earlier
    attempt = run.kind is RunKind.ATTEMPT
    effect = EffectRow(
        effect_id=tx.new_id("effect"), user_space=tx.scope.user_space, domain=tx.scope.domain,
        run_id=run.run_id, step=proposal.step, place_in_step=proposal.index,
        task_id=run.task_id if attempt else None,
        requirement_version=run.requirement_version if attempt else None,
        attempt=run.attempt if attempt else None, turn_id=None if attempt else run.turn_id,
        kind=proposal.kind.value, state=EffectState.PROPOSED.value, action=proposal.action,
        action_digest=action_digest(proposal.action), content=proposal.content, words=proposal.words,
        impact=proposal.impact, preview=proposal.preview, created_at=tx.now, updated_at=tx.now,
    )  # fmt: skip
    tx.session.add(effect)
    call = await call_row(tx, run.run_id, proposal.step, proposal.index)
    call.effect_id = effect.effect_id
    await tx.session.flush()
    await append_trail(tx, effect, "proposal", "proposed")
    if effect.task_id is None or not limits.authority.is_outside:
        await pass_gate(tx, effect, NOTHING_OUTSIDE, limits)
    # Else its workflow passes the gate at once, with the provider's answer: none could be asked for before now (A4).
    return effect


async def settle(tx: Transaction, effect_id: str, outcome: Outcome) -> EffectRow:
    """Store the outcome of a started effect; one that has its outcome keeps it (I7)."""
    effect = await effect_row(tx, effect_id)
    await store_outcome(tx, effect, outcome)
    return effect


async def settle_by_owner(
    tx: Transaction, effect_id: str, outcome: Literal["succeeded", "failed"], note: str, request_id: str, principal: str
) -> EffectRow:
    """Settle an unknown effect as the owner has found it to be (E13); the note is kept, the decision audited.

    Raises:
        Refused: `not_found`; `invalid_params` when the effect is not unknown; `request_id_conflict`.
    """
    content = {"effect_id": effect_id, "outcome": outcome, "note": note}
    earlier = await receipts.repeated(tx, request_id, SETTLE_METHOD, content)
    effect = await effect_row(tx, effect_id)
    if earlier is not None:
        return effect
    if effect.state != EffectState.UNKNOWN:
        raise refuse("invalid_params", f"Only an unknown effect is settled by hand; this one is {effect.state}.")
    event = EffectEvent.SUCCEED if outcome == "succeeded" else EffectEvent.FAIL
    await store_outcome(tx, effect, Outcome(event))
    effect.settled_note = note
    await append_trail(tx, effect, "settlement", outcome)
    await audit.record(tx, "effect.settle", effect_id, outcome, principal=principal, action_digest=effect.action_digest)
    receipt = await receipts.accept(tx, request_id, SETTLE_METHOD, content, principal=principal)
    receipt.subject_id, receipt.task_id, receipt.outcome = effect_id, effect.task_id, outcome
    return effect


async def withdraw(tx: Transaction, effect_id: str) -> bool:
    """Withdraw one effect that has not started; False when it has (S6)."""
    effect = await effect_row(tx, effect_id)
    return await withdraw_effect(tx, effect, _stop_reason(effect))


async def withdraw_run(tx: Transaction, run_id: str) -> bool:
    """Withdraw what a run has proposed and not started, its open card with it; whether there was anything (S8)."""
    withdrawn = [await withdraw_effect(tx, effect, _stop_reason(effect)) for effect in await _stoppable(tx, run_id)]
    return any(withdrawn)


def _stop_reason(effect: EffectRow) -> str:
    return "turn_stopped" if effect.task_id is None else "task_stopping"


async def _stoppable(tx: Transaction, run_id: str) -> Sequence[EffectRow]:
    query = select(EffectRow).where(
        EffectRow.user_space == tx.scope.user_space,
        EffectRow.domain == tx.scope.domain,
        EffectRow.run_id == run_id,
        EffectRow.state.in_([state.value for state in _STOPPABLE]),
    )
    return (await tx.session.scalars(query)).all()
