"""`agents.grants.propose|issue|list|revoke`: unattended authority, given and taken by its owner (A7, A9-A11)."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, StringConstraints

from domain.refusal import refuse
from host.call import Call
from host.methods.method import Method, Result
from host.rpc.params import DEFAULT_PAGE, Cursor, Id, Limit, Params
from host.services import Services
from store import grant_asking, grant_views, grants, receipts, views
from store.grant_asking import Wanted
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
    """Say what would have to be granted (A11). It grants nothing; an open request is returned as it is."""
    wanted = Wanted(call.params.task_id, call.params.automation_id, call.params.proposal_text)
    async with services.admission(call) as tx:
        receipt, row = await grant_asking.propose(
            tx, wanted, services.authority, str(services.files_root), call.write_id, call.principal.id
        )
        return grant_views.proposal_view(row) | {"receipt": views.receipt_view(receipt)}


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
    "agents.grants.propose": Method(propose, GrantPropose, writes=True),
    "agents.grants.issue": Method(issue, GrantIssue, writes=True, local=True),
    "agents.grants.list": Method(list_grants, GrantList),
    "agents.grants.revoke": Method(revoke, GrantRevoke, writes=True, local=True),
}
