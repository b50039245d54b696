"""Grants (A): issued for a proposal by the owner, bound once, narrowed for sub-tasks, revoked at once.

The row is the truth: what the claim's transaction reads here decides, whatever any timer has done (A12).
"""

from dataclasses import asdict, dataclass
from datetime import timedelta

from sqlalchemy import select

from domain.effect import EffectState
from domain.grant import Bounds, lifetime, narrow
from domain.grant_bounds import Owner
from domain.refusal import accepted, refuse
from store import audit, changes, outbox, receipts
from store.automation_waiting import waiting_tasks
from store.database import Transaction
from store.effect_waiting import end_waiting
from store.grant_proposals import close_proposal, proposal_row
from store.grant_rows import grant_row, hold
from store.tables_authority import EffectRow
from store.tables_grants import GrantRow
from store.tables_host import ReceiptRow
from store.tables_work import TaskRow

ISSUE, REVOKE = "agents.grants.issue", "agents.grants.revoke"
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who issues: the provider, and for an external one the account whose validity it will be asked about (A8).

    `owner` is who is signed in with that account: the grant is theirs, whoever was when it was proposed.
    """

    provider: str = LOCAL
    account: str | None = None
    owner: Owner | None = None


async def issue(
    tx: Transaction, proposal_id: str, lifetime_s: int | None, issuer: Issuer, request_id: str, principal: str
) -> tuple[ReceiptRow, GrantRow]:
    """Grant what a proposal asks for (A7, A10); what waits for it is looked at again.

    The caller has seen that the provider accepts an admission from where the request comes from.

    Raises:
        Refused: `not_found`; `invalid_params` for the lifetime; `authorization_requirement_mismatch` when the proposal
            is closed or its task has newer instructions; `request_id_conflict`.
    """
    content = {"proposal_id": proposal_id, "lifetime_s": lifetime_s}
    earlier = await receipts.repeated(tx, request_id, ISSUE, content)
    if earlier is not None:
        return earlier, await grant_row(tx, earlier.subject_id or "")
    seconds = accepted(lifetime(lifetime_s))
    proposal = await proposal_row(tx, proposal_id)
    task = await tx.session.get(TaskRow, proposal.task_id) if proposal.task_id is not None else None
    if proposal.state != "open" or (task is not None and task.requirement_version != proposal.requirement_version):
        raise refuse("authorization_requirement_mismatch", "This request is closed. Ask for what is needed now.")
    owner = {} if issuer.owner is None else asdict(issuer.owner)
    bounds = Bounds.model_validate(proposal.bounds).model_copy(
        update={**owner, "issued_at": tx.now, "expires_at": tx.now + timedelta(seconds=seconds)}
    )
    grant = _new_grant(tx, bounds, proposal.words, issuer, principal)
    grant.proposal_id = proposal_id
    grant.automation_id, grant.binding_revision = proposal.automation_id, proposal.binding_revision
    tx.session.add(grant)
    await tx.session.flush()
    close_proposal(tx, proposal, "issued")
    if task is not None:
        await hold(tx, grant, task)
        await look_at_waiting(tx, task.task_id)
    if grant.automation_id is not None:
        for task_id in await waiting_tasks(tx, grant.automation_id):
            await look_at_waiting(tx, task_id)
    outbox.post(tx, outbox.GRANT_START, grant.grant_id)
    await _record(tx, "grant.issue", grant, principal)
    receipt = await receipts.accept(tx, request_id, ISSUE, content, principal=principal)
    receipt.subject_id, receipt.task_id = grant.grant_id, grant.task_id
    return receipt, grant


async def revoke(
    tx: Transaction, grant_ref: str, reason: str | None, request_id: str, principal: str
) -> tuple[ReceiptRow, GrantRow]:
    """Revoke a grant at once (A5, A9); revoked again, it stays as it is.

    Raises:
        Refused: `not_found`, `request_id_conflict`.
    """
    content = {"grant_ref": grant_ref, "reason": reason}
    earlier = await receipts.repeated(tx, request_id, REVOKE, content)
    grant = await grant_row(tx, grant_ref)
    if earlier is not None:
        return earlier, grant
    if grant.revoked_at is None:
        grant.revoked_at, grant.revoked_reason = tx.now, reason
        outbox.post(tx, outbox.GRANT_LOOK, grant.grant_id)
        await _record(tx, "grant.revoke", grant, principal)
    receipt = await receipts.accept(tx, request_id, REVOKE, content, principal=principal)
    receipt.subject_id, receipt.task_id = grant.grant_id, grant.task_id
    return receipt, grant


async def note_end(tx: Transaction, grant: GrantRow) -> None:
    """Record, once, that a grant has expired; a revocation was recorded when it was made (A12, A14)."""
    changes.notify(tx, "grants")
    if grant.revoked_at is None:
        await _record(tx, "grant.expire", grant, "host", verdict="expired")


async def derive(tx: Transaction, parent: GrantRow, task: TaskRow) -> GrantRow:
    """A sub-task's narrowing of its parent's grant (A15): it ends no later, and with its parent."""
    bounds = Bounds.model_validate(parent.bounds)
    own = accepted(narrow(bounds, bounds.model_copy(update={"issued_at": tx.now})))
    grant = _new_grant(tx, own, parent.words, Issuer(parent.provider, parent.account), parent.issued_by)
    grant.parent_grant_id = parent.grant_id
    tx.session.add(grant)
    await tx.session.flush()
    await hold(tx, grant, task)
    await audit.record(
        tx, "grant.derive", grant.grant_id, "allow", principal="host",
        details={"task_id": task.task_id, "parent_grant_id": parent.grant_id},
    )  # fmt: skip
    return grant


def _new_grant(tx: Transaction, bounds: Bounds, words: dict[str, str], issuer: Issuer, issued_by: str) -> GrantRow:
    return GrantRow(
        grant_id=tx.new_id("grant"), user_space=tx.scope.user_space, domain=tx.scope.domain,
        provider=issuer.provider, account=issuer.account, bounds=bounds.fields(), words=words,
        issued_by=issued_by, issued_at=bounds.issued_at, expires_at=bounds.expires_at,
    )  # fmt: skip


async def look_at_waiting(tx: Transaction, task_id: str) -> None:
    """Have the gate look again at the effects of a task that wait for authority; its clock runs meanwhile (A10)."""
    query = select(EffectRow).where(
        EffectRow.task_id == task_id, EffectRow.state == EffectState.WAITING_AUTHORIZATION.value
    )
    for effect in (await tx.session.scalars(query)).all():
        await end_waiting(tx, effect)
        outbox.post(tx, outbox.EFFECT_DECIDED, effect.effect_id)


async def _record(tx: Transaction, kind: str, grant: GrantRow, principal: str, *, verdict: str = "allow") -> None:
    changes.notify(tx, "grants")
    details = {"provider": grant.provider, "task_id": grant.task_id, "proposal_id": grant.proposal_id}
    await audit.record(tx, kind, grant.grant_id, verdict, principal=principal, details=details)
