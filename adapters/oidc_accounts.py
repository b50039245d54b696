"""The accounts that are signed in at issuers (A8), each one secret of the credential store."""

import hashlib
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.credential_store import CredentialStore, CredentialsUnavailable
from domain.grant_bounds import Owner

PREFIX = "oidc:"


class Account(BaseModel):
    """A signed-in account.

    Attributes:
        issuer: with `tenant` and `subject` who it is, fixed by the id token of the sign-in.
        client_id: as whom Steward signed in; another client's tokens are not asked about.
        token: what stands for the account at the issuer: it is introspected and never used for anything else.
        token_kind: which of the sign-in's tokens it is.
        expires_at: when the token ends by itself, None where the issuer did not say.
        signed_in_at: when.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str
    tenant: str
    subject: str
    client_id: str
    token: str = Field(repr=False)
    token_kind: Literal["refresh_token", "access_token"]
    expires_at: datetime | None
    signed_in_at: datetime

    @property
    def account_id(self) -> str:
        """The account's id: the same after every sign-in of the same person, so that a grant stays theirs."""
        return account_id(self.owner)

    @property
    def owner(self) -> Owner:
        """Who grants with this account."""
        return Owner(self.issuer, self.tenant, self.subject)


def account_id(owner: Owner) -> str:
    """The id of an owner's account: a digest, so that two owners never share one."""
    parts = "".join(f"{len(part)}:{part}" for part in (owner.issuer, owner.tenant, owner.subject))
    return f"account_{hashlib.sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


class Accounts:
    """The accounts in a credential store; every method blocks and may raise `CredentialsUnavailable`."""

    def __init__(self, store: CredentialStore) -> None:
        self._store = store

    def keep(self, account: Account) -> None:
        """Keep an account; an earlier sign-in of the same one is replaced."""
        self._store.write(f"{PREFIX}{account.account_id}", account.model_dump_json())

    def forget(self, account: str) -> bool:
        """Forget an account by its id; whether there was one."""
        return self._store.remove(f"{PREFIX}{account}")

    def find(self, account: str) -> Account | None:
        """An account by its id, None when it is not signed in."""
        content = self._store.read(f"{PREFIX}{account}")
        if content is None:
            return None
        try:
            return Account.model_validate_json(content)
        except ValidationError:
            raise CredentialsUnavailable("A stored account is damaged. Sign out and in again.") from None

    def all(self) -> list[Account]:
        """All accounts, the newest sign-in first."""
        names = [name.removeprefix(PREFIX) for name in self._store.names() if name.startswith(PREFIX)]
        found = [account for name in names if (account := self.find(name)) is not None]
        return sorted(found, key=lambda account: account.signed_in_at, reverse=True)

    def current(self, issuer: str, client_id: str) -> Account | None:
        """The account that grants: the newest sign-in of this client at this issuer."""
        fitting = (account for account in self.all() if (account.issuer, account.client_id) == (issuer, client_id))
        return next(fitting, None)
