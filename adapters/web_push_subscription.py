"""What a browser's push subscription may be: an endpoint that is no door into this machine's network, and whole keys.

A device names the endpoint (H20), and the host then sends requests there: unchecked it could reach what only this
machine reaches. A name is not resolved here; a request to a name inside needs a certificate for it that is trusted,
carries nothing but ciphertext, and its answer is shown to nobody.
"""

import base64
import binascii
import re
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from domain.refusal import Refused, refuse

LONGEST_ENDPOINT: Final = 2048
PUBLIC_KEY_BYTES: Final = 65
AUTH_BYTES: Final = 16
LOCAL_SUFFIXES: Final = (".localhost", ".local", ".internal", ".home.arpa")
UNICAST: Final = IPv6Network("2000::/3")
# To a resolver a host that ends in a number is an IPv4 address, in whatever notation (`127.1`, `0x7f.1`).
_NUMBER_AT_END: Final = re.compile(r"(^|\.)(\d+|0x[0-9a-f]*)$")
_HOST: Final = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*={0,2}")


@dataclass(frozen=True, slots=True)
class PushSubscription:
    """Where and for whom a push is encrypted; the endpoint is a secret too: who knows it may send there.

    Attributes:
        endpoint: the address at the browser's push service.
        p256dh: the browser's public key, an uncompressed point on P-256 in base64url.
        auth: the secret that the browser shares with its senders, 16 bytes in base64url.
    """

    endpoint: str = field(repr=False)
    p256dh: str = field(repr=False)
    auth: str = field(repr=False)


def check_subscription(subscription: PushSubscription, allow_insecure: bool) -> None:
    """Check everything that `device/push/register` is given (N9).

    Raises:
        Refused: `invalid_params` with the `field`: `endpoint`, `keys.p256dh` or `keys.auth`.
    """
    check_endpoint(subscription.endpoint, allow_insecure)
    check_keys(subscription.p256dh, subscription.auth)


def check_endpoint(url: str, allow_insecure: bool) -> None:
    """Check the endpoint of a subscription (N9).

    Args:
        url: https, at most 2,048 characters, no credentials, no fragment, not an address inside of a network.
        allow_insecure: STEWARD_ALLOW_INSECURE_PUSH: also `http://127.0.0.1`, and https to inside addresses.

    Raises:
        Refused: `invalid_params` with the `field` `endpoint`.
    """
    if len(url) > LONGEST_ENDPOINT:
        raise _no_endpoint(f"is longer than {LONGEST_ENDPOINT} characters")
    # urlsplit drops tabs and line breaks silently, and browsers take a backslash for a slash.
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        raise _no_endpoint("has characters that no address has")
    parts, host = _parts(url)
    if parts.scheme == "http" and allow_insecure:
        if host != "127.0.0.1":
            raise _no_endpoint("may be http:// at 127.0.0.1 only")
    elif parts.scheme != "https":
        raise _no_endpoint("must begin with https://")
    if parts.username is not None or parts.password is not None:
        raise _no_endpoint("must not carry a user name or password")
    if "#" in url:
        raise _no_endpoint("must not carry a fragment")
    if not allow_insecure and _is_inside(host):
        raise _no_endpoint("must not be an address of this machine or of a private network")


def check_keys(p256dh: str, auth: str) -> None:
    """Check a subscription's keys (RFC 8291, section 2).

    Raises:
        Refused: `invalid_params` with the `field` `keys.p256dh` or `keys.auth`.
    """
    from cryptography.hazmat.primitives.asymmetric import ec

    point = _decoded(p256dh, PUBLIC_KEY_BYTES, "keys.p256dh")
    _decoded(auth, AUTH_BYTES, "keys.auth")
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise _invalid("keys.p256dh", "keys.p256dh is not a point on the curve P-256.") from None


def _parts(url: str) -> tuple[SplitResult, str]:
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError:
        raise _no_endpoint("is not an address") from None
    host = (parts.hostname or "").removesuffix(".")
    if not has_port or not (_HOST.fullmatch(host) or ":" in host):
        raise _no_endpoint("is not an address with a host")
    return parts, host


def _is_inside(host: str) -> bool:
    if host == "localhost" or host.endswith(LOCAL_SUFFIXES):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return _NUMBER_AT_END.search(host) is not None
    return not _is_public(address)


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and (
        address not in UNICAST or address.sixtofour is not None or address.teredo is not None
    ):
        # Outside of the allocated range, and in two tunnels inside of it, an IPv4 address of any kind may be hidden.
        return False
    return address.is_global and not address.is_multicast


def _decoded(value: str, length: int, name: str) -> bytes:
    words = f"{name} must be {length} bytes in base64url."
    if len(value) > 2 * length or not _BASE64URL.fullmatch(value):
        raise _invalid(name, words)
    try:
        content = base64.urlsafe_b64decode(f"{value.rstrip('=')}==")
    except (ValueError, binascii.Error):
        raise _invalid(name, words) from None
    if len(content) != length:
        raise _invalid(name, words)
    return content


def _no_endpoint(what: str) -> Refused:
    return _invalid("endpoint", f"The push endpoint {what}. Use the one that the browser's subscription names.")


def _invalid(name: str, words: str) -> Refused:
    return refuse("invalid_params", words, field=name)
