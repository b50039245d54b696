"""Signing in at the tests' provider: the person approves while the sign-in waits, so that no test sleeps."""

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from adapters.credential_store import CredentialStore
from adapters.oidc_accounts import Account, Accounts
from adapters.oidc_authorization import OidcAuthorization
from adapters.oidc_issuer import OidcIssuer
from adapters.oidc_login import Invitation, Login
from store.database import utc_now
from tests.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider

TENANT_CLAIM = "tid"
Waiting = Callable[[Invitation], None]


def issuer_of(provider: Provider, monotonic: Callable[[], float] = time.monotonic) -> OidcIssuer:
    """The provider as Steward asks it, with patience for a slow machine."""
    return OidcIssuer(provider.address, CLIENT_ID, CLIENT_SECRET, timeout_s=60.0, monotonic=monotonic)


class Person:
    """Waits in place of the clock: each pause lets the person do something at the provider."""

    def __init__(self, *acts: Waiting) -> None:
        self.acts = list(acts)
        self.invitations: list[Invitation] = []
        self.pauses: list[float] = []

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if self.acts:
            self.acts.pop(0)(self.invitations[-1])


def approving(provider: Provider, subject: str = "alice") -> Waiting:
    return lambda invitation: provider.approve(invitation.code, subject)


def idle(_invitation: Invitation) -> None:
    """The person does nothing during one pause."""


async def sign_in(provider: Provider, *acts: Waiting, person: Person | None = None) -> Account:
    """Sign in; without acts the person approves at once."""
    someone = person or Person(*(acts or (approving(provider),)))
    login = Login(issuer_of(provider), TENANT_CLAIM, someone.pause, utc_now)
    return await login.run(someone.invitations.append)


def accounts_in(folder: Path) -> Accounts:
    return Accounts(CredentialStore(folder, None))


def authorization(
    provider: Provider, accounts: Accounts, now: Callable[[], datetime] = utc_now
) -> OidcAuthorization:
    return OidcAuthorization(issuer_of(provider), accounts, TENANT_CLAIM, now)
