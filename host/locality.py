"""Which requests may reach this host at all (H21), and which of them are local (P14): pure functions of four facts.

The hard thing is what a browser sends on behalf of a foreign page: a Host name it was rebound to, or an Origin of its
own. Whatever cannot be parsed is refused, never repaired.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

LOOPBACK_PEERS: Final = frozenset({"127.0.0.1", "::1"})
LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "::1", "localhost"})
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_SCHEMES: Final = {"http": "http", "https": "https", "ws": "http", "wss": "https"}


@dataclass(frozen=True, slots=True)
class Caller:
    """What a request says about where it comes from; an empty `origin` counts as absent."""

    client_host: str | None
    host_header: str
    origin: str | None
    scheme: str


@dataclass(frozen=True, slots=True)
class _Place:
    name: str
    port: int


def is_admitted(caller: Caller, allowed_hosts: Collection[str] = ()) -> bool:
    """Whether Host and Origin let a request in (H21): loopback names always, other names only when they are listed."""
    scheme = _SCHEMES.get(caller.scheme)
    if scheme is None:
        return False
    host = _authority(caller.host_header, scheme)
    if host is None:
        return False
    if host.name in LOOPBACK_NAMES:
        return _same_origin(caller.origin, host, scheme)
    return _listed(caller.host_header, allowed_hosts) and _origin_of_listed(caller)


def is_local(caller: Caller) -> bool:
    """Whether a request may use what is for this machine only (P14): loopback peer, loopback name, own origin."""
    scheme = _SCHEMES.get(caller.scheme)
    if scheme is None or caller.client_host not in LOOPBACK_PEERS:
        return False
    host = _authority(caller.host_header, scheme)
    return host is not None and host.name in LOOPBACK_NAMES and _same_origin(caller.origin, host, scheme)


def is_loopback_name(host_header: str) -> bool:
    """Whether the Host header names this machine's loopback."""
    host = _authority(host_header, "http")
    return host is not None and host.name in LOOPBACK_NAMES


def _same_origin(origin: str | None, host: _Place, scheme: str) -> bool:
    if not origin:
        return True
    parsed = _origin(origin)
    return parsed == (scheme, host)


def _origin_of_listed(caller: Caller) -> bool:
    # TLS ends in front of this host (H21), so the scheme of the page is known from its Origin alone.
    if not caller.origin:
        return True
    parsed = _origin(caller.origin)
    return parsed is not None and parsed[1] == _authority(caller.host_header, parsed[0])


def _listed(host_header: str, allowed_hosts: Collection[str]) -> bool:
    """Whether a listed name covers the header; a name that is listed with a port covers that port alone."""
    place = _authority(host_header, "http")
    for allowed in allowed_hosts:
        entry = _authority(allowed, "http")
        if entry is None or place is None or entry.name != place.name:
            continue
        if entry.port == place.port or not _names_port(allowed):
            return True
    return False


def _names_port(authority: str) -> bool:
    return authority.rpartition("]")[2].count(":") == 1


def _authority(text: str, scheme: str) -> _Place | None:
    """Parse `name`, `name:port` or `[v6]:port`; None for everything else."""
    if not text or any(character in text for character in "@/?#\\, \t"):
        return None
    try:
        parts = urlsplit(f"{scheme}://{text}")
        name, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not name or text.endswith(":"):
        return None
    return _Place(name.lower(), DEFAULT_PORTS[scheme] if port is None else port)


def _origin(text: str) -> tuple[str, _Place] | None:
    scheme, separator, authority = text.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in DEFAULT_PORTS:
        return None
    place = _authority(authority, scheme)
    return None if place is None else (scheme, place)
