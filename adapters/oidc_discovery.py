"""An issuer's discovery document, checked before any of its addresses is used (OpenID Connect Discovery 1.0; A8)."""

from dataclasses import dataclass

from adapters.oidc_address import checked_address, origin
from adapters.oidc_http import Json, NoAnswer

WELL_KNOWN = "/.well-known/openid-configuration"
OFFLINE = "offline_access"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where an issuer is asked what, and how a client shows there who it is.

    Attributes:
        token, device_authorization, introspection, keys: addresses of the issuer's own origin.
        revocation: likewise, None where tokens cannot be revoked by their client.
        scope: what a sign-in asks for.
        token_auth, introspection_auth: the method of client authentication at these endpoints.
    """

    token: str
    device_authorization: str
    introspection: str
    keys: str
    revocation: str | None
    scope: str
    token_auth: str
    introspection_auth: str


def discovery_address(issuer: str) -> str:
    """Return the address of an issuer's discovery document."""
    return f"{issuer.rstrip('/')}{WELL_KNOWN}"


def checked_endpoints(document: Json, issuer: str, *, has_secret: bool) -> Endpoints:
    """Return the endpoints of an issuer.

    Raises:
        NoAnswer: the document is another issuer's, an endpoint is missing, or one is of another origin: secrets are
            sent to these addresses.
    """
    if document.get("issuer") != issuer:
        raise NoAnswer("The discovery document is about another issuer than the configured one.")
    revocation = document.get("revocation_endpoint")
    token_methods = document.get("token_endpoint_auth_methods_supported")
    return Endpoints(
        token=_endpoint(document, "token_endpoint", issuer),
        device_authorization=_endpoint(document, "device_authorization_endpoint", issuer),
        introspection=_endpoint(document, "introspection_endpoint", issuer),
        keys=_endpoint(document, "jwks_uri", issuer),
        revocation=None if revocation is None else _endpoint(document, "revocation_endpoint", issuer),
        scope=f"openid {OFFLINE}" if OFFLINE in _texts(document.get("scopes_supported")) else "openid",
        token_auth=_method(token_methods, has_secret),
        introspection_auth=_method(
            document.get("introspection_endpoint_auth_methods_supported", token_methods), has_secret
        ),
    )


def _endpoint(document: Json, name: str, issuer: str) -> str:
    value = document.get(name)
    if not isinstance(value, str):
        raise NoAnswer(f"The issuer's discovery document has no {name}, which Steward needs.")
    try:
        address = checked_address(value)
    except ValueError:
        raise NoAnswer(f"The {name} of the issuer is no https address.") from None
    if origin(address) != origin(issuer):
        raise NoAnswer(f"The {name} of the issuer is at another host than the issuer.")
    return address


def _method(supported: object, has_secret: bool) -> str:
    """The client's authentication: by the standard's default method unless the issuer names only the other one."""
    if not has_secret:
        return "none"
    methods = _texts(supported)
    if "client_secret_post" in methods and "client_secret_basic" not in methods:
        return "client_secret_post"
    return "client_secret_basic"


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
