"""Requests for a grant (A10, A11): opened with exact bounds, shown in the conversation, closed by what settles them."""

from datetime import timedelta

from sqlalchemy import select

from domain.delivery import DeliveryKind
from domain.grant import DEFAULT_LIFETIME_S, Bounds, Execution
from domain.grant_bounds import (
    FILE_WORK,
    Owner,
    Words,
    effect_words,
    exact_bounds,
    file_resources,
    file_words,
    named_paths,
)
from domain.refusal import refuse
from domain.task import TERMINAL, TaskState
from store import changes, deliveries
from store.database import Transaction
from store.tables_authority import EffectRow
from store.tables_automations import AutomationRow
from store.tables_grants import GrantProposalRow
from store.tables_work import RequirementRow, TaskRow

OPEN = "open"


async def request_for_effect(
    tx: Transaction, effect: EffectRow, task: TaskRow, owner: Owner, wanted: Execution
) -> None:
    """Ask the owner for exactly what one effect needs, by a delivery (A10); asked again for the same, nothing changes.

    A newer request of the task closes the older ones. A sub-task's request goes to the owner like any other.
    """
    bounds = exact_bounds(owner, wanted, tx.now, tx.now + timedelta(seconds=DEFAULT_LIFETIME_S))
    for earlier in await open_proposals(tx, task.task_id):
        if earlier.effect_id == effect.effect_id and earlier.requirement_version == task.requirement_version:
            return
        close_proposal(tx, earlier, "newer_request")
    proposal = _new(tx, bounds, effect_words(wanted.resources, effect.words))
    proposal.task_id, proposal.requirement_version = task.task_id, task.requirement_version
    proposal.effect_id = effect.effect_id
    tx.session.add(proposal)
    await tx.session.flush()
    await deliveries.open_delivery(
        tx,
        DeliveryKind.AUTHORIZATION,
        task_id=task.task_id,
        requirement_version=task.requirement_version,
        attempt=task.attempt,
        subject_id=proposal.proposal_id,
    )
    changes.notify(tx, "grants")


async def propose_for_task(tx: Transaction, task: TaskRow, owner: Owner, model: str, root: str) -> GrantProposalRow:
    """What the owner may grant a task now: what its waiting effect needs, else what its instructions ask for (A11).

    Raises:
        Refused: `authorization_requirement_mismatch` for a task that has ended: its next version needs its own (T11).
    """
    if TaskState(task.state) in TERMINAL:
        words = "This task has ended, so nothing can be granted to it. Resume it first."
        raise refuse("authorization_requirement_mismatch", words)
    for earlier in await open_proposals(tx, task.task_id):
        if earlier.requirement_version == task.requirement_version:
            return earlier
    requirement = await tx.session.get_one(RequirementRow, (task.task_id, task.requirement_version))
    proposal = propose_for_text(
        tx, requirement.instructions, owner, root, models=model, agent_id=task.agent_id, engine=task.engine
    )
    proposal.task_id, proposal.requirement_version = task.task_id, task.requirement_version
    await tx.session.flush()
    return proposal


async def propose_for_automation(
    tx: Transaction, automation: AutomationRow, owner: Owner, model: str, root: str
) -> GrantProposalRow:
    """What the owner may grant an automation for what it does now (A11, A15); the open request if any."""
    for earlier in await _automation_requests(tx, automation.automation_id):
        if earlier.binding_revision == automation.binding_revision:
            return earlier
    proposal = propose_for_text(
        tx, automation.instructions, owner, root,
        models=model, agent_id=automation.agent_id, engine=automation.engine,
    )  # fmt: skip
    proposal.automation_id, proposal.binding_revision = automation.automation_id, automation.binding_revision
    await tx.session.flush()
    return proposal


def propose_for_text(
    tx: Transaction, text: str, owner: Owner, root: str, *, models: str, agent_id: str = "twin", engine: str = "native"
) -> GrantProposalRow:
    """Bounds for a text without a task yet: the files it names, or the files folder (A11); nothing is granted by it."""
    paths = named_paths(text)
    bounds = Bounds(
        issuer=owner.issuer, tenant=owner.tenant, subject=owner.subject,
        user_space=tx.scope.user_space, domain=tx.scope.domain, agent_id=agent_id,
        actions=FILE_WORK, resources=file_resources(root, paths), models=frozenset({models}),
        engines=frozenset({engine}), permission_ceiling="standard",
        issued_at=tx.now, expires_at=tx.now + timedelta(seconds=DEFAULT_LIFETIME_S),
    )  # fmt: skip
    proposal = _new(tx, bounds, file_words(paths))
    tx.session.add(proposal)
    changes.notify(tx, "grants")
    return proposal


async def close_requests(tx: Transaction, task_id: str, reason: str) -> None:
    """Close what a task has asked for, because it was stopped or has ended (A10); its message still appears (D8)."""
    for proposal in await open_proposals(tx, task_id):
        close_proposal(tx, proposal, reason)


async def close_automation_requests(tx: Transaction, automation_id: str, reason: str) -> None:
    """Close what is asked for an automation, because it does other work now or is gone (U3)."""
    for proposal in await _automation_requests(tx, automation_id):
        close_proposal(tx, proposal, reason)


def close_proposal(tx: Transaction, proposal: GrantProposalRow, reason: str) -> None:
    """Close a request: `issued`, or why it is asked no longer."""
    proposal.state = "issued" if reason == "issued" else "closed"
    proposal.reason, proposal.closed_at = reason, tx.now
    changes.notify(tx, "grants")


async def open_proposals(tx: Transaction, task_id: str) -> list[GrantProposalRow]:
    """The open requests of a task, oldest first."""
    query = (
        select(GrantProposalRow)
        .where(GrantProposalRow.task_id == task_id, GrantProposalRow.state == OPEN)
        .order_by(GrantProposalRow.proposal_id)
    )
    return list(await tx.session.scalars(query))


async def _automation_requests(tx: Transaction, automation_id: str) -> list[GrantProposalRow]:
    query = (
        select(GrantProposalRow)
        .where(GrantProposalRow.automation_id == automation_id, GrantProposalRow.state == OPEN)
        .where(GrantProposalRow.user_space == tx.scope.user_space, GrantProposalRow.domain == tx.scope.domain)
        .order_by(GrantProposalRow.proposal_id)
    )
    return list(await tx.session.scalars(query))


async def proposal_row(tx: Transaction, proposal_id: str) -> GrantProposalRow:
    """A request of this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    row = await tx.session.get(GrantProposalRow, proposal_id)
    if row is None or (row.user_space, row.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such request for a grant.")
    return row


def _new(tx: Transaction, bounds: Bounds, words: Words) -> GrantProposalRow:
    return GrantProposalRow(
        proposal_id=tx.new_id("proposal"),
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        bounds=bounds.fields(),
        words=words,
        state=OPEN,
        created_at=tx.now,
    )
