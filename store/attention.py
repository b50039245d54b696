"""Asking for the person's attention (N1): admission of an event in the transaction of its fact, by its owner alone.

Who asks: a delivery, when its message has been stored, and the card of a hidden task, when it is opened. A question and
a request for a grant are brought by a delivery, and announced once, by its message: the card alone would announce the
same news before there is anything to read. A reply to what the person said, and a card of the conversation itself, ask
for nothing: the person is there. A delivery that fails has no message and is shown with its task.
"""

from dataclasses import dataclass

from sqlalchemy import func, select

from domain.attention import UNAGGREGATED, Group, Ignore, Join, Open, admit
from domain.notification import Locator, card, message_at
from store import attention_announcing, attention_grounds, outbox
from store.attention_grounds import OPEN
from store.attention_locators import agent_of
from store.database import Transaction
from store.tables_attention import AttentionGroupRow
from store.tables_authority import ApprovalRow
from store.tables_conversation import TurnRow
from store.tables_work import DeliveryRow


@dataclass(frozen=True, slots=True)
class Event:
    """A fact that its owner wants noticed: whose it is and where; it has no body (N1)."""

    agent_id: str
    locator: Locator


async def delivered(tx: Transaction, delivery: DeliveryRow, turn: TurnRow) -> None:
    """A delivery's message was stored, in the transaction that did it."""
    agent_id = await agent_of(tx, delivery)
    if agent_id is not None and turn.message_seq is not None:
        await admit_event(tx, Event(agent_id, message_at(turn.session_id, turn.message_seq)))


async def card_opened(tx: Transaction, approval: ApprovalRow, agent_id: str) -> None:
    """The card of a hidden task was opened, in the transaction that did it."""
    await admit_event(tx, Event(agent_id, card(approval.approval_id)))


async def admit_event(tx: Transaction, event: Event) -> None:
    """Have an event join the agent's group, open one, or announce it at once; the policy of this moment decides."""
    grounds = await attention_grounds.grounds_for(tx, event.agent_id)
    # Only an event that may open a window needs to know how many there are; in a storm nearly all of them join one.
    groups = await _open_groups(tx) if grounds.group is None and grounds.policy.window_s > 0 else 0
    answer = admit(grounds.policy, grounds.group, groups, tx.now)
    if isinstance(answer, Ignore):
        return
    if isinstance(answer, Join):
        if grounds.group_id is not None:
            await attention_grounds.join(tx, grounds.group_id, event.locator)
        return
    opened = _opened(tx, event, answer)
    if answer.deadline > tx.now:
        tx.session.add(opened)
        await tx.session.flush()
        # A storm makes one signal per window: whoever joins changes the row alone (N13).
        outbox.post(tx, outbox.ATTENTION_LOOK, event.agent_id)
    elif await attention_announcing.announce(tx, opened):
        outbox.post(tx, outbox.ATTENTION_LOOK, event.agent_id)


async def open_group(tx: Transaction, agent_id: str) -> AttentionGroupRow | None:
    """The group that the agent's events join, if one is open."""
    query = (
        select(AttentionGroupRow)
        .where(
            AttentionGroupRow.user_space == tx.scope.user_space,
            AttentionGroupRow.domain == tx.scope.domain,
            AttentionGroupRow.state == OPEN,
            AttentionGroupRow.agent_id == agent_id,
        )
        # Events join by the row alone, past an object that this session may hold of it.
        .execution_options(populate_existing=True)
    )
    return (await tx.session.scalars(query)).first()


def as_group(row: AttentionGroupRow) -> Group:
    """A stored group as the rules see it."""
    return Group(row.first_at, row.deadline, row.aggregated, row.held)


async def _open_groups(tx: Transaction) -> int:
    query = select(func.count()).where(
        AttentionGroupRow.user_space == tx.scope.user_space,
        AttentionGroupRow.domain == tx.scope.domain,
        AttentionGroupRow.state == OPEN,
        AttentionGroupRow.aggregated,
    )
    return await tx.session.scalar(query) or 0


def _opened(tx: Transaction, event: Event, answer: Open) -> AttentionGroupRow:
    locator = event.locator
    return AttentionGroupRow(
        group_id=tx.new_id("group"),
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        agent_id=event.agent_id,
        # One that is announced in this transaction was never open, and does not meet the agent's open one.
        state=OPEN if answer.deadline > tx.now else attention_announcing.DUE,
        reason=UNAGGREGATED if answer.beyond_bound else None,
        aggregated=answer.aggregated,
        held=answer.held,
        count=1,
        generation=1,
        locator_kind=locator.kind,
        session_id=locator.session_id,
        seq=locator.seq,
        card_id=locator.card_id,
        deadline=answer.deadline,
        first_at=tx.now,
        newest_at=tx.now,
    )
