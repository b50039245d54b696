"""The external provider `oidc` (A8): whether the account that a grant rests on is still valid at its issuer.

Bounds, expiry and revocation of a grant are the host's and are read in the gate's transaction; of an execution nothing
leaves this machine, only the account's token goes to its issuer. What disabling an account means is the issuer's
business.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Final

from adapters.credential_store import CredentialsUnavailable
from adapters.oidc_accounts import Account, Accounts
from adapters.oidc_http import NoAnswer
from adapters.oidc_introspection import Standing, standing
from adapters.oidc_issuer import OidcIssuer
from contracts.authorization import OIDC, Admission, Allow, Deny, Description, Issued, Lease, Reference, Uncertain
from domain.grant import Execution

NOES: Final[dict[Standing, Deny | Uncertain]] = {
    Standing.REVOKED: Deny("authorization_revoked"),
    Standing.EXPIRED: Deny("authorization_expired"),
    Standing.OTHER: Deny("authorization_denied"),
    Standing.UNKNOWN: Uncertain(),
}


class OidcAuthorization:
    """Asks one issuer about the accounts that are signed in there; implements `AuthorizationProvider`.

    Attributes:
        name: as the configuration selects it.
        local_only: nothing of an execution is sent.
    """

    name: Final = OIDC
    local_only: Final = True

    def __init__(self, issuer: OidcIssuer, accounts: Accounts, tenant_claim: str, now: Callable[[], datetime]) -> None:
        self._issuer = issuer
        self._accounts = accounts
        self._tenant_claim = tenant_claim
        self._now = now

    async def issue(self, admission: Admission) -> Allow[Issued] | Deny | Uncertain:
        """Allow a grant if an account is signed in, is the owner's, and is valid now (A8)."""
        if not admission.local:
            return Deny("authorization_source_untrusted")
        try:
            account = await asyncio.to_thread(self._accounts.current, self._issuer.address, self._issuer.client_id)
        except CredentialsUnavailable:
            return Uncertain()
        if account is None or account.owner != admission.owner:
            return Deny("authorization_denied")
        no = await self._no(account)
        return Allow(Issued(account.account_id, admission.expires_at)) if no is None else no

    async def acquire(self, ref: Reference, execution: Execution) -> Allow[Lease] | Deny | Uncertain:
        """Ask the issuer about the grant's account, now (A4)."""
        account = await self._account(ref)
        if not isinstance(account, Account):
            return account
        no = await self._no(account)
        return Allow(Lease(ref.grant_ref, execution.action_digest)) if no is None else no

    async def release(self, lease: Lease, outcome: str) -> Allow[None] | Deny | Uncertain:
        """Nothing is held at the issuer, so nothing is given back; the host keeps the lease's outcome."""
        return Allow(None)

    async def revoke(self, ref: Reference, reason: str | None) -> Allow[None] | Deny | Uncertain:
        """The account stays valid at the issuer: other grants may rest on it. The host refuses this one from now on."""
        return Allow(None)

    async def describe(self, ref: Reference) -> Allow[Description] | Deny | Uncertain:
        """Whose account the grant rests on, from what was fixed at the sign-in; the issuer is not asked."""
        account = await self._account(ref)
        return Allow(Description(account.owner, account.expires_at)) if isinstance(account, Account) else account

    async def _account(self, ref: Reference) -> Account | Deny | Uncertain:
        if ref.account is None:
            return Deny("authorization_denied")
        try:
            account = await asyncio.to_thread(self._accounts.find, ref.account)
        except CredentialsUnavailable:
            return Uncertain()
        if account is None:
            # Signed out: the owner has taken the account's authority back.
            return Deny("authorization_revoked")
        mine = (account.issuer, account.client_id) == (self._issuer.address, self._issuer.client_id)
        if not mine or account.account_id != ref.account or account.owner != ref.owner:
            return Deny("authorization_denied")
        return account

    async def _no(self, account: Account) -> Deny | Uncertain | None:
        try:
            told = await self._issuer.introspect(account.token, account.token_kind)
        except NoAnswer:
            return Uncertain()
        return NOES.get(standing(told, account, self._tenant_claim, self._now()))
