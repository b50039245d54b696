"""What the user's rules say about one action (E5, E6), read in the gate's transaction."""

from sqlalchemy import select

from domain.gate import Rule
from domain.refusal import Refusal
from domain.rule import answer, matches, scope_of
from store.action_digest import action_digest
from store.database import Transaction
from store.tables_authority import EffectRow
from store.tables_rules import RuleRow


async def rule_answer(tx: Transaction, effect: EffectRow) -> Rule:
    """The answer of the rules in force that describe exactly this action; `NONE` when there is none."""
    key = match_key(effect)
    if key is None:
        return Rule.NONE
    query = select(RuleRow).where(
        RuleRow.user_space == tx.scope.user_space,
        RuleRow.domain == tx.scope.domain,
        RuleRow.match_key == key,
        RuleRow.deleted_at.is_(None),
        RuleRow.paused.is_(False),
    )
    rows = (await tx.session.scalars(query)).all()
    # The key only finds candidates: what decides is the comparison of every field.
    return answer(row.mode for row in rows if matches(row.scope, effect.kind, effect.action))


def match_key(effect: EffectRow) -> str | None:
    """The digest under which rules that may describe the effect are found; None for what no rule covers."""
    scope = scope_of(effect.kind, effect.action)
    return None if isinstance(scope, Refusal) else action_digest(scope)
