"""The user's rules (E5-E7): shown before they are saved, saved as shown, switched, paused and deleted.

Saving a rule decides no card, and a card is decided without one: two writes with a receipt each (E7).
"""

from dataclasses import dataclass

from sqlalchemy import Select, select

from domain.refusal import accepted, refuse
from domain.rule import RuleMode, scope_of
from domain.rule_words import rule_words, shown_scope
from store import audit, changes, receipts
from store.action_digest import action_digest
from store.approvals import approval_row
from store.database import Transaction
from store.effect_rows import effect_row
from store.effect_views import DEFAULT_LANGUAGE
from store.keyset import cursor_after, text_key
from store.rule_answers import match_key
from store.tables_authority import EffectRow
from store.tables_host import ReceiptRow
from store.tables_rules import RuleRow
from store.views import Json
from store.wire_time import wire_time

SAVE, UPDATE, DELETE = "agents.rules.save", "agents.rules.update", "agents.rules.delete"
TOPIC = "approvals"


@dataclass(frozen=True, slots=True)
class Write:
    """Who writes, under which request, and which files root is not to be shown."""

    request_id: str
    principal: str
    root: str


async def preview(tx: Transaction, approval_id: str, root: str) -> Json:
    """What a rule made from this card would cover, as it is shown before it is saved (E7).

    Raises:
        Refused: `not_found`; `rule_scope_invalid` for what no rule covers (E6).
    """
    effect = await _effect_of(tx, approval_id)
    scope = accepted(scope_of(effect.kind, effect.action))
    words = rule_words(scope, root)
    return {
        "scope": shown_scope(scope, root),
        "scope_digest": action_digest(scope),
        "words": words[DEFAULT_LANGUAGE],
        "words_by_language": words,
    }


async def save(
    tx: Transaction, approval_id: str, scope_digest: str, mode: RuleMode, write: Write
) -> tuple[ReceiptRow, RuleRow]:
    """Save the rule that was shown for a card (E7); the same scope and mode again is the same rule, in force again.

    Raises:
        Refused: `not_found`; `rule_scope_invalid` for what no rule covers, or when another scope was shown;
            `request_id_conflict`.
    """
    content = {"approval_id": approval_id, "scope_digest": scope_digest, "mode": mode.value}
    earlier = await receipts.repeated(tx, write.request_id, SAVE, content)
    if earlier is not None:
        return earlier, await _row(tx, earlier.subject_id or "", deleted=True)
    effect = await _effect_of(tx, approval_id)
    scope = accepted(scope_of(effect.kind, effect.action))
    digest = action_digest(scope)
    if digest != scope_digest:
        raise refuse("rule_scope_invalid", "This is not the scope that was shown for this card. Look at it again.")
    same = _rules(tx).where(RuleRow.scope_digest == digest, RuleRow.mode == mode.value)
    rule = (await tx.session.scalars(same)).first()
    if rule is None:
        rule = RuleRow(
            rule_id=tx.new_id("rule"), user_space=tx.scope.user_space, domain=tx.scope.domain, revision=1,
            kind=effect.kind, scope=scope, scope_digest=digest, match_key=match_key(effect) or digest,
            words=rule_words(scope, write.root), mode=mode.value, paused=False, created_by=write.principal,
            created_at=tx.now, updated_at=tx.now,
        )  # fmt: skip
        tx.session.add(rule)
    elif rule.paused:
        rule.paused, rule.revision, rule.updated_at = False, rule.revision + 1, tx.now
    return await _written(tx, SAVE, content, rule, write), rule


async def update(
    tx: Transaction, rule_id: str, expected_revision: int, mode: RuleMode | None, paused: bool | None, write: Write
) -> tuple[ReceiptRow, RuleRow]:
    """Switch a rule between allow and ask, or pause it (E6); what waits for a person already stays with the person.

    Raises:
        Refused: `not_found`, `revision_conflict` (with the rule as it is), `invalid_params`, `request_id_conflict`.
    """
    content = {
        "rule_id": rule_id, "expected_revision": expected_revision, "mode": None if mode is None else mode.value,
        "paused": paused,
    }  # fmt: skip
    earlier = await receipts.repeated(tx, write.request_id, UPDATE, content)
    if earlier is not None:
        return earlier, await _row(tx, rule_id, deleted=True)
    if mode is None and paused is None:
        raise refuse("invalid_params", "Name what to change: mode, paused or both.")
    rule = await _expected(tx, rule_id, expected_revision)
    rule.mode = rule.mode if mode is None else mode.value
    rule.paused = rule.paused if paused is None else paused
    rule.revision, rule.updated_at = rule.revision + 1, tx.now
    return await _written(tx, UPDATE, content, rule, write), rule


