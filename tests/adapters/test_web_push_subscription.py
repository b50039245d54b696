"""Which endpoints and keys a device may register (N9): none that leads into the host's own network."""

import base64
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.web_push_subscription import (
    LONGEST_ENDPOINT,
    PushSubscription,
    check_endpoint,
    check_keys,
    check_subscription,
)
from domain.refusal import Refused
from tests.push_service import Browser, base64url

GOOD = "https://updates.push.services.example/wpush/v2/gAAAAA-_"
INSIDE = [
    "https://localhost/x",
    "https://LOCALHOST./x",
    "https://push.localhost/x",
    "https://printer.local/x",
    "https://metadata.google.internal/x",
    "https://router.home.arpa/x",
    "https://127.0.0.1/x",
    "https://127.0.0.1./x",
    "https://127.1/x",
    "https://2130706433/x",
    "https://0x7f000001/x",
    "https://0x7f.1/x",
    "https://0177.0.0.1/x",
    "https://0/x",
    "https://0.0.0.0/x",
    "https://10.1.2.3/x",
    "https://172.16.0.1/x",
    "https://192.168.1.1/x",
    "https://169.254.169.254/latest",
    "https://100.64.0.1/x",
    "https://224.0.0.1/x",
    "https://255.255.255.255/x",
    "https://[::1]/x",
    "https://[::]/x",
    "https://[fe80::1]/x",
    "https://[fe80::1%25eth0]/x",
    "https://[fd00::1]/x",
    "https://[ff02::1]/x",
    "https://[::ffff:127.0.0.1]/x",
    "https://[::ffff:8.8.8.8]/x",
    "https://[2002:7f00:1::]/x",
    "https://[2001:0:7f00:1::]/x",
    "https://[64:ff9b::7f00:1]/x",
]
NEVER = [
    "",
    "x",
    "https:",
    "https://",
    "https:///x",
    "https://:443/x",
    "https://push.example:0/x",
    "https://push.example:99999/x",
    "https://push.example:port/x",
    "https://[::1/x",
    "http://push.example/x",
    "ftp://push.example/x",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "//push.example/x",
    "https://user@push.example/x",
    "https://user:secret@push.example/x",
    "https://@push.example/x",
    "https://push.example/x#part",
    "https://push.example/x y",
    "https://push.example/x\n",
    "https://push\t.example/x",
    "https://push.example\\@127.0.0.1/x",
    "https://püsh.example/x",
    "https://push..example/x",
    "https://-push.example/x",
    "https://push_.-example/x",
    "https://push%2eexample/x",
    f"https://{'a' * 64}.example/x",
    f"https://{'a.' * 127}example/x",
    f"https://push.example/{'x' * LONGEST_ENDPOINT}",
    "http://localhost/x",
    "http://127.0.0.2/x",
    "http://127.1/x",
    "http://[::1]/x",
    "http://127.0.0.1@push.example/x",
]


def refused_field(endpoint: str, allow_insecure: bool) -> object:
    with pytest.raises(Refused) as caught:
        check_endpoint(endpoint, allow_insecure)
    refusal = caught.value.refusal
    assert refusal.code == "invalid_params"
    # Whoever knows an endpoint may send there: not even the refusal repeats it.
    assert not endpoint.strip("/:") or endpoint not in refusal.message or len(endpoint) < 8
    return refusal.details["field"]


@pytest.mark.parametrize(
    "endpoint",
    [
        GOOD,
        "https://fcm.googleapis.com/fcm/send/abc:APA91b",
        "https://push.example",
        "https://push.example./x",
        "HTTPS://Push.Example/x",
        "https://push.example:8443/x?token=a%20b",
        "https://xn--psh-hoa.example/x",
        "https://0x.example/x",
        "https://8.8.8.8/x",
        "https://[2606:4700::1111]/x",
        f"https://push.example/{'x' * (LONGEST_ENDPOINT - 21)}",
    ],
)
@pytest.mark.parametrize("allow_insecure", [False, True])
def test_endpoints_of_services_are_taken(endpoint: str, allow_insecure: bool) -> None:
    """N9: https, by name or public address, up to 2,048 characters."""
    check_endpoint(endpoint, allow_insecure)


