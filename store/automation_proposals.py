"""Schedules that the assistant proposes (U9): saved for the owner to look at, and nothing but that until confirmed.

The hard thing is that a proposal may be confirmed long after it was made: what it rests on is checked again then.
"""

from dataclasses import asdict
from typing import Final

from domain.automation import Binding, check_binding, check_to_come
from domain.refusal import accepted
from domain.schedule import Schedule, schedule_of
from store import receipts
from store.automation_edits import replace_schedule
from store.automation_proposal_rows import (
    Asked,
    add_proposal,
    close_proposal,
    close_reschedules,
    open_proposal,
    proposal_of_call,
)
from store.automations import NewAutomation, Write, automation_row, insert, written
from store.database import Transaction
from store.tables_automations import AutomationProposalRow, AutomationRow
from store.tables_host import ReceiptRow

CONFIRM: Final = "agents.automations.confirm"
NEW, RESCHEDULE = "create", "reschedule"


async def propose_new(tx: Transaction, binding: Binding, schedule: Schedule, asked: Asked) -> AutomationProposalRow:
    """Propose a new automation; the same call proposes once.

    Raises:
        Refused: `invalid_params` for the binding or a time that has passed.
    """
    earlier = await proposal_of_call(tx, asked)
    if earlier is not None:
        return earlier
    checked = accepted(check_binding(binding))
    accepted(check_to_come(schedule, tx.now))
    return await add_proposal(tx, asked, NEW, {**asdict(checked), "schedule": schedule.stored()}, None)


async def propose_reschedule(
    tx: Transaction, automation_id: str, schedule: Schedule, asked: Asked
) -> AutomationProposalRow:
    """Propose other times for an automation; this takes the place of what was proposed for it before.

    Raises:
        Refused: `not_found`; `invalid_params` for a time that has passed.
    """
    earlier = await proposal_of_call(tx, asked)
    if earlier is not None:
        return earlier
    row = await automation_row(tx, automation_id)
    accepted(check_to_come(schedule, tx.now))
    await close_reschedules(tx, automation_id, "newer_proposal")
    content = {"title": row.title, "schedule": schedule.stored()}
    return await add_proposal(tx, asked, RESCHEDULE, content, automation_id)


async def confirm(tx: Transaction, proposal_id: str, write: Write) -> tuple[ReceiptRow, AutomationRow]:
    """Make a proposal real (U9).

    Raises:
        Refused: `not_found`; `revision_conflict` for a closed one, with why; `invalid_params` where its time has passed
            by now or there are too many automations; `request_id_conflict`.
    """
    content = {"proposal_id": proposal_id}
    earlier = await receipts.repeated(tx, write.request_id, CONFIRM, content)
    if earlier is not None:
        return earlier, await automation_row(tx, earlier.subject_id or "", deleted=True)
    proposal = await open_proposal(tx, proposal_id)
    schedule = accepted(schedule_of(proposal.content["schedule"]))
    # Closed first: a new schedule closes what is still proposed for the automation.
    close_proposal(tx, proposal, "confirmed")
    await tx.session.flush()
    if proposal.automation_id is None:
        row = await insert(tx, _new(proposal, schedule), write.principal)
        proposal.automation_id = row.automation_id
    else:
        row = await automation_row(tx, proposal.automation_id)
        await replace_schedule(tx, row, schedule)
    return await written(tx, CONFIRM, content, row, write), row


def _new(proposal: AutomationProposalRow, schedule: Schedule) -> NewAutomation:
    binding = Binding(**{field: value for field, value in proposal.content.items() if field != "schedule"})
    session_id = proposal.source_session_id
    source = (session_id, tuple(proposal.source_seqs)) if session_id is not None else None
    return NewAutomation(binding, schedule, source=source)
