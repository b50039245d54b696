"""One issuer as this client asks it: discovery, token introspection (RFC 7662), keys, revocation (RFC 7009; A8)."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Literal

from authlib.integrations.httpx_client import AsyncOAuth2Client

from adapters.oidc_discovery import Endpoints, checked_endpoints, discovery_address
from adapters.oidc_http import Json, NoAnswer, issuer_client, json_object, trusted_certificates
from contracts.authorization import ANSWER_TIMEOUT_S

ENDPOINTS_AGE_S = 3600.0
"""How long a discovery document is used, in seconds; after a failed request it is read again."""
TokenKind = Literal["refresh_token", "access_token"]


class OidcIssuer:
    """An issuer and the client that Steward is there.

    Attributes:
        address: the issuer's identifier, exactly as it appears in its tokens.
        client_id: the client.
    """

    def __init__(
        self,
        address: str,
        client_id: str,
        client_secret: str | None = None,
        timeout_s: float = ANSWER_TIMEOUT_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Contact nobody yet; `timeout_s` is for connecting and for each silence, not for a whole answer."""
        self.address = address
        self.client_id = client_id
        self._client_secret = client_secret
        self._timeout_s = timeout_s
        self._monotonic = monotonic
        self._tls = trusted_certificates()
        self._known: tuple[float, Endpoints] | None = None

    @asynccontextmanager
    async def client(self) -> AsyncIterator[AsyncOAuth2Client]:
        """A client for a few requests; failures are `NoAnswer`, and make the next one look at the discovery again."""
        try:
            async with issuer_client(self.client_id, self._client_secret, self._tls, self._timeout_s) as client:
                yield client
        except NoAnswer:
            self._known = None
            raise

    async def endpoints(self, client: AsyncOAuth2Client) -> Endpoints:
        """The issuer's endpoints, from its discovery document.

        Raises:
            NoAnswer: it cannot be read or is not to be trusted.
        """
        if self._known is not None and self._monotonic() - self._known[0] < ENDPOINTS_AGE_S:
            return self._known[1]
        answer = await client.request("GET", discovery_address(self.address), withhold_token=True)
        document = json_object(answer)
        endpoints = checked_endpoints(document, self.address, has_secret=self._client_secret is not None)
        self._known = self._monotonic(), endpoints
        return endpoints

    async def introspect(self, token: str, kind: TokenKind) -> Json:
        """What the issuer says about a token now; `active` is a truth value.

        Raises:
            NoAnswer: it said nothing that can be used.
        """
        async with self.client() as client:
            endpoints = await self.endpoints(client)
            answer = json_object(
                await client.introspect_token(
                    endpoints.introspection,
                    token=token,
                    token_type_hint=kind,
                    auth=client.client_auth(endpoints.introspection_auth),
                    headers={"Accept": "application/json"},
                )
            )
            if not isinstance(answer.get("active"), bool):
                raise NoAnswer("The issuer's introspection does not say whether the token is active.")
            return answer

    async def keys(self, client: AsyncOAuth2Client) -> Json:
        """The issuer's public keys (RFC 7517)."""
        endpoints = await self.endpoints(client)
        return json_object(await client.request("GET", endpoints.keys, withhold_token=True))

    async def revoke(self, token: str, kind: TokenKind) -> bool:
        """Ask the issuer to revoke a token; whether it says that it did.

        Raises:
            NoAnswer: it did not answer.
        """
        async with self.client() as client:
            endpoints = await self.endpoints(client)
            if endpoints.revocation is None:
                return False
            answer = await client.revoke_token(
                endpoints.revocation,
                token=token,
                token_type_hint=kind,
                auth=client.client_auth(endpoints.token_auth),
            )
            return bool(answer.status_code == 200)
