"""Web Push end to end on loopback: what is sent is what the browser decrypts, and each answer has one meaning (N9)."""

import asyncio
import logging
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from adapters.vapid import VapidKey
from adapters.web_push import LARGEST_PAYLOAD_BYTES, PushOutcome, outcome_of, retry_after_s, send_push
from adapters.web_push_subscription import PushSubscription
from tests.conftest import Eventually
from tests.push_service import Answer, Browser, PushService, from_base64url

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)
PAYLOAD = b'{"agent":"twin","locator":{"session":"planted-private-words","sequence":7}}'
KEY = VapidKey(ec.generate_private_key(ec.SECP256R1()))


@pytest.fixture
def service() -> Iterator[PushService]:
    with PushService() as running:
        yield running


async def pushed(subscription: PushSubscription, payload: bytes = PAYLOAD, timeout_s: float = 20.0) -> PushOutcome:
    return await send_push(subscription, payload, KEY, ttl_s=600, topic="twin", timeout_s=timeout_s)


def test_the_tests_browser_decrypts_the_example_of_the_standard() -> None:
    """RFC 8291, section 5: so that what it decrypts below was encrypted by the standard."""
    private = int.from_bytes(from_base64url("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"), "big")
    browser = Browser(ec.derive_private_key(private, ec.SECP256R1()), from_base64url("BTBZMqHH6r4Tts7J_aSIgg"))
    body = from_base64url(
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3"
        "jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )
    assert browser.decrypt(body) == b"When I grow up, I want to be a watermelon"


async def test_the_browser_decrypts_what_was_sent(service: PushService) -> None:
    """N9: RFC 8291 encryption, a VAPID token of the right origin, time to live and topic."""
    subscription = service.subscribe()
    assert await pushed(subscription) == PushOutcome("delivered", 201)
    (push,) = service.pushes
    assert (push.payload, push.endpoint) == (PAYLOAD, subscription.endpoint)
    assert (push.headers["ttl"], push.headers["topic"]) == ("600", "twin")
    assert push.application_server_key == KEY.application_server_key()
    assert set(push.claims) == {"aud", "exp", "sub"}
    assert service.refusals == []


async def test_every_push_is_encrypted_for_itself_and_shows_nothing(service: PushService) -> None:
    """N9, P15: the same payload twice has no part in common, and the service sees none of it."""
    subscription = service.subscribe()
    await pushed(subscription)
    await pushed(subscription)
    first, second = (request.body for request in service.requests)
    assert first[:16] != second[:16]
    assert first[21:86] != second[21:86]
    assert all(b"planted" not in body and b"twin" not in body for body in (first, second))


@pytest.mark.parametrize("size", [1, LARGEST_PAYLOAD_BYTES])
async def test_the_largest_push_is_taken_by_every_service(service: PushService, size: int) -> None:
    """RFC 8291, section 4: what fits into 4,096 bytes."""
    assert (await pushed(service.subscribe(), b"x" * size)).outcome == "delivered"
    assert service.pushes[0].payload == b"x" * size


@pytest.mark.parametrize(
    ("payload", "ttl_s", "topic"),
    [
        (b"", 1, None),
        (b"x" * (LARGEST_PAYLOAD_BYTES + 1), 1, None),
        (b"x", -1, None),
        (b"x", 1, ""),
        (b"x", 1, "a" * 33),
        (b"x", 1, "a b"),
        (b"x", 1, "twin\r\nX-Injected: yes"),
        (b"x", 1, "twin\n"),
    ],
)
async def test_a_push_outside_of_the_bounds_is_not_sent(
    service: PushService, payload: bytes, ttl_s: int, topic: str | None
) -> None:
    """RFC 8030, section 5.4: nor is a header smuggled in."""
    with pytest.raises(ValueError, match=r"bytes|topic"):
        await send_push(service.subscribe(), payload, KEY, ttl_s=ttl_s, topic=topic)
    assert service.requests == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (Answer(201), PushOutcome("delivered", 201)),
        (Answer(200), PushOutcome("delivered", 200)),
        (Answer(201, instead="trickle"), PushOutcome("delivered", 201)),
        (Answer(404), PushOutcome("gone", 404)),
        (Answer(410), PushOutcome("gone", 410)),
        (Answer(429, {"Retry-After": "17"}), PushOutcome("busy", 429, 17)),
        (Answer(429), PushOutcome("busy", 429)),
        (Answer(500), PushOutcome("busy", 500)),
        (Answer(503, {"Retry-After": "999999999999"}), PushOutcome("busy", 503, 3600)),
        (Answer(408), PushOutcome("busy", 408)),
        (Answer(400), PushOutcome("rejected", 400)),
        (Answer(403), PushOutcome("rejected", 403)),
        (Answer(413), PushOutcome("rejected", 413)),
        (Answer(304), PushOutcome("rejected", 304)),
    ],
)
async def test_each_answer_has_one_meaning(service: PushService, answer: Answer, expected: PushOutcome) -> None:
    """N9: a gone subscription is told from a busy service and from a refusal; sent once each time."""
    service.answer_with(answer)
    assert await pushed(service.subscribe()) == expected
    assert len(service.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(service: PushService, status: int) -> None:
    """N9: a service cannot send the host somewhere else."""
    with PushService() as elsewhere:
        service.answer_with(Answer(status, {"Location": elsewhere.subscribe().endpoint}))
        assert await pushed(service.subscribe()) == PushOutcome("rejected", status)
        assert elsewhere.requests == []


@pytest.mark.parametrize("answer", [Answer(instead="hang"), Answer(instead="drip")], ids=["hang", "drip"])
async def test_a_service_that_does_not_end_is_given_up(service: PushService, answer: Answer) -> None:
    """N9: also one that sends a little again and again; the bound is for everything together."""
    subscription = service.subscribe()
    # The libraries are loaded by a first one, so that the bound is for the service.
    assert (await pushed(subscription)).outcome == "delivered"
    service.answer_with(answer)
    while len(service.requests) < 2:
        assert await pushed(subscription, timeout_s=1.0) == PushOutcome("busy")


async def test_a_reset_and_a_closed_port_are_busy(service: PushService, free_port: Callable[[], int]) -> None:
    """N9: no connection says nothing about the subscription."""
    service.answer_with(Answer(instead="reset"))
    assert await pushed(service.subscribe()) == PushOutcome("busy")
    closed = Browser().subscription(f"http://127.0.0.1:{free_port()}/push/x")
    assert await pushed(closed) == PushOutcome("busy")


@pytest.mark.parametrize("status", [201, 500])
async def test_a_huge_answer_is_not_read(service: PushService, status: int, eventually: Eventually) -> None:
    """N9: the status is enough; what the service still sends fills no memory."""
    size = 256 * 1024 * 1024
    service.answer_with(Answer(status, body_bytes=size))
    assert (await pushed(service.subscribe())).status == status
    sent: list[int] = []

    def has_stopped() -> bool:
        sent.append(service.body_bytes_sent)
        return len(sent) > 5 and sent[-1] == sent[-5]

    await eventually(has_stopped, "the service can send no more")
    assert service.body_bytes_sent < size // 4


async def test_proxies_of_the_environment_are_not_used(
    service: PushService, monkeypatch: pytest.MonkeyPatch, free_port: Callable[[], int]
) -> None:
    """N9: what is sent goes to the service itself."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert (await pushed(service.subscribe())).outcome == "delivered"


async def test_a_certificate_that_nobody_vouches_for_gets_nothing(tmp_path: Path) -> None:
    """N9: https means a service that is who it says."""
    with PushService(_own_certificate(tmp_path)) as service:
        assert service.address.startswith("https://")
        assert await pushed(service.subscribe()) == PushOutcome("busy")
        assert service.requests == []


async def test_a_name_that_cannot_be_looked_up_is_no_failure_of_the_host() -> None:
    """N9: whatever a stored endpoint says, the outcome is one of four."""
    outcomes = [
        await pushed(Browser().subscription(endpoint))
        for endpoint in (f"https://{'a' * 80}.example/x", "https://a..example/x")
    ]
    assert outcomes == [PushOutcome("busy")] * 2


async def test_no_secret_is_logged(service: PushService, caplog: pytest.LogCaptureFixture) -> None:
    """I9, P15: endpoint, keys, token and payload, at the most talkative level, also when it goes wrong."""
    caplog.set_level(logging.DEBUG)
    subscription = service.subscribe()
    for answer in (Answer(), Answer(500), Answer(instead="reset"), Answer(307, {"Location": "/elsewhere"})):
        service.answer_with(answer)
        await pushed(subscription)
    token = service.requests[0].headers["authorization"].split("t=")[1].split(",")[0]
    path = subscription.endpoint.removeprefix(service.address)
    for secret in (path, subscription.auth, subscription.p256dh, token, "planted-private-words"):
        assert secret not in caplog.text
        assert secret not in f"{subscription!r} {KEY!r}"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 1),
        ("1", 1),
        (" 120 ", 120),
        ("3600", 3600),
        ("3601", 3600),
        ("9" * 5000, 3600),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("١٢", None),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 1),
        (format_datetime(NOW + timedelta(days=9), usegmt=True), 3600),
        ("Thu, 15 Jan 2026 12:01:00", 60),
        ("Thu, 99 Jan 2026 12:01:00 GMT", None),
    ],
)
def test_a_pause_is_bounded(value: str | None, seconds: int | None) -> None:
    """N9: nothing is retried for more than an hour, so no pause is longer; a nonsense one is none."""
    assert retry_after_s(value, NOW) == seconds


def test_every_status_has_an_outcome() -> None:
    """N9: only 404 and 410 end a subscription, only 2xx is delivered, and only what may pass is repeated."""
    outcomes = {status: outcome_of(status, {"Retry-After": "5"}, NOW) for status in range(100, 600)}

    def statuses(outcome: str) -> set[int]:
        return {status for status, found in outcomes.items() if found.outcome == outcome}

    assert statuses("delivered") == set(range(200, 300))
    assert statuses("gone") == {404, 410}
    assert statuses("busy") == {408, 425, 429, *range(500, 600)}
    assert {status for status, found in outcomes.items() if found.retry_after_s == 5} == statuses("busy")


def test_nobody_pays_for_the_libraries_before_the_first_push() -> None:
    """N9: importing the channels loads neither an HTTP client nor Apprise."""
    program = (
        "import sys, adapters.web_push, adapters.vapid, adapters.apprise_channel\n"
        "print(sorted({'pywebpush', 'apprise', 'aiohttp', 'requests', 'httpx2', 'cryptography'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


async def test_pushes_at_once_do_not_disturb_each_other(service: PushService) -> None:
    """N9: each reaches its own browser."""
    subscriptions = [service.subscribe() for _ in range(8)]
    outcomes = await asyncio.gather(
        *(pushed(subscription, f"push {n}".encode()) for n, subscription in enumerate(subscriptions))
    )
    assert {outcome.outcome for outcome in outcomes} == {"delivered"}
    got = {push.endpoint: push.payload for push in service.pushes}
    assert got == {subscription.endpoint: f"push {n}".encode() for n, subscription in enumerate(subscriptions)}


def _own_certificate(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "push service of the tests")])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context
