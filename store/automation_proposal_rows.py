"""The rows of proposed schedules (U9): opened once per tool call, few at a time, closed by what settles them."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from sqlalchemy import Select, select

from domain.refusal import refuse
from store import changes
from store.automations import TOPIC
from store.database import Transaction
from store.tables_automations import AutomationProposalRow

OPEN: Final = "open"
LIFETIME: Final = timedelta(days=7)
"""A proposal that nobody confirmed for so long is asked for again."""
MOST_OPEN: Final = 20
"""With more, the oldest is closed: nobody looks through so many cards, and a model could make any number."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which tool call proposes, and the genuine inputs behind it (T2)."""

    call_key: str
    source: tuple[str, tuple[int, ...]] | None = None


async def proposal_of_call(tx: Transaction, asked: Asked) -> AutomationProposalRow | None:
    """What this call has proposed already (I2)."""
    query = select(AutomationProposalRow).where(AutomationProposalRow.call_key == _key(tx, asked))
    return (await tx.session.scalars(query)).first()


async def add_proposal(
    tx: Transaction, asked: Asked, kind: str, content: dict[str, Any], automation_id: str | None
) -> AutomationProposalRow:
    """Open a proposal; the caller has seen that its call has none."""
    for oldest in (await open_proposals(tx))[MOST_OPEN - 1 :]:
        close_proposal(tx, oldest, "too_many")
    session_id, seqs = asked.source or (None, ())
    row = AutomationProposalRow(
        proposal_id=tx.new_id("proposal"), user_space=tx.scope.user_space, domain=tx.scope.domain,
        call_key=_key(tx, asked), kind=kind, automation_id=automation_id, content=content, state=OPEN,
        source_session_id=session_id, source_seqs=list(seqs), created_at=tx.now,
    )  # fmt: skip
    tx.session.add(row)
    await tx.session.flush()
    changes.notify(tx, TOPIC)
    return row


def close_proposal(tx: Transaction, proposal: AutomationProposalRow, reason: str) -> None:
    """Close a proposal: `confirmed`, or why it is proposed no longer."""
    proposal.state = "confirmed" if reason == "confirmed" else "closed"
    proposal.reason, proposal.closed_at = reason, tx.now
    changes.notify(tx, TOPIC)


async def close_reschedules(tx: Transaction, automation_id: str, reason: str) -> None:
    """Close what is proposed for an automation, because its times changed or it is gone."""
    query = _open(tx).where(AutomationProposalRow.automation_id == automation_id)
    for proposal in (await tx.session.scalars(query)).all():
        close_proposal(tx, proposal, reason)


async def open_proposals(tx: Transaction) -> list[AutomationProposalRow]:
    """The proposals that may be confirmed now, newest first."""
    query = _open(tx).where(AutomationProposalRow.created_at > tx.now - LIFETIME)
    return list(await tx.session.scalars(query.order_by(AutomationProposalRow.proposal_id.desc())))


async def open_proposal(tx: Transaction, proposal_id: str) -> AutomationProposalRow:
    """A proposal that may be confirmed now.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1); `revision_conflict` for a closed one, with why.
    """
    row = await tx.session.get(AutomationProposalRow, proposal_id)
    if row is None or (row.user_space, row.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such proposal.")
    state = "expired" if row.state == OPEN and row.created_at <= tx.now - LIFETIME else row.state
    if state != OPEN:
        message = f"This proposal is {state}. Ask for the schedule again."
        raise refuse("revision_conflict", message, state=state, reason=row.reason, automation_id=row.automation_id)
    return row


def _open(tx: Transaction) -> Select[AutomationProposalRow]:
    return select(AutomationProposalRow).where(
        AutomationProposalRow.user_space == tx.scope.user_space,
        AutomationProposalRow.domain == tx.scope.domain,
        AutomationProposalRow.state == OPEN,
    )


def _key(tx: Transaction, asked: Asked) -> str:
    # Runs are of one user space, but the column is unique in the whole table.
    return f"{tx.scope.user_space}:{tx.scope.domain}:{asked.call_key}"