@pytest.mark.parametrize("endpoint", INSIDE)
def test_addresses_inside_are_refused(endpoint: str) -> None:
    """N9: this machine and its networks, in every notation that a resolver understands."""
    assert refused_field(endpoint, False) == "endpoint"


@pytest.mark.parametrize("endpoint", NEVER)
@pytest.mark.parametrize("allow_insecure", [False, True])
def test_what_is_no_endpoint_is_refused(endpoint: str, allow_insecure: bool) -> None:
    """N9: also with STEWARD_ALLOW_INSECURE_PUSH."""
    assert refused_field(endpoint, allow_insecure) == "endpoint"


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1/x", "http://127.0.0.1:9000/push/x", "https://127.0.0.1:9/x"])
def test_tests_may_use_loopback_when_it_is_allowed(endpoint: str) -> None:
    """N9: only with STEWARD_ALLOW_INSECURE_PUSH."""
    check_endpoint(endpoint, True)
    assert refused_field(endpoint, False) == "endpoint"


@given(
    st.builds(
        "{}://{}{}{}".format,
        st.sampled_from(["https", "http", "HTTPS"]),
        st.sampled_from(["", "a@", "a:b@"]),
        st.text(st.sampled_from("az09.-_:[]%@x/\\?#"), max_size=12),
        st.sampled_from(["", "/", "/x", "?x", ":8443/x", ":/x", "@127.0.0.1/"]),
    )
)
def test_the_request_goes_where_the_check_looked(endpoint: str) -> None:
    """N9: the HTTP client reads no other host or port out of an endpoint that was taken."""
    try:
        check_endpoint(endpoint, False)
    except Refused:
        return
    used, seen = httpx2.URL(endpoint), urlsplit(endpoint)
    assert (used.scheme, used.host, used.port) == (seen.scheme, seen.hostname, None if seen.port == 443 else seen.port)


def test_a_browsers_keys_are_taken_with_and_without_padding() -> None:
    """RFC 8291, section 2: a point on P-256 and 16 bytes."""
    browser = Browser()
    subscription = browser.subscription(GOOD)
    check_subscription(subscription, False)
    check_keys(base64.urlsafe_b64encode(browser.public_point).decode(), f"{subscription.auth}==")


@pytest.mark.parametrize(
    "p256dh",
    [
        "",
        "====",
        base64url(b"\x04" + b"\1" * 64),
        base64url(b"\x04" + b"\0" * 64),
        base64url(Browser().public_point[:-1]),
        base64url(Browser().public_point + b"\0"),
        base64url(b"\x05" + Browser().public_point[1:]),
        base64url(b"\x02" + Browser().public_point[1:33]),
        base64url(b"\0"),
        f"{base64url(Browser().public_point)[:-2]}+/",
        f"{base64url(Browser().public_point)}\n",
        "A" * 10_000,
        "ä" * 87,
    ],
    # Fixed names: the keys are new in each of the processes that share the tests.
    ids=[
        "empty", "padding", "off the curve", "origin", "a byte short", "a byte more", "another form", "compressed",
        "one byte", "not url-safe", "a line end", "long", "not ASCII",
    ],
)  # fmt: skip
def test_a_public_key_that_is_none_is_refused(p256dh: str) -> None:
    """N9: also a point beside the curve, which would give the sender's secret away or fail at every push."""
    with pytest.raises(Refused) as caught:
        check_keys(p256dh, base64url(b"x" * 16))
    assert (caught.value.refusal.code, caught.value.refusal.details["field"]) == ("invalid_params", "keys.p256dh")


@pytest.mark.parametrize("auth", ["", base64url(b"x" * 15), base64url(b"x" * 17), "!" * 22, "x" * 5000])
def test_an_auth_secret_of_another_length_is_refused(auth: str) -> None:
    """N9: 16 bytes."""
    with pytest.raises(Refused) as caught:
        check_subscription(PushSubscription(GOOD, base64url(Browser().public_point), auth), False)
    assert (caught.value.refusal.code, caught.value.refusal.details["field"]) == ("invalid_params", "keys.auth")
