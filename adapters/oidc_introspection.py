"""What an issuer's introspection answer says about an account (RFC 7662, section 2.2; A8): pure reading."""

from datetime import UTC, datetime
from enum import StrEnum

from adapters.oidc_accounts import Account
from adapters.oidc_http import Json
from adapters.oidc_id_token import NO_TENANT


class Standing(StrEnum):
    """How an account stands; only `active` is a yes."""

    ACTIVE = "active"
    REVOKED = "revoked"
    EXPIRED = "expired"
    OTHER = "other"
    UNKNOWN = "unknown"


def standing(told: Json, account: Account, tenant_claim: str, now: datetime) -> Standing:
    """Say how an account stands by what its issuer told about its token.

    An inactive token has expired if its time is known to be over, else it counts as revoked. An active one must be
    this account's: a subject has to be named and be equal, and what else is named must not differ.
    """
    if told.get("active") is not True:
        over = account.expires_at is not None and now >= account.expires_at
        return Standing.EXPIRED if over else Standing.REVOKED
    if "sub" not in told:
        return Standing.UNKNOWN
    fixed = {"sub": account.subject, "iss": account.issuer, "client_id": account.client_id}
    if account.tenant != NO_TENANT:
        fixed[tenant_claim] = account.tenant
    if any(name in told and told[name] != value for name, value in fixed.items()):
        return Standing.OTHER
    ends_at = expiry(told)
    if "exp" in told and ends_at is None:
        return Standing.UNKNOWN
    return Standing.EXPIRED if ends_at is not None and now >= ends_at else Standing.ACTIVE


def expiry(told: Json) -> datetime | None:
    """When the token ends by itself; None where that is not said, or is no time."""
    value = told.get("exp")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
