"""The far ends of the notification channels on loopback: a browser's push service, and a webhook for Apprise (N9).

The push service plays the browser too: it decrypts what it gets by RFC 8291, written out with primitives, so that the
product's library does not check itself; and it refuses what no VAPID token of its origin comes with (RFC 8292).
A test chooses the answers, also the ones no honest service gives: `hang`, `reset`, `drip`, `trickle`, a huge body.
"""

import base64
import json
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.jwk import ECKey

from adapters.web_push_subscription import PushSubscription

LARGEST_PUSH_BYTES = 4096
DAY_S = 24 * 3600
CHUNK = b"x" * 65536


def base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def from_base64url(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True)
class Answer:
    """What a request is answered with.

    Attributes:
        status: the HTTP status.
        headers: added to the answer.
        body_bytes: how many bytes of body follow.
        instead: no whole answer: say nothing, reset the connection, send header lines for ever, or after the usual
            head a body without end, a little at a time.
    """

    status: int = 201
    headers: Mapping[str, str] = field(default_factory=dict)
    body_bytes: int = 0
    instead: Literal["hang", "reset", "drip", "trickle"] | None = None


@dataclass(frozen=True)
class Request:
    """What arrived, with lower-case header names."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class LoopbackService:
    """An HTTP server on 127.0.0.1 in this process, with the answers that a test chooses; a context manager.

    Attributes:
        address: `http://127.0.0.1:port`, or https with `tls`.
        requests: everything that arrived, in order.
        body_bytes_sent: how much of its answers' bodies the other side let it send.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.body_bytes_sent = 0
        self._usual = Answer()
        self._next: list[Answer] = []
        self._lock = threading.Lock()
        self._closing = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                service._serve(self)

            do_POST = do_GET  # noqa: N815 - the base class looks for this name

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that goes away, or does not trust the certificate, is no error of the service."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.address = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop serving, also those that hang; a second time does nothing."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer_with(self, answer: Answer) -> None:
        """Answer every further request like this."""
        with self._lock:
            self._usual, self._next = answer, []

    def answer_next(self, *answers: Answer) -> None:
        """Answer the next requests like this, one each, and then as usual again."""
        with self._lock:
            self._next += answers

    def take(self, request: Request) -> Answer | None:
        """Look at a request before it is answered; an answer returned here is given instead of the test's."""

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        request = Request(handler.path, {name.lower(): value for name, value in handler.headers.items()}, body)
        with self._lock:
            self.requests.append(request)
            refused = self.take(request)
            answer = refused or (self._next.pop(0) if self._next else self._usual)
        match answer.instead:
            case "hang":
                self._closing.wait()
            case "reset":
                linger = struct.pack("ii", 1, 0)
                handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                handler.connection.close()
            case "drip":
                handler.wfile.write(b"HTTP/1.1 201 Created\r\n")
                while not self._closing.wait(0.01):
                    handler.wfile.write(b"X-More: yes\r\n")
            case "trickle":
                handler.wfile.write(b"HTTP/1.1 %d Yes\r\nTransfer-Encoding: chunked\r\n\r\n" % answer.status)
                while not self._closing.wait(0.01):
                    handler.wfile.write(b"1\r\nx\r\n")
            case None:
                self._answer(handler, answer)

    def _answer(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(answer.body_bytes))
        handler.end_headers()
        left = answer.body_bytes
        while left > 0 and not self._closing.is_set():
            part = CHUNK[:left]
            handler.wfile.write(part)
            left -= len(part)
            self.body_bytes_sent += len(part)


@dataclass(frozen=True)
class Push:
    """A push that the service took.

    Attributes:
        payload: what the browser's service worker would get.
        headers: those of the request, with lower-case names.
        claims: of its VAPID token, whose signature fits `application_server_key`.
        application_server_key: who sent it.
        endpoint: where it was sent.
    """

    payload: bytes
    headers: Mapping[str, str]
    claims: Mapping[str, Any]
    application_server_key: str
    endpoint: str


