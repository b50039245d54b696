"""Which provider of `execution.authorization@1` this instance has (A2, A6): chosen by name, and no other steps in.

The native provider decides in the gate's transaction, so that its operations are functions of a transaction; they are
named here as the contract names them, and held to the same completeness as an external one.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from types import SimpleNamespace
from typing import Any, Final

from activities.authority import OutsideAuthority
from adapters.credential_store import CredentialsUnavailable
from contracts.authorization import (
    ANSWER_TIMEOUT_S,
    OIDC,
    Admission,
    Allow,
    AuthorizationProvider,
    Deny,
    Issued,
    Uncertain,
)
from domain.grant import lifetime
from domain.grant_bounds import Owner
from domain.refusal import accepted, refuse
from runtime.issuer_accounts import accounts, current_account, oidc_issuer
from runtime.settings import Settings
from store import grant_views, grants, leases
from store.authority import LOCAL, LOCAL_OWNER, Authority
from store.database import Database, utc_now
from store.grants import Issuer

NATIVE: Final = SimpleNamespace(
    name=LOCAL,
    local_only=True,
    issue=grants.issue,
    acquire=leases.acquire,
    release=leases.release,
    revoke=grants.revoke,
    describe=grant_views.grant_view,
)
NOBODY: Final = "nobody"
"""The subject of what is proposed while nobody is signed in; what is issued names who is."""


def _native(_settings: Settings) -> Any:  # noqa: ANN401 - functions of a transaction
    return NATIVE


def _oidc(settings: Settings) -> AuthorizationProvider:
    # Heavy, and of no use where the native provider is chosen.
    from adapters.oidc_authorization import OidcAuthorization

    return OidcAuthorization(oidc_issuer(settings), accounts(settings), settings.oidc_tenant_claim, utc_now)


PROVIDERS: Final[Mapping[str, Callable[[Settings], Any]]] = {LOCAL: _native, OIDC: _oidc}
Providers = Mapping[str, Callable[[Settings], Any]]


def authority(settings: Settings, providers: Providers = PROVIDERS) -> Authority:
    """The selected provider as the gate is configured with it; a name that is not known is a missing one (A6).

    Blocks while the credential store is read.
    """
    build = providers.get(settings.authorization_provider)
    return Authority(
        provider=settings.authorization_provider,
        known=frozenset(providers),
        complete=build is None or supports_contract(build(settings)),
        owner=_owner(settings),
        model=settings.effective_task_model,
    )


def supports_contract(provider: object) -> bool:
    """Whether a provider can be asked about effects: it acquires and releases, and keeps them on this machine (A2)."""
    operations = (getattr(provider, name, None) for name in ("acquire", "release"))
    return getattr(provider, "local_only", False) is True and all(callable(operation) for operation in operations)


def outside(settings: Settings, database: Database, providers: Providers = PROVIDERS) -> OutsideAuthority:
    """Who is asked right before the gate's transaction; nobody where the provider is native, missing or incomplete.

    Blocks while the credential store is read.
    """
    name = settings.authorization_provider
    build = providers.get(name) if name != LOCAL else None
    return OutsideAuthority(database, authority(settings, providers), build(settings) if build is not None else None)


async def admit(settings: Settings, lifetime_s: int | None, providers: Providers = PROVIDERS) -> Issuer:
    """Who issues a grant now, after the external provider was asked whether one may be issued (A2, A6, A8).

    The caller has seen that the request came through the trusted local entry (A7).

    Raises:
        Refused: as for `issuer`; and with the provider's code when it says no, or nothing that can be used.
    """
    found = await asyncio.to_thread(issuer, settings)
    if found.owner is None:
        return found
    expires_at = utc_now() + timedelta(seconds=accepted(lifetime(lifetime_s)))
    provider: AuthorizationProvider = await asyncio.to_thread(providers[found.provider], settings)
    reply: Allow[Issued] | Deny | Uncertain = Uncertain()
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            reply = await provider.issue(Admission(found.owner, expires_at, local=True))
    if isinstance(reply, Allow):
        return found
    words = "The issuer does not vouch for the account now, so nothing was granted. Try again, or sign in again."
    raise refuse(reply.code, words)


def issuer(settings: Settings) -> Issuer:
    """Who issues a grant now: with `oidc` the account that is signed in at this moment (A8).

    Blocks while the credential store is read; read it anew for each grant, since people sign in and out meanwhile.

    Raises:
        Refused: `authorization_provider_missing`; `authorization_denied` when nobody is signed in;
            `authorization_uncertain` when the credential store cannot be read.
    """
    name = settings.authorization_provider
    if name == LOCAL:
        return Issuer()
    if name != OIDC:
        raise refuse(
            "authorization_provider_missing",
            f"There is no authorization provider {name!r}. Check STEWARD_AUTHORIZATION_PROVIDER.",
        )
    try:
        account = current_account(settings)
    except CredentialsUnavailable as error:
        raise refuse("authorization_uncertain", str(error)) from None
    if account is None:
        raise refuse(
            "authorization_denied", "Nobody is signed in at the issuer. Sign in by `steward auth account login`."
        )
    return Issuer(OIDC, account.account_id, account.owner)


def _owner(settings: Settings) -> Owner:
    if settings.authorization_provider != OIDC:
        return LOCAL_OWNER
    try:
        account = current_account(settings)
    except CredentialsUnavailable:
        account = None
    return account.owner if account is not None else Owner(settings.oidc_issuer or "", "", NOBODY)
