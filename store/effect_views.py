"""Cards and effects as the wire contract shows them (api.md, E9, E20): words, never an absolute path or file content.

A card's diff or command is given with its details only; an effect is given with its whole trail.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from domain.card_words import LANGUAGES
from domain.effect import EffectKind
from store.approvals import approval_row
from store.database import Transaction
from store.effect_rows import effect_row
from store.keyset import cursor_after, text_key
from store.reviews import reviews_shown
from store.tables_authority import ApprovalRow, EffectRow, EffectTrailRow
from store.wire_time import wire_time

Json = dict[str, Any]
DEFAULT_LANGUAGE = LANGUAGES[0]


async def approval_view(tx: Transaction, approval_id: str, *, details: bool = False) -> Json:
    """One card, with its diff or whole command where `details` are asked for (E9).

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    card = await approval_row(tx, approval_id)
    effect = await effect_row(tx, card.effect_id)
    view = _approval(card, effect, await reviews_shown(tx, [effect]))
    return view | {"details": _details(effect)} if details else view


async def approval_page(tx: Transaction, state: str | None, limit: int, cursor: str | None) -> Json:
    """A page of cards, newest first, by keyset."""
    query = (
        select(ApprovalRow, EffectRow)
        .join(EffectRow, EffectRow.effect_id == ApprovalRow.effect_id)
        .where(ApprovalRow.user_space == tx.scope.user_space, ApprovalRow.domain == tx.scope.domain)
    )
    if state is not None:
        query = query.where(ApprovalRow.state == state)
    after = text_key(cursor)
    if after is not None:
        query = query.where(ApprovalRow.approval_id < after)
    rows = (await tx.session.execute(query.order_by(ApprovalRow.approval_id.desc()).limit(limit + 1))).all()
    shown = rows[:limit]
    more = cursor_after(shown[-1][0].approval_id) if len(rows) > limit else None
    reviews = await reviews_shown(tx, [effect for _card, effect in shown])
    return {"items": [_approval(card, effect, reviews) for card, effect in shown], "next_cursor": more}


async def effect_view(tx: Transaction, effect: EffectRow) -> Json:
    """One effect with its trail (E20)."""
    return (await _effects(tx, [effect]))[0]


async def effect_page(
    tx: Transaction,
    limit: int,
    cursor: str | None,
    *,
    task_id: str | None = None,
    turn_id: str | None = None,
    state: str | None = None,
) -> Json:
    """A page of effects, newest first, by keyset, with their trails (E20)."""
    query = select(EffectRow).where(EffectRow.user_space == tx.scope.user_space, EffectRow.domain == tx.scope.domain)
    for column, wanted in ((EffectRow.task_id, task_id), (EffectRow.turn_id, turn_id), (EffectRow.state, state)):
        if wanted is not None:
            query = query.where(column == wanted)
    after = text_key(cursor)
    if after is not None:
        query = query.where(EffectRow.effect_id < after)
    rows = (await tx.session.scalars(query.order_by(EffectRow.effect_id.desc()).limit(limit + 1))).all()
    shown = rows[:limit]
    more = cursor_after(shown[-1].effect_id) if len(rows) > limit else None
    return {"items": await _effects(tx, shown), "next_cursor": more}


async def task_effects(tx: Transaction, task_id: str) -> list[Json]:
    """All effects of a task in order, for its detail (T16)."""
    query = (
        select(EffectRow)
        .where(
            EffectRow.user_space == tx.scope.user_space,
            EffectRow.domain == tx.scope.domain,
            EffectRow.task_id == task_id,
        )
        .order_by(EffectRow.effect_id)
    )
    return await _effects(tx, (await tx.session.scalars(query)).all())


def _details(effect: EffectRow) -> Json:
    if effect.preview is None:
        return {}
    return {"command" if effect.kind == EffectKind.COMMAND else "diff": effect.preview}


def _confined(effect: EffectRow) -> bool | None:
    """Whether a command would be confined (E16); None where nothing could be, as with input to a running one."""
    permissions = effect.action.get("permissions")
    return permissions["confined"] if effect.kind == EffectKind.COMMAND and permissions else None


def _approval(card: ApprovalRow, effect: EffectRow, reviews: Mapping[str, Json]) -> Json:
    view: Json = {
        "approval_id": card.approval_id,
        "version": card.version,
        "effect_id": card.effect_id,
        "kind": effect.kind,
        "action_digest": card.action_digest,
        "words": effect.words[DEFAULT_LANGUAGE],
        "impact": effect.impact[DEFAULT_LANGUAGE],
        # For a page that is read in another language; clients that know one sentence only read the two above.
        "words_by_language": effect.words,
        "impact_by_language": effect.impact,
        "state": card.state,
    }
    optional = {
        "task_id": effect.task_id,
        "turn_id": effect.turn_id,
        "reason": card.reason,
        "expires_at": None if card.expires_at is None else wire_time(card.expires_at),
        "confined": _confined(effect),
        "review": reviews.get(effect.effect_id),
    }
    return view | {key: value for key, value in optional.items() if value is not None}


async def _effects(tx: Transaction, rows: Sequence[EffectRow]) -> list[Json]:
    ids = [row.effect_id for row in rows]
    trails: dict[str, list[Json]] = defaultdict(list)
    entries = select(EffectTrailRow).where(EffectTrailRow.effect_id.in_(ids)).order_by(EffectTrailRow.place)
    for entry in await tx.session.scalars(entries):
        step: Json = {"step": entry.step, "verdict": entry.verdict}
        trails[entry.effect_id].append(
            step | ({"code": entry.code} if entry.code else {}) | {"at": wire_time(entry.at)}
        )
    cards: dict[str, str] = {}
    newest = select(ApprovalRow).where(ApprovalRow.effect_id.in_(ids)).order_by(ApprovalRow.created_at)
    for card in await tx.session.scalars(newest):
        cards[card.effect_id] = card.approval_id
    reviews = await reviews_shown(tx, rows)
    return [_effect(row, trails[row.effect_id], cards.get(row.effect_id), reviews.get(row.effect_id)) for row in rows]


def _effect(row: EffectRow, trail: list[Json], approval_id: str | None, review: Json | None) -> Json:
    view: Json = {
        "effect_id": row.effect_id,
        "kind": row.kind,
        "state": row.state,
        "action_digest": row.action_digest,
        "words": row.words[DEFAULT_LANGUAGE],
        "words_by_language": row.words,
        "created_at": wire_time(row.created_at),
        "trail": trail,
    }
    optional = {
        "reason": row.reason, "task_id": row.task_id, "turn_id": row.turn_id, "approval_id": approval_id,
        "review": review,
    }  # fmt: skip
    return view | {key: value for key, value in optional.items() if value is not None}