class Browser:
    """A subscription's private side: what the browser keeps for itself."""

    def __init__(self, private_key: ec.EllipticCurvePrivateKey | None = None, auth: bytes | None = None) -> None:
        self._private_key = private_key or ec.generate_private_key(ec.SECP256R1())
        self._auth = auth or os.urandom(16)

    @property
    def public_point(self) -> bytes:
        return self._private_key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def subscription(self, endpoint: str) -> PushSubscription:
        return PushSubscription(endpoint, base64url(self.public_point), base64url(self._auth))

    def decrypt(self, body: bytes) -> bytes:
        """Decrypt one record of `aes128gcm` (RFC 8188, section 2; RFC 8291, section 3.4).

        Raises:
            cryptography.exceptions.InvalidTag, ValueError: it was not encrypted for this browser.
        """
        salt, record_size, id_length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, record = body[21 : 21 + id_length], body[21 + id_length :]
        if len(record) > record_size:
            raise ValueError("a push is one record")
        shared = self._private_key.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        )
        secret = _derived(shared, self._auth, b"WebPush: info\0" + self.public_point + sender, 32)
        key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
        padded = AESGCM(key).decrypt(nonce, record, None).rstrip(b"\0")
        if not padded.endswith(b"\x02"):
            raise ValueError("the last record ends with its delimiter")
        return padded[:-1]


class PushService(LoopbackService):
    """A push service with its browsers.

    Attributes:
        pushes: what was taken: decrypted, and with a token that is in order.
        refusals: why others were refused.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self.pushes: list[Push] = []
        self.refusals: list[str] = []
        self._browsers: dict[str, Browser] = {}

    def subscribe(self) -> PushSubscription:
        """Return a new subscription, as a browser would hand it to the page."""
        browser = Browser()
        path = f"/push/{base64url(os.urandom(12))}"
        self._browsers[path] = browser
        return browser.subscription(f"{self.address}{path}")

    def take(self, request: Request) -> Answer | None:
        """Decrypt the push and check its token."""
        browser = self._browsers.get(request.path)
        if browser is None:
            return Answer(404)
        try:
            claims, key = verified(request.headers.get("authorization", ""), self.address)
            push = Push(browser.decrypt(request.body), request.headers, claims, key, f"{self.address}{request.path}")
            if request.headers.get("content-encoding") != "aes128gcm" or not request.headers["ttl"].isdigit():
                raise ValueError("the encoding or the time to live is missing")
            if len(request.body) > LARGEST_PUSH_BYTES:
                raise ValueError("too large")
        except Exception as error:
            self.refusals.append(f"{type(error).__name__}: {error}")
            return Answer(403)
        self.pushes.append(push)
        return None


class Webhook(LoopbackService):
    """What `json://` and `form://` URLs of Apprise send to."""

    def __init__(self) -> None:
        super().__init__()
        self.answer_with(Answer(200))

    def url(self, path: str = "/hook", scheme: str = "json") -> str:
        """Return the Apprise URL of this webhook."""
        return f"{scheme}://127.0.0.1:{urlsplit(self.address).port}{path}"

    def messages(self) -> list[dict[str, Any]]:
        """What `json://` sent, in order."""
        return [json.loads(request.body) for request in self.requests]


def verified(authorization: str, address: str) -> tuple[Mapping[str, Any], str]:
    """Check a VAPID header as a push service with this address does; return the claims and the sender's public key.

    Raises:
        Exception: it is not in order.
    """
    scheme, _, rest = authorization.partition(" ")
    fields = dict(part.strip().split("=", 1) for part in rest.split(","))
    point = from_base64url(fields["k"])
    numbers: dict[str, str | list[str]] = {
        "kty": "EC",
        "crv": "P-256",
        "x": base64url(point[1:33]),
        "y": base64url(point[33:]),
    }
    token = jwt.decode(fields["t"], ECKey.import_key(numbers), algorithms=["ES256"])
    claims = token.claims
    now = time.time()
    if scheme != "vapid" or claims["aud"] != address or not now < claims["exp"] <= now + DAY_S:
        raise ValueError("the token is for somebody else, expired, or valid for too long")
    if not claims["sub"].startswith(("mailto:", "https:")):
        raise ValueError("the token names no contact")
    return claims, fields["k"]


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)
