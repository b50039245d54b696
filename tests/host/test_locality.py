"""Host, Origin and peer checks against the shared vectors and against whatever a header may hold."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.locality import Caller, is_admitted, is_local

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "local_only.json").read_text())["cases"]


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["why"])
def test_vectors_of_local_only(case: dict[str, Any]) -> None:
    """P14, H21: every shared case."""
    assert is_local(Caller(**case["input"])) is case["allow"]


@given(st.text(max_size=60), st.none() | st.text(max_size=60), st.sampled_from(["http", "https", "ws", "wss", "ftp"]))
def test_no_header_breaks_the_check(host: str, origin: str | None, scheme: str) -> None:
    """H21: a header that cannot be parsed is refused, never an error; what is local is always admitted."""
    caller = Caller("127.0.0.1", host, origin, scheme)
    assert is_admitted(caller) or not is_local(caller)


@given(st.from_regex(r"[a-z]{1,10}\.example(:[0-9]{1,4})?", fullmatch=True))
def test_foreign_names_need_a_listing(host: str) -> None:
    """H21: another name reaches the host only when it is listed, and never as local."""
    caller = Caller("127.0.0.1", host, None, "http")
    assert not is_admitted(caller)
    assert is_admitted(caller, [host.partition(":")[0]])
    assert not is_local(caller)


@pytest.mark.parametrize(
    ("host", "origin", "allowed", "admitted"),
    [
        ("steward.example", "https://steward.example", ["steward.example"], True),
        ("steward.example", "http://steward.example", ["steward.example"], True),
        ("steward.example", "https://evil.example", ["steward.example"], False),
        ("steward.example", "null", ["steward.example"], False),
        ("steward.example:8443", "https://steward.example:8443", ["steward.example:8443"], True),
        ("steward.example:9", "https://steward.example:9", ["steward.example:8443"], False),
        ("STEWARD.example", None, ["steward.example"], True),
        ("127.0.0.1:18000", "null", [], False),
        ("127.0.0.1:18000", "http://127.0.0.1:18000/path", [], False),
        ("a@127.0.0.1:18000", None, [], False),
        ("127.0.0.1:", None, [], False),
        ("127.0.0.1, evil.example", None, [], False),
    ],
)
def test_listed_names_and_their_origins(host: str, origin: str | None, allowed: list[str], admitted: bool) -> None:
    """H21: a listed name behind TLS takes its own Origin only."""
    assert is_admitted(Caller("10.0.0.7", host, origin, "http"), allowed) is admitted


def test_a_websocket_counts_as_its_http_scheme() -> None:
    """H21: the handshake of a page on http carries an http Origin."""
    assert is_local(Caller("127.0.0.1", "127.0.0.1:18000", "http://127.0.0.1:18000", "ws"))
    assert not is_local(Caller("127.0.0.1", "127.0.0.1:18000", "http://127.0.0.1:18000", "wss"))
