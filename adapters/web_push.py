"""One push to one subscription (RFC 8030, 8291, 8292): encrypted, signed, sent once, and what the service said to it.

The hard thing is that a push service is a stranger: it gets ten seconds in all, redirects are not followed, the
environment's proxies are not used, and of its answer nothing but the status and one header is read.
"""

import asyncio
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from adapters.vapid import VapidKey
from adapters.web_push_subscription import PushSubscription

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S: Final = 10.0
LARGEST_PAYLOAD_BYTES: Final = 3993
"""What fits, encrypted, into the 4,096 bytes that every push service takes (RFC 8291, section 4)."""
LONGEST_WAIT_S: Final = 3600
"""A service that asks for a longer pause is asked again after this: nothing is retried for more than an hour (N9)."""
TOPIC: Final = re.compile(r"[A-Za-z0-9_-]{1,32}")
GONE: Final = frozenset({404, 410})
TRY_AGAIN: Final = frozenset({408, 425, 429})
Outcome = Literal["delivered", "gone", "busy", "rejected"]


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """What became of a push.

    Attributes:
        outcome: `delivered`: the service took it, which does not say that anybody saw it (N10); `gone`: the
            subscription has ended and is to be removed (404, 410); `busy`: try again later (no answer in time, no
            connection, 408, 425, 429, 5xx); `rejected`: the same request would be refused again.
        status: the service's HTTP status, None when there was no answer.
        retry_after_s: how many seconds the service asks to wait, 1 to 3,600; only when `busy`.
    """

    outcome: Outcome
    status: int | None = None
    retry_after_s: int | None = None


async def send_push(
    subscription: PushSubscription,
    payload: bytes,
    vapid: VapidKey,
    *,
    ttl_s: int,
    topic: str | None = None,
    timeout_s: float = TIMEOUT_S,
) -> PushOutcome:
    """Send one encrypted push, once; a failure of any kind is an outcome (N9).

    Args:
        subscription: one that `check_subscription` took.
        payload: what the browser's service worker gets, 1 to 3,993 bytes.
        vapid: the key that the subscription was made for.
        ttl_s: how many seconds the service keeps it for a browser that is not there.
        topic: 1 to 32 characters of base64url: a later push of the same topic replaces one that still waits there.
        timeout_s: for everything, from looking up the name to the answer's first line and headers.

    Raises:
        ValueError: payload, `ttl_s` or topic is outside of these bounds.
    """
    if not 1 <= len(payload) <= LARGEST_PAYLOAD_BYTES:
        raise ValueError(f"a push carries 1 to {LARGEST_PAYLOAD_BYTES} bytes")
    if ttl_s < 0 or (topic is not None and not TOPIC.fullmatch(topic)):
        raise ValueError("the time to live is not negative, and a topic is 1 to 32 characters of base64url")
    now = datetime.now(UTC)
    try:
        async with asyncio.timeout(timeout_s):
            # In a thread: the first time, the libraries behind it are loaded, which takes longer than the request.
            request, tls = await asyncio.to_thread(_prepared, subscription, payload, vapid, ttl_s, topic, now)
            return await _answered(request, tls, now)
    except (TimeoutError, OSError):
        return PushOutcome("busy")


def outcome_of(status: int, headers: Mapping[str, str], now: datetime) -> PushOutcome:
    """Return what a push service's answer means; a redirect is a refusal, since a subscription has one address."""
    if 200 <= status < 300:
        return PushOutcome("delivered", status)
    if status in GONE:
        return PushOutcome("gone", status)
    if status in TRY_AGAIN or status >= 500:
        return PushOutcome("busy", status, retry_after_s(headers.get("Retry-After"), now))
    return PushOutcome("rejected", status)


def retry_after_s(value: str | None, now: datetime) -> int | None:
    """Return the seconds of a `Retry-After` header, 1 to 3,600; None without one that can be read."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        # A number of any length: only as many digits are read as can matter.
        seconds = int(text) if len(text) <= len(str(LONGEST_WAIT_S)) else LONGEST_WAIT_S
    else:
        try:
            until = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        seconds = int((until.replace(tzinfo=until.tzinfo or UTC) - now).total_seconds())
    return min(max(seconds, 1), LONGEST_WAIT_S)


def _prepared(
    subscription: PushSubscription, payload: bytes, vapid: VapidKey, ttl_s: int, topic: str | None, now: datetime
) -> "tuple[httpx2.Request, ssl.SSLContext]":
    import httpx2
    from pywebpush import WebPusher

    keys = {"p256dh": subscription.p256dh, "auth": subscription.auth}
    encrypted = WebPusher({"endpoint": subscription.endpoint, "keys": keys}).encode(payload, "aes128gcm")
    headers = {
        "Authorization": vapid.authorization(subscription.endpoint, now), "TTL": str(ttl_s),
        "Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream", "Accept-Encoding": "identity",
        "User-Agent": "steward", **({} if topic is None else {"Topic": topic}),
    }  # fmt: skip
    request = httpx2.Request("POST", subscription.endpoint, headers=headers, content=encrypted["body"])
    return request, _trusted()


async def _answered(request: "httpx2.Request", tls: ssl.SSLContext, now: datetime) -> PushOutcome:
    import httpx2

    # A transport instead of a client: it follows no redirect, asks no environment, and logs no address.
    try:
        async with httpx2.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
            answer = await transport.handle_async_request(request)
            try:
                return outcome_of(answer.status_code, answer.headers, now)
            finally:
                await answer.aclose()
    except httpx2.HTTPError:
        return PushOutcome("busy")


@lru_cache(maxsize=1)
def _trusted() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()
