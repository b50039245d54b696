"""Who signed in: an id token, verified against its issuer's keys (OpenID Connect Core 1.0, section 3.1.3.7; A8)."""

from typing import Any, Final

from authlib.oidc.core import CodeIDToken
from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key, KeySet

from adapters.oidc_http import Json, NoAnswer
from domain.grant_bounds import Owner

# Signatures by the issuer's private key only: with a shared secret, whoever knows it could say who signed in.
ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
)  # fmt: skip
NO_TENANT: Final = "default"
LEEWAY_S: Final = 120
LONGEST_NAME: Final = 255


class Untrusted(Exception):
    """An id token that does not prove who signed in; the text is for a person and quotes nothing of it."""


def signed_in_owner(
    id_token: object, keys: Json, *, issuer: str, client_id: str, access_token: str, tenant_claim: str, now_s: float
) -> Owner:
    """Return whom an id token names.

    Args:
        id_token: what the issuer sent as such.
        keys: the issuer's key set.
        issuer: who must have issued it.
        client_id: for whom.
        access_token: the token beside it, which it may be bound to.
        tenant_claim: the claim that names the tenant; without it the tenant is `NO_TENANT`.
        now_s: the time, as a POSIX time stamp.

    Raises:
        Untrusted: the signature, issuer, audience, time or subject is not what it must be.
        NoAnswer: the keys have no usable form.
    """
    if not isinstance(id_token, str):
        raise Untrusted("The issuer sent no id token.")
    try:
        token = jwt.decode(id_token, _key(id_token, keys), algorithms=ALGORITHMS)
        claims = CodeIDToken(
            token.claims,
            token.header,
            options={
                "iss": {"essential": True, "value": issuer},
                "aud": {"essential": True, "value": client_id},
                "sub": {"essential": True},
                "exp": {"essential": True},
                "iat": {"essential": True},
            },
            params={"client_id": client_id, "access_token": access_token},
        )
        claims.validate(now=int(now_s), leeway=LEEWAY_S)
    except (JoseError, ValueError, TypeError, RecursionError):
        raise Untrusted("The id token is not one of this issuer for this client, or it is too old.") from None
    return Owner(issuer, tenant_of(token.claims, tenant_claim), _name(token.claims.get("sub"), "sub"))


def tenant_of(claims: Json, tenant_claim: str) -> str:
    """Return the tenant that claims name.

    Raises:
        Untrusted: the claim is there but is no name.
    """
    return _name(claims[tenant_claim], tenant_claim) if tenant_claim in claims else NO_TENANT


def _name(value: object, claim: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME:
        raise Untrusted(f"The claim {claim!r} is no name of at most {LONGEST_NAME} characters.")
    return value


def _key(id_token: str, keys: Json) -> Any:  # noqa: ANN401 - joserfc's union of keys
    known = _known_keys(keys)
    if "kid" not in jws.extract_compact(id_token.encode("ascii")).headers() and len(known) == 1:
        return known[0]
    return KeySet(known)


def _known_keys(keys: Json) -> list[Key]:
    listed = keys.get("keys")
    if not isinstance(listed, list):
        raise NoAnswer("The issuer's key set has not the form that the standard asks for.")
    known: list[Key] = []
    for one in listed:
        try:
            known.append(JWKRegistry.import_key(one))
        except (JoseError, ValueError, TypeError, AttributeError, KeyError):
            # A key of a kind that is not known here must not spoil the others.
            continue
    return known