async def delete(tx: Transaction, rule_id: str, expected_revision: int, write: Write) -> tuple[ReceiptRow, RuleRow]:
    """Delete a rule: from now on nothing rests on it, also what it allowed and has not been started (E5, E10).

    Raises:
        Refused: `not_found`, `revision_conflict` (with the rule as it is), `request_id_conflict`.
    """
    content = {"rule_id": rule_id, "expected_revision": expected_revision}
    earlier = await receipts.repeated(tx, write.request_id, DELETE, content)
    if earlier is not None:
        return earlier, await _row(tx, rule_id, deleted=True)
    rule = await _expected(tx, rule_id, expected_revision)
    rule.deleted_at = rule.updated_at = tx.now
    rule.revision += 1
    return await _written(tx, DELETE, content, rule, write), rule


async def rule_page(tx: Transaction, limit: int, cursor: str | None, root: str) -> Json:
    """A page of the rules that are not deleted, newest first, by keyset."""
    query = _rules(tx)
    after = text_key(cursor)
    if after is not None:
        query = query.where(RuleRow.rule_id < after)
    rows = (await tx.session.scalars(query.order_by(RuleRow.rule_id.desc()).limit(limit + 1))).all()
    shown = rows[:limit]
    more = cursor_after(shown[-1].rule_id) if len(rows) > limit else None
    return {"items": [rule_view(row, root) for row in shown], "next_cursor": more}


def rule_view(rule: RuleRow, root: str) -> Json:
    """One rule as the wire contract shows it; `deleted` only of one that is."""
    view: Json = {
        "rule_id": rule.rule_id,
        "revision": rule.revision,
        "kind": rule.kind,
        "scope": shown_scope(rule.scope, root),
        "scope_digest": rule.scope_digest,
        "words": rule.words[DEFAULT_LANGUAGE],
        "words_by_language": rule.words,
        "mode": rule.mode,
        "paused": rule.paused,
        "created_at": wire_time(rule.created_at),
    }
    return view if rule.deleted_at is None else view | {"deleted": True}


def _rules(tx: Transaction) -> Select[RuleRow]:
    return select(RuleRow).where(
        RuleRow.user_space == tx.scope.user_space, RuleRow.domain == tx.scope.domain, RuleRow.deleted_at.is_(None)
    )


async def _effect_of(tx: Transaction, approval_id: str) -> EffectRow:
    return await effect_row(tx, (await approval_row(tx, approval_id)).effect_id)


async def _row(tx: Transaction, rule_id: str, *, deleted: bool = False) -> RuleRow:
    rule = await tx.session.get(RuleRow, rule_id)
    foreign = rule is None or (rule.user_space, rule.domain) != (tx.scope.user_space, tx.scope.domain)
    if rule is None or foreign or (rule.deleted_at is not None and not deleted):
        raise refuse("not_found", "No such rule.")
    return rule


async def _expected(tx: Transaction, rule_id: str, expected_revision: int) -> RuleRow:
    rule = await _row(tx, rule_id)
    if rule.revision != expected_revision:
        message = f"This rule was changed meanwhile: it is at revision {rule.revision}. Read it again."
        raise refuse("revision_conflict", message, revision=rule.revision, mode=rule.mode, paused=rule.paused)
    return rule


async def _written(tx: Transaction, method: str, content: Json, rule: RuleRow, write: Write) -> ReceiptRow:
    await tx.session.flush()
    await audit.record(
        tx, method.removeprefix("agents.").replace("rules.", "rule."), rule.rule_id, "allow",
        principal=write.principal, action_digest=rule.scope_digest,
        details={"kind": rule.kind, "mode": rule.mode, "paused": rule.paused, "revision": rule.revision},
    )  # fmt: skip
    changes.notify(tx, TOPIC)
    receipt = await receipts.accept(tx, write.request_id, method, content, principal=write.principal)
    receipt.subject_id, receipt.outcome = rule.rule_id, rule.mode
    return receipt
