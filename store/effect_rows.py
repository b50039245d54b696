"""The rows of one effect: finding them, moving them along their lifecycles, and the trail of what happened (E20)."""

from sqlalchemy import func, select

from domain.effect import EFFECT, EffectEvent, EffectState
from domain.refusal import accepted, refuse
from store import changes
from store.database import Transaction
from store.tables_authority import ApprovalRow, ClaimRow, EffectRow, EffectTrailRow

OPEN_CLAIM = ("claimed", "started")


async def effect_row(tx: Transaction, effect_id: str) -> EffectRow:
    """An effect of this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    effect = await tx.session.get(EffectRow, effect_id)
    if effect is None or (effect.user_space, effect.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such effect.")
    return effect


async def effect_at(tx: Transaction, run_id: str, step: int, index: int) -> EffectRow | None:
    """The effect that a call of a run became, if it became one (E14)."""
    query = select(EffectRow).where(
        EffectRow.run_id == run_id, EffectRow.step == step, EffectRow.place_in_step == index
    )
    return (await tx.session.scalars(query)).first()


async def newest_card(tx: Transaction, effect_id: str) -> ApprovalRow | None:
    """The card of an effect that counts: the newest one."""
    query = select(ApprovalRow).where(ApprovalRow.effect_id == effect_id).order_by(ApprovalRow.created_at.desc())
    return (await tx.session.scalars(query.limit(1))).first()


async def open_claim(tx: Transaction, effect_id: str) -> ClaimRow | None:
    """The claim under which an effect is about to happen, is happening, or happened with an unknown outcome."""
    query = select(ClaimRow).where(ClaimRow.effect_id == effect_id, ClaimRow.state.in_(OPEN_CLAIM))
    return (await tx.session.scalars(query)).first()


async def append_trail(tx: Transaction, effect: EffectRow, step: str, verdict: str, code: str | None = None) -> None:
    """Add an entry to the effect's trail: which step of its path, what was found, and the code of a no (E20)."""
    places = select(func.max(EffectTrailRow.place)).where(EffectTrailRow.effect_id == effect.effect_id)
    place = await tx.session.scalar(places) or 0
    tx.session.add(
        EffectTrailRow(effect_id=effect.effect_id, place=place + 1, step=step, verdict=verdict, code=code, at=tx.now)
    )
    await tx.session.flush()


def advance(tx: Transaction, effect: EffectRow, event: EffectEvent, reason: str | None = None) -> None:
    """Move an effect along its lifecycle and tell clients; an illegal move is refused (I7)."""
    effect.state = accepted(EFFECT.advance(EffectState(effect.state), event)).value
    effect.reason = reason
    effect.updated_at = tx.now
    changes.notify(tx, "activity")
    if effect.task_id is not None:
        changes.notify(tx, "tasks", task_id=effect.task_id)
