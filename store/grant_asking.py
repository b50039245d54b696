"""Asking what would have to be granted (A11): for a task, an automation or a text, once for each request (I2)."""

from dataclasses import dataclass
from typing import Final

from domain.limits import check_text
from domain.refusal import accepted, refuse
from store import automations, grant_proposals, receipts, tasks
from store.authority import Authority
from store.database import Transaction
from store.tables_grants import GrantProposalRow
from store.tables_host import ReceiptRow

PROPOSE: Final = "agents.grants.propose"


@dataclass(frozen=True, slots=True)
class Wanted:
    """For what something would be granted: exactly one of the three."""

    task_id: str | None = None
    automation_id: str | None = None
    proposal_text: str | None = None


async def propose(
    tx: Transaction, wanted: Wanted, authority: Authority, root: str, request_id: str, principal: str
) -> tuple[ReceiptRow, GrantProposalRow]:
    """Write down what would have to be granted; it grants nothing, and an open request is returned as it is (A11).

    A repeated request gets its own proposal again, as it stands by now: it may have been issued or closed (I2).

    Args:
        tx: The unit of work.
        wanted: For what.
        authority: Who would grant it, and for which model.
        root: The files folder, absolute.
        request_id: Of the request.
        principal: Who asks.

    Raises:
        Refused: `invalid_params` where not exactly one thing is named, or for the text; `not_found`;
            `authorization_requirement_mismatch` for a task that has ended; `request_id_conflict`.
    """
    named = {
        "task_id": wanted.task_id, "automation_id": wanted.automation_id, "proposal_text": wanted.proposal_text,
    }  # fmt: skip
    if sum(value is not None for value in named.values()) != 1:
        raise refuse("invalid_params", "Name exactly one of task_id, automation_id and proposal_text.")
    earlier = await receipts.repeated(tx, request_id, PROPOSE, named)
    if earlier is not None:
        return earlier, await grant_proposals.proposal_row(tx, earlier.subject_id or "")
    proposal = await _proposed(tx, wanted, authority, root)
    await tx.session.flush()
    receipt = await receipts.accept(tx, request_id, PROPOSE, named, principal=principal)
    receipt.subject_id, receipt.task_id = proposal.proposal_id, proposal.task_id
    return receipt, proposal


async def _proposed(tx: Transaction, wanted: Wanted, authority: Authority, root: str) -> GrantProposalRow:
    owner, model = authority.owner, authority.model
    if wanted.task_id is not None:
        task = await tasks.task_row(tx, wanted.task_id)
        return await grant_proposals.propose_for_task(tx, task, owner, model, root)
    if wanted.automation_id is not None:
        automation = await automations.automation_row(tx, wanted.automation_id)
        return await grant_proposals.propose_for_automation(tx, automation, owner, model, root)
    text = accepted(check_text(wanted.proposal_text or "", field="proposal_text"))
    return grant_proposals.propose_for_text(tx, text, owner, root, models=model)
