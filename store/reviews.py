"""The automatic review of one action (E8): whether it is due, and what it said; one review for each effect."""

from collections.abc import Iterable

from sqlalchemy import exists, select

from domain.effect import BEFORE_CLAIM
from domain.gate import Review, Rule, Verdict
from domain.review import may_be_reviewed
from domain.visible_text import make_visible
from store.database import Transaction
from store.tables_authority import EffectRow, EffectTrailRow
from store.tables_rules import ReviewRow
from store.user_settings import auto_review


async def review_answer(tx: Transaction, effect: EffectRow, action_digest: str) -> Review:
    """What the review says of exactly this action; `DUE` where it should judge and has not, `OFF` where it does not.

    What it said counts only while the person wants reviews, and an action that no review may allow is a person's,
    whatever a row says.
    """
    if not may_be_reviewed(effect.kind, effect.action) or not await auto_review(tx):
        return Review.OFF
    row = await tx.session.get(ReviewRow, effect.effect_id)
    if row is not None:
        return Review(row.verdict) if row.action_digest == action_digest else Review.UNSURE
    # A rule that allowed this and is gone was taken back by the person, who is asked now, not the reviewer (E5).
    return Review.OFF if await _had_rule(tx, effect) else Review.DUE


async def review_wanted(tx: Transaction, effect: EffectRow) -> bool:
    """Whether the gate's last word on an unclaimed effect was that it be reviewed."""
    if effect.state not in BEFORE_CLAIM:
        return False
    words = (
        select(EffectTrailRow.verdict)
        .where(EffectTrailRow.effect_id == effect.effect_id, EffectTrailRow.step == "gate")
        .order_by(EffectTrailRow.place.desc())
        .limit(1)
    )
    return await tx.session.scalar(words) == Verdict.REVIEW


async def is_reviewed(tx: Transaction, effect: EffectRow) -> bool:
    """Whether the effect has its review."""
    return await tx.session.get(ReviewRow, effect.effect_id) is not None


async def store_review(tx: Transaction, effect: EffectRow, verdict: Review, reason: str | None, model: str) -> None:
    """Keep what the review said; the first answer stays."""
    if not await is_reviewed(tx, effect):
        tx.session.add(
            ReviewRow(
                effect_id=effect.effect_id, action_digest=effect.action_digest, verdict=verdict.value, reason=reason,
                model=model, reviewed_at=tx.now,
            )
        )  # fmt: skip
        await tx.session.flush()


async def reviews_shown(tx: Transaction, effects: Iterable[EffectRow]) -> dict[str, dict[str, str]]:
    """What the reviews of these effects said and why, by effect; the reason is a model's and is shown as its words."""
    digests = {effect.effect_id: effect.action_digest for effect in effects}
    rows = await tx.session.scalars(select(ReviewRow).where(ReviewRow.effect_id.in_(digests)))
    return {
        row.effect_id: {"verdict": row.verdict} | ({"reason": make_visible(row.reason, keep="")} if row.reason else {})
        for row in rows
        if row.action_digest == digests[row.effect_id]
    }


async def _had_rule(tx: Transaction, effect: EffectRow) -> bool:
    allowed = exists().where(
        EffectTrailRow.effect_id == effect.effect_id,
        EffectTrailRow.step == "rule",
        EffectTrailRow.verdict == Rule.ALLOW.value,
    )
    return bool(await tx.session.scalar(select(allowed)))
