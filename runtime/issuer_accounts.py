"""The configured issuer and who is signed in there, for the command line and for authorization; needs no database."""

from typing import TYPE_CHECKING

from adapters.credential_store import CredentialStore, system_keyring
from adapters.oidc_accounts import Account, Accounts
from contracts.authorization import ANSWER_TIMEOUT_S
from domain.refusal import refuse
from runtime.settings import Settings

if TYPE_CHECKING:
    from adapters.oidc_issuer import OidcIssuer


def oidc_issuer(settings: Settings, timeout_s: float = ANSWER_TIMEOUT_S) -> "OidcIssuer":
    """The configured issuer, as it is asked about an effect, or with a time-out for a person who waits.

    Raises:
        Refused: `invalid_params`, when none is configured.
    """
    # Heavy, and of no use where the native provider is chosen.
    from adapters.oidc_issuer import OidcIssuer

    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        raise refuse("invalid_params", "Set STEWARD_OIDC_ISSUER and STEWARD_OIDC_CLIENT_ID first.")
    secret = settings.oidc_client_secret.get_secret_value() if settings.oidc_client_secret else None
    return OidcIssuer(settings.oidc_issuer, settings.oidc_client_id, secret, timeout_s)


def accounts(settings: Settings) -> Accounts:
    """The accounts that are signed in on this instance; its methods block and may raise `CredentialsUnavailable`."""
    return Accounts(CredentialStore(settings.state_dir, system_keyring()))


def current_account(settings: Settings) -> Account | None:
    """The account that grants now, None when nobody is signed in at the configured issuer.

    Raises:
        CredentialsUnavailable: the credential store cannot be read.
    """
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    return accounts(settings).current(settings.oidc_issuer, settings.oidc_client_id)
