"""A real OpenID provider on loopback, built with Authlib's server part: device grant, introspection, revocation (A8).

A test plays the person (`approve`, `deny`), the provider's operator (`disable`), or has an answer replaced (`instead`).
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from authlib.common.security import generate_token
from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint, DeviceCodeGrant, DeviceCredentialDict
from flask import Flask, Response, jsonify, request
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet
from werkzeug.serving import make_server

CLIENT_ID = "steward-test"
CLIENT_SECRET = "issuer-secret-of-the-tests"
INTROSPECTION, TOKEN, DISCOVERY, KEYS, DEVICE = (
    "/introspect", "/token", "/.well-known/openid-configuration", "/keys", "/device",
)  # fmt: skip
Answer = Callable[[], Response]


@dataclass
class Client(ClientMixin):  # type: ignore[misc] # authlib has no types
    """The one client."""

    def get_client_id(self) -> str:
        return CLIENT_ID

    def get_allowed_scope(self, scope: str | None) -> str:
        return scope or ""

    def check_client_secret(self, client_secret: str) -> bool:
        return client_secret == CLIENT_SECRET

    def check_endpoint_auth_method(self, _method: str, _endpoint: str) -> bool:
        return True

    def check_grant_type(self, _grant_type: str) -> bool:
        return True


@dataclass
class Token(TokenMixin):  # type: ignore[misc] # authlib has no types
    """What was issued at one sign-in."""

    subject: str
    access_token: str
    refresh_token: str | None
    revoked: bool = False
    expires_at: int | None = None

    def check_client(self, _client: Client) -> bool:
        return True

    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= time.time()

    def is_revoked(self) -> bool:
        return self.revoked


@dataclass
class Provider:
    """A running provider.

    Attributes:
        address: the issuer.
        claims: added to id tokens, or put in place of the usual ones; None takes one out.
        told: the same for introspection's answers about active tokens.
        discovery: the same for the discovery document.
        instead: answers in place of the provider's own, by path.
        asked: paths that were asked for, in order.
        slow_down: whether a poll that is too early is told so.
        refresh, id_token: whether a sign-in gives these tokens as well.
        interval_s: the pace of polling.
    """

    address: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    discovery: dict[str, Any] = field(default_factory=dict)
    instead: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    slow_down: bool = False
    refresh: bool = True
    id_token: bool = True
    interval_s: int = 5
    key: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "one"}))
    tokens: list[Token] = field(default_factory=list)
    devices: dict[str, DeviceCredentialDict] = field(default_factory=dict)
    decisions: dict[str, tuple[str, bool]] = field(default_factory=dict)
    closed: threading.Event = field(default_factory=threading.Event)

    def approve(self, user_code: str, subject: str = "alice") -> None:
        """The person signs in and agrees."""
        self.decisions[user_code] = (subject, True)

    def deny(self, user_code: str) -> None:
        """The person says no."""
        self.decisions[user_code] = ("alice", False)

    def disable(self, subject: str = "alice") -> None:
        """The provider's operator disables an account."""
        for token in self.tokens:
            token.revoked = token.revoked or token.subject == subject

    def stall(self) -> Response:
        """An answer that never comes, for `instead`."""
        self.closed.wait()
        return Response(status=503)

    def find(self, value: str) -> Token | None:
        return next((token for token in self.tokens if value in (token.access_token, token.refresh_token)), None)

    def signed(self, subject: str) -> str:
        """An id token."""
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT_ID, "sub": subject, "iat": now, "exp": now + 600}
        return jwt.encode({"alg": "ES256", "kid": self.key.kid}, changed(claims, self.claims), self.key)


