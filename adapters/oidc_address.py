"""Which addresses an issuer may have (A8): https, or plain http on this machine's loopback; never with credentials.

Light on purpose: settings are checked with it before anything else is loaded.
"""

from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

LONGEST = 2048
_PORTS = {"http": 80, "https": 443}


def checked_address(value: str) -> str:
    """Return the address of an issuer or of one of its endpoints.

    Raises:
        ValueError: it is not https (http on loopback), or has credentials or a fragment; the text says which.
    """
    parts = _split(value)
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(parts.hostname or "")):
        raise ValueError("must be an https:// address (http:// only on loopback)")
    if parts.username is not None or parts.password is not None:
        raise ValueError("must be an address without a user name and password")
    if "#" in value:
        raise ValueError("must be an address without a fragment")
    return value


def checked_issuer(value: str) -> str:
    """Return an issuer's address, which has no query either (OpenID Connect Discovery 1.0, section 3).

    Raises:
        ValueError: as for `checked_address`.
    """
    if "?" in value:
        raise ValueError("must be an address without a query")
    return checked_address(value)


def origin(address: str) -> tuple[str, str, int]:
    """Return scheme, host and port of a checked address: secrets of an issuer go to its own origin only."""
    parts = _split(address)
    return parts.scheme, (parts.hostname or "").rstrip("."), parts.port or _PORTS[parts.scheme]


def _split(value: str) -> SplitResult:
    # urlsplit drops tabs and line breaks silently, so that it would see another address than the one that is used.
    if len(value) > LONGEST or not value.isprintable() or not value.isascii() or " " in value or "\\" in value:
        raise ValueError("must be an address of printable ASCII characters")
    parts = urlsplit(value)
    if not parts.hostname or parts.port == 0:
        raise ValueError("must be an address with a host")
    return parts


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
