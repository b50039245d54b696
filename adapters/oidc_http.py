"""HTTP to an issuer: direct, without redirects, with bounded answers; whatever goes wrong is `NoAnswer` (A6, A8).

The hard thing is that an issuer may be hostile or broken: an answer is read to a limit before anything looks at it,
and nothing of it gets into an error's text.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import lru_cache
from ssl import SSLContext
from typing import Any

import httpx2
from authlib.integrations.httpx_client import AsyncOAuth2Client, OAuthError

LARGEST_ANSWER_BYTES = 256 * 1024
Json = dict[str, Any]


class NoAnswer(Exception):
    """The issuer gave no answer that can be used; the text is for a person and quotes nothing of what it sent."""


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Sends a request and reads its whole answer, unless that is too large, packed or a redirect."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, limit_bytes: int = LARGEST_ANSWER_BYTES) -> None:
        self._inner = inner
        self._limit_bytes = limit_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the answer with its content in memory.

        Raises:
            NoAnswer: it is a redirect, packed, or larger than the limit.
        """
        request.headers["Accept-Encoding"] = "identity"
        answer = await self._inner.handle_async_request(request)
        try:
            if answer.is_redirect or 300 <= answer.status_code < 400:
                raise NoAnswer("The issuer answered with a redirect, which is not followed.")
            if answer.headers.get("Content-Encoding", "identity") != "identity":
                raise NoAnswer("The issuer's answer is packed, which was not asked for.")
            content = bytearray()
            async for part in answer.aiter_raw():
                content += part
                if len(content) > self._limit_bytes:
                    raise NoAnswer(f"The issuer's answer is larger than {self._limit_bytes} bytes.")
        finally:
            await answer.aclose()
        # Its length and coding are those of the content that was read.
        headers = [
            (name, value)
            for name, value in answer.headers.multi_items()
            if name not in ("content-length", "transfer-encoding")
        ]
        return httpx2.Response(answer.status_code, headers=headers, content=bytes(content))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


@asynccontextmanager
async def issuer_client(
    client_id: str, client_secret: str | None, tls: SSLContext, timeout_s: float
) -> AsyncIterator[AsyncOAuth2Client]:
    """Open a client for a few requests to an issuer; proxies of the environment are not used.

    Args:
        client_id: the client.
        client_secret: its secret; None for a public client.
        tls: which certificates are trusted.
        timeout_s: how long connecting, and each silence, may last.

    Raises:
        NoAnswer: from within the block, for every failure of a request.
    """
    transport = BoundedTransport(httpx2.AsyncHTTPTransport(verify=tls))
    client = AsyncOAuth2Client(
        client_id, client_secret, transport=transport, timeout=timeout_s, follow_redirects=False
    )
    try:
        async with client:
            yield client
    except httpx2.TimeoutException:
        raise NoAnswer("The issuer did not answer in time.") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError):
        raise NoAnswer("The issuer cannot be reached, or does not answer as it should.") from None
    except UnicodeError:
        raise NoAnswer("The client id or secret has characters that cannot be sent to an issuer.") from None


def json_object(answer: httpx2.Response) -> Json:
    """Return an answer of status 200 that is a JSON object.

    Raises:
        NoAnswer: it is anything else.
    """
    if answer.status_code != 200:
        raise NoAnswer(f"The issuer answered with status {answer.status_code}.")
    try:
        content = json.loads(answer.content)
    except (ValueError, RecursionError):
        raise NoAnswer("The issuer's answer is not JSON.") from None
    if not isinstance(content, dict):
        raise NoAnswer("The issuer's answer is not a JSON object.")
    return content


async def fetched_token(client: AsyncOAuth2Client, address: str, **fields: Any) -> Json:  # noqa: ANN401 - authlib's
    """Return what the token endpoint gives for these fields.

    Raises:
        NoAnswer: no JSON object, or one with parts of another type than the standard's.
        OAuthError: it answers by an error code.
    """
    try:
        token: Json = await client.fetch_token(address, **fields)
    except (ValueError, TypeError, RecursionError, AttributeError):
        # What authlib raises while it reads such an answer.
        raise NoAnswer("The issuer's answer has not the form that the standard asks for.") from None
    return token


def error_code(error: OAuthError) -> str:
    """Return the OAuth error code of an issuer's refusal, which may be any text it likes."""
    return error.error if isinstance(error.error, str) else ""


@lru_cache(maxsize=1)
def trusted_certificates() -> SSLContext:
    """The certificate authorities that are trusted: those of SSL_CERT_FILE, else the usual ones.

    Reading them takes longer than a request on loopback, so that it is done once and before an answer is waited for.
    """
    return httpx2.create_ssl_context()