def changed(usual: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The usual fields with changes; None takes one out."""
    return {name: value for name, value in {**usual, **changes}.items() if value is not None}


def body(content: str | bytes, status: int = 200, encoding: str | None = None) -> Answer:
    """A fixed answer for `instead`, with a content encoding."""
    headers = {} if encoding is None else {"Content-Encoding": encoding}
    return lambda: Response(content, status=status, mimetype="application/json", headers=headers)


def redirected(address: str) -> Answer:
    """An answer for `instead` that sends the client elsewhere with the same request."""
    return lambda: Response(status=307, headers={"Location": address})


def _server(app: Flask, provider: Provider) -> AuthorizationServer:
    def save_token(token: dict[str, Any], asked: Any) -> None:
        provider.tokens.append(Token(asked.user, token["access_token"], token.get("refresh_token")))

    server = AuthorizationServer(app, lambda name: Client() if name == CLIENT_ID else None, save_token)
    server.register_grant(_grant(provider))
    for endpoint in (_devices(provider), _introspection(provider), _revocation(provider)):
        server.register_endpoint(endpoint)
    return server


def _grant(provider: Provider) -> type[Any]:
    class Grant(DeviceCodeGrant):  # type: ignore[misc] # authlib has no types
        def query_device_credential(self, device_code: str) -> DeviceCredentialDict | None:
            return provider.devices.get(device_code)

        def query_user_grant(self, user_code: str) -> tuple[str, bool] | None:
            return provider.decisions.get(user_code)

        def should_slow_down(self, _credential: DeviceCredentialDict) -> bool:
            return provider.slow_down

        def generate_token(self, *given: Any, **named: Any) -> dict[str, Any]:
            token: dict[str, Any] = super().generate_token(*given, **{**named, "include_refresh_token": False})
            if provider.refresh:
                token["refresh_token"] = generate_token(48)
            if provider.id_token:
                token["id_token"] = provider.signed(self.request.user)
            return token

    return Grant


def _devices(provider: Provider) -> type[Any]:
    class Devices(DeviceAuthorizationEndpoint):  # type: ignore[misc] # authlib has no types
        INTERVAL = provider.interval_s

        def get_verification_uri(self) -> str:
            return f"{provider.address}/activate"

        def save_device_credential(self, client_id: str, scope: str, given: dict[str, Any]) -> None:
            credential = DeviceCredentialDict(given, client_id=client_id, scope=scope)
            provider.devices[given["device_code"]] = credential

    return Devices


def _introspection(provider: Provider) -> type[Any]:
    class Introspection(IntrospectionEndpoint):  # type: ignore[misc] # authlib has no types
        def check_permission(self, _token: Token, _client: Client, _request: Any) -> bool:
            return True

        def query_token(self, value: str, _hint: str | None) -> Token | None:
            return provider.find(value)

        def introspect_token(self, token: Token) -> dict[str, Any]:
            usual = {"active": True, "client_id": CLIENT_ID, "sub": token.subject, "iss": provider.address}
            return changed({**usual, "exp": token.expires_at}, provider.told)

    return Introspection


def _revocation(provider: Provider) -> type[Any]:
    class Revocation(RevocationEndpoint):  # type: ignore[misc] # authlib has no types
        def query_token(self, value: str, _hint: str | None) -> Token | None:
            return provider.find(value)

        def revoke_token(self, token: Token, _request: Any) -> None:
            token.revoked = True

    return Revocation


def _app(provider: Provider) -> Flask:
    app = Flask("provider")
    server = _server(app, provider)

    @app.before_request
    def _replaced() -> Response | None:
        provider.asked.append(request.path)
        answer = provider.instead.get(request.path)
        return answer() if answer is not None else None

    @app.get(DISCOVERY)
    def _discovery() -> Response:
        usual = {
            "issuer": provider.address,
            "token_endpoint": f"{provider.address}{TOKEN}",
            "device_authorization_endpoint": f"{provider.address}{DEVICE}",
            "introspection_endpoint": f"{provider.address}{INTROSPECTION}",
            "revocation_endpoint": f"{provider.address}/revoke",
            "jwks_uri": f"{provider.address}{KEYS}",
            "scopes_supported": ["openid", "offline_access"],
        }
        return jsonify(changed(usual, provider.discovery))

    @app.get(KEYS)
    def _keys() -> Response:
        return jsonify(KeySet([provider.key]).as_dict(private=False))

    def endpoint(path: str, name: str) -> None:
        app.add_url_rule(path, name, lambda: server.create_endpoint_response(name), methods=["POST"])

    endpoint(DEVICE, "device_authorization")
    endpoint(INTROSPECTION, "introspection")
    endpoint("/revoke", "revocation")
    app.add_url_rule(TOKEN, "token", server.create_token_response, methods=["POST"])
    return app


@contextmanager
def running_provider(interval_s: int = 5) -> Iterator[Provider]:
    """A provider that listens on loopback while the block lasts."""
    provider = Provider(interval_s=interval_s)
    with pytest.MonkeyPatch.context() as patch:
        # Authlib's server refuses plain http unless this says that it is meant.
        patch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
        http = make_server("127.0.0.1", 0, _app(provider), threaded=True)
        provider.address = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield provider
        finally:
            provider.closed.set()
            http.shutdown()
            thread.join()
            http.server_close()
