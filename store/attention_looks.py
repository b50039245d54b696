"""Looking at an agent's news (N4, N8): its open group is announced, held or dropped; what waits is told by time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from domain.attention import Announce, Drop, at_deadline, is_running
from store import attention, attention_announcing, attention_locators, seen
from store.attention_grounds import OPEN, policy_for
from store.database import Transaction
from store.tables_attention import AttentionGroupRow

DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Standing:
    """What an agent's news waits for; `count` and `locator` are those of its open group."""

    state: Literal["idle", "wait", "send"]
    until: datetime | None = None
    count: int = 0
    locator: Literal["message", "card"] | None = None


async def look(tx: Transaction, agent_id: str) -> Standing:
    """Decide the agent's open group if it is due or held, and read what comes next."""
    group = await attention.open_group(tx, agent_id)
    # The look that finds a window just opened, half of all looks, reads nothing but its deadline (N13).
    if group is not None and not is_running(attention.as_group(group), tx.now):
        await _decide(tx, group)
        await tx.session.flush()
    is_open = group is not None and group.state == OPEN
    sends = await attention_announcing.earliest_pending(tx, agent_id)
    if sends is not None and sends <= tx.now:
        return Standing("send")
    times = [sends] if sends is not None else []
    if group is None or not is_open:
        return Standing("wait" if times else "idle", min(times, default=None))
    times.append(group.deadline)
    return Standing("wait", min(times), group.count, attention_locators.locator_of(group).kind)


async def _decide(tx: Transaction, group: AttentionGroupRow) -> None:
    locator = attention_locators.locator_of(group)
    answer = at_deadline(
        await policy_for(tx, group.agent_id),
        attention.as_group(group),
        await attention_locators.gone(tx, locator),
        seen=await seen.was_seen(tx, locator),
        now=tx.now,
    )
    if isinstance(answer, Announce):
        # The workflow that looks sends by itself what it finds to send.
        await attention_announcing.announce(tx, group)
    elif isinstance(answer, Drop):
        group.state, group.reason, group.closed_at = DROPPED, answer.reason, tx.now
    else:
        group.deadline, group.held = answer.until, answer.held
