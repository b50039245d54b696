"""What an observer of attention is told of an announced group (N11): re-read and re-checked, without a body (N1)."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from domain.attention import may_say
from domain.notification import Locator
from store import seen
from store.attention_announcing import DUE, SENT
from store.attention_grounds import policy_for
from store.attention_locators import gone, kind_of, locator_of
from store.database import Transaction
from store.tables_attention import AttentionGroupRow


@dataclass(frozen=True, slots=True)
class AttentionEvent:
    """An agent has news (N1): `kind` is result, failure, question, authorization, notice or approval; `generation`
    counts the events that became this one; `time` is that of the newest.
    """

    user_space: str
    agent_id: str
    group_id: str
    kind: str
    locator: Locator
    generation: int
    time: datetime


async def current_event(tx: Transaction, group_id: str, *, late: bool) -> AttentionEvent | None:
    """The event of an announced group, None when it may not be told now: owner, place, policy and quiet hours decide.

    `late` events, which nobody was there for, are told only while nothing newer of their agent was announced.
    """
    group = await tx.session.get(AttentionGroupRow, group_id)
    if group is None or (group.user_space, group.domain) != (tx.scope.user_space, tx.scope.domain):
        return None
    if group.state not in (DUE, SENT) or (late and await _superseded(tx, group)):
        return None
    policy = await policy_for(tx, group.agent_id)
    locator = locator_of(group)
    seen_already = await seen.was_seen(tx, locator)
    if policy.quiet_until is not None or may_say(policy, await gone(tx, locator), seen=seen_already) is not None:
        return None
    return AttentionEvent(
        user_space=group.user_space,
        agent_id=group.agent_id,
        group_id=group.group_id,
        kind=await kind_of(tx, locator),
        locator=locator,
        generation=group.generation,
        time=group.newest_at,
    )


async def _superseded(tx: Transaction, group: AttentionGroupRow) -> bool:
    newer = (
        select(AttentionGroupRow.group_id)
        .where(
            AttentionGroupRow.user_space == tx.scope.user_space,
            AttentionGroupRow.domain == tx.scope.domain,
            AttentionGroupRow.state.in_((DUE, SENT)),
            AttentionGroupRow.agent_id == group.agent_id,
            AttentionGroupRow.newest_at > group.newest_at,
        )
        .limit(1)
    )
    return await tx.session.scalar(newer) is not None
