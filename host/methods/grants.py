"""`agents.grants.propose|issue|list|revoke`: unattended authority, given and taken by its owner (A7, A9-A11)."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StringConstraints

from domain.limits import check_text
from domain.refusal import accepted, refuse
from host.call import Call
from host.methods.method import Method, Result
from host.rpc.params import DEFAULT_PAGE, Cursor, Id, Limit, Params
from host.services import Services
from store import automations, grant_proposals, grant_views, grants, receipts, tasks, views
from store.grants import Issuer

REASON_CHARACTERS = 500


class GrantPropose(Params):
    """`agents.grants.propose`: exactly one of the three."""

    task_id: Id | None = None
    automation_id: Id | None = None
    proposal_text: str | None = None


class GrantIssue(Params):
    """`agents.grants.issue`; the lifetime in seconds is 24 hours unless named (A7)."""

    proposal_id: Id
    lifetime_s: Annotated[int, Field(strict=True)] | None = None


class GrantList(Params):
    """`agents.grants.list`."""

    limit: Limit = DEFAULT_PAGE
    cursor: Cursor | None = None


class GrantRevoke(Params):
    """`agents.grants.revoke`."""

    grant_ref: Id
    reason: Annotated[str, StringConstraints(max_length=REASON_CHARACTERS)] | None = None


async def propose(services: Services, call: Call[GrantPropose]) -> Result:
    """Say what would have to be granted (A11). It grants nothing; a task's open request is returned as it is."""
    wanted, authority = call.params, services.authority
    named = [wanted.task_id, wanted.automation_id, wanted.proposal_text]
    if sum(value is not None for value in named) != 1:
        raise refuse("invalid_params", "Name exactly one of task_id, automation_id and proposal_text.")
    root = str(services.files_root)
    async with services.admission(call) as tx:
        if wanted.task_id is not None:
            task = await tasks.task_row(tx, wanted.task_id)
            row = await grant_proposals.propose_for_task(tx, task, authority.owner, authority.model, root)
        elif wanted.proposal_text is not None:
            text = accepted(check_text(wanted.proposal_text, field="proposal_text"))
            row = grant_proposals.propose_for_text(tx, text, authority.owner, root, models=authority.model)
        else:
            automation = await automations.automation_row(tx, wanted.automation_id or "")
            row = await grant_proposals.propose_for_automation(tx, automation, authority.owner, authority.model, root)
        return grant_views.proposal_view(row)


async def issue(services: Services, call: Call[GrantIssue]) -> Result:
    """Grant what a proposal asks for, for a while (A7, A10)."""
    _trusted(call)
    wanted = call.params
    services.authority.check()
    async with services.reading() as tx:
        repeated = await receipts.find(tx, call.write_id) is not None
    # Asked now: people sign in and out while the host runs (A8). A repeated request only reads its receipt (I2).
    issuer = Issuer(services.authority.provider) if repeated else await services.issuer(wanted.lifetime_s)
    async with services.admission(call) as tx:
        receipt, grant = await grants.issue(
            tx, wanted.proposal_id, wanted.lifetime_s, issuer, call.write_id, call.principal.id
        )
        view = grant_views.grant_view(tx, grant)
        return {
            "receipt": views.receipt_view(receipt),
            "grant_ref": grant.grant_id,
            "expires_at": view["expires_at"],
            "grant": view,
        }


async def list_grants(services: Services, call: Call[GrantList]) -> Result:
    """A page of grants, newest first."""
    async with services.reading() as tx:
        return await grant_views.grant_page(tx, call.params.limit, call.params.cursor)


async def revoke(services: Services, call: Call[GrantRevoke]) -> Result:
    """Revoke a grant at once (A5, A9)."""
    async with services.admission(call) as tx:
        receipt, grant = await grants.revoke(
            tx, call.params.grant_ref, call.params.reason, call.write_id, call.principal.id
        )
        return {"receipt": views.receipt_view(receipt), "grant": grant_views.grant_view(tx, grant)}


def _trusted(call: Call[GrantIssue]) -> None:
    """The native provider issues only to the owner's credential on a local connection (A7)."""
    if call.principal.kind != "owner" or not call.principal.local:
        raise refuse("authorization_source_untrusted", "A grant is issued only by the owner, on this machine.")


METHODS: Mapping[str, Method] = {
    "agents.grants.propose": Method(propose, GrantPropose),
    "agents.grants.issue": Method(issue, GrantIssue, writes=True, local=True),
    "agents.grants.list": Method(list_grants, GrantList),
    "agents.grants.revoke": Method(revoke, GrantRevoke, writes=True, local=True),
}
