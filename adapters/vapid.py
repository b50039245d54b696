"""The key pair by which push services know this installation (RFC 8292), and the tokens that it signs.

The hard thing is that a browser's subscription is bound to the public key for ever: the pair is made once, under the
credential store's lock, and a damaged one is reported instead of being replaced silently.
"""

import base64
import binascii
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from adapters.credential_store import CredentialStore, CredentialsUnavailable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

NAME: Final = "web_push:vapid"
PRIVATE_BYTES: Final = 32
TOKEN_AGE: Final = timedelta(hours=12)
"""Half of what RFC 8292 allows, so that a clock that is hours off still makes tokens that a service takes."""
CONTACT: Final = "mailto:steward@example.com"
"""The claim `sub`. RFC 8292 asks for a contact, Apple's service refuses tokens without one and also those that name
`localhost`, `.local` or `.invalid`; it and the others look at the form only. A personal installation has no operator
but its owner, whose own address is no business of a push service: this one is reserved for being nobody's (RFC 2606)
and has a domain that resolves."""
DEFAULT_PORTS: Final = {"https": 443, "http": 80}


class VapidKey:
    """The key pair; what it prints shows nothing of it."""

    def __init__(self, private_key: "EllipticCurvePrivateKey", contact: str = CONTACT) -> None:
        """Use a private key on P-256; `contact` is a `mailto:` or `https:` URL that push services are given."""
        self._private_key = private_key
        self._contact = contact

    def application_server_key(self) -> str:
        """The public key as a page hands it to `PushManager.subscribe`: an uncompressed point in base64url."""
        from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

        return _base64url(self._private_key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    def authorization(self, endpoint: str, now: datetime) -> str:
        """The `Authorization` header of a request to an endpoint; its token is of use at that service only."""
        from joserfc import jwt
        from joserfc.jwk import ECKey

        claims = {"aud": origin(endpoint), "exp": int((now + TOKEN_AGE).timestamp()), "sub": self._contact}
        key = ECKey.import_key(self._private_key)
        token = jwt.encode({"alg": "ES256", "typ": "JWT"}, claims, key, algorithms=["ES256"])
        return f"vapid t={token}, k={self.application_server_key()}"


def vapid_key(store: CredentialStore) -> VapidKey:
    """Return the installation's key pair, made now when there is none yet (P15). It blocks as the store does.

    Raises:
        CredentialsUnavailable: it cannot be read or kept from here, or is damaged.
    """
    from cryptography.hazmat.primitives.asymmetric import ec

    kept = store.read_or_make(NAME, _new_private_value)
    try:
        value = base64.b64decode(f"{kept}=", altchars=b"-_", validate=True)
        if len(value) != PRIVATE_BYTES:
            raise ValueError
        return VapidKey(ec.derive_private_key(int.from_bytes(value, "big"), ec.SECP256R1()))
    except (ValueError, binascii.Error):
        words = f"The key of Web Push ({NAME}) is damaged. Remove it from the credential store; devices subscribe anew."
        raise CredentialsUnavailable(words) from None


def origin(endpoint: str) -> str:
    """Return scheme, host and port of an endpoint as an origin (RFC 6454), the claim `aud`: no default port."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _new_private_value() -> str:
    from cryptography.hazmat.primitives.asymmetric import ec

    value = ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value
    return _base64url(value.to_bytes(PRIVATE_BYTES, "big"))


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")
