"""Signing in without a browser of one's own: the device authorization grant (RFC 8628; A8).

The hard thing is to end for certain: every answer of the issuer either goes on waiting, within the time it gave, or
ends the sign-in with a code.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from authlib.integrations.httpx_client import OAuthError
from authlib.oauth2.rfc8628 import DEVICE_CODE_GRANT_TYPE

from adapters.oidc_accounts import Account
from adapters.oidc_http import Json, NoAnswer, error_code, fetched_token, json_object
from adapters.oidc_id_token import Untrusted, signed_in_owner
from adapters.oidc_introspection import Standing, expiry, standing
from adapters.oidc_issuer import OidcIssuer, TokenKind
from domain.grant_bounds import Owner
from domain.refusal import Refused, refuse

DEFAULT_INTERVAL_S = 5.0
SLOWER_BY_S = 5.0
LONGEST_INTERVAL_S = 60.0
LONGEST_WAIT_S = 1800.0
LONGEST_TEXT = 2048
MOST_SILENCES = 4


@dataclass(frozen=True, slots=True)
class Invitation:
    """What the person does to sign in: open `address` and enter `code`; `complete` is an address that has it."""

    address: str
    code: str
    complete: str | None


class Login:
    """One sign-in."""

    def __init__(
        self,
        issuer: OidcIssuer,
        tenant_claim: str,
        pause: Callable[[float], Awaitable[None]],
        now: Callable[[], datetime],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare it; `pause` waits for so many seconds."""
        self._issuer = issuer
        self._tenant_claim = tenant_claim
        self._pause = pause
        self._now = now
        self._monotonic = monotonic

    async def run(self, invite: Callable[[Invitation], None]) -> Account:
        """Ask for a code, show it, wait for the person, and return the account that signed in.

        Raises:
            Refused: `authorization_denied` when the person or the issuer says no, or the answer proves nothing;
                `authorization_expired` when the time for it is over; `authorization_uncertain` when the issuer cannot
                be asked.
        """
        try:
            device = await self._device_code()
            invite(_invitation(device))
            tokens = await self._poll(device)
            async with self._issuer.client() as client:
                keys = await self._issuer.keys(client)
            owner = signed_in_owner(
                tokens.get("id_token"),
                keys,
                issuer=self._issuer.address,
                client_id=self._issuer.client_id,
                access_token=_text(tokens, "access_token"),
                tenant_claim=self._tenant_claim,
                now_s=self._now().timestamp(),
            )
            return await self._account(owner, tokens)
        except NoAnswer as error:
            raise refuse("authorization_uncertain", f"{error} Check STEWARD_OIDC_ISSUER, and try again.") from None
        except Untrusted as error:
            raise refuse("authorization_denied", f"{error} Nobody was signed in.") from None
        except OAuthError as error:
            raise _refused(error_code(error)) from None

    async def _device_code(self) -> Json:
        async with self._issuer.client() as client:
            endpoints = await self._issuer.endpoints(client)
            answer = await client.post(
                endpoints.device_authorization,
                data={"scope": endpoints.scope},
                headers={"Accept": "application/json"},
                auth=client.client_auth(endpoints.token_auth),
            )
            if answer.status_code not in (400, 401, 403):
                return json_object(answer)
        raise refuse(
            "authorization_denied",
            "The issuer does not let this client sign in by a device code. Check STEWARD_OIDC_CLIENT_ID, the "
            "secret, and that the device authorization grant is switched on for it.",
        )

    async def _poll(self, device: Json) -> Json:
        code = _text(device, "device_code")
        interval_s = _seconds(device.get("interval"), DEFAULT_INTERVAL_S, LONGEST_INTERVAL_S)
        ends_at = self._monotonic() + _seconds(device.get("expires_in"), LONGEST_WAIT_S, LONGEST_WAIT_S)
        silences = 0
        while True:
            await self._pause(interval_s)
            if self._monotonic() >= ends_at:
                raise _refused("expired_token")
            try:
                return await self._tokens(code)
            except OAuthError as error:
                if error_code(error) not in ("authorization_pending", "slow_down"):
                    raise
                silences = 0
                if error_code(error) == "slow_down":
                    interval_s = min(interval_s + SLOWER_BY_S, LONGEST_INTERVAL_S)
            except NoAnswer:
                # A person is at the issuer's page meanwhile: one lost answer must not undo that (RFC 8628, 3.5).
                silences += 1
                if silences == MOST_SILENCES:
                    raise
                interval_s = min(interval_s + SLOWER_BY_S, LONGEST_INTERVAL_S)

    async def _tokens(self, device_code: str) -> Json:
        async with self._issuer.client() as client:
            endpoints = await self._issuer.endpoints(client)
            return await fetched_token(
                client,
                endpoints.token,
                grant_type=DEVICE_CODE_GRANT_TYPE,
                device_code=device_code,
                auth=client.client_auth(endpoints.token_auth),
            )

    async def _account(self, owner: Owner, tokens: Json) -> Account:
        """The account with the token that stands for it: the longest-lived one that the issuer vouches for."""
        kinds: tuple[TokenKind, ...] = ("refresh_token", "access_token")
        for kind in kinds:
            if not isinstance(tokens.get(kind), str):
                continue
            told = await self._issuer.introspect(tokens[kind], kind)
            account = Account(
                issuer=owner.issuer, tenant=owner.tenant, subject=owner.subject,
                client_id=self._issuer.client_id, token=tokens[kind], token_kind=kind,
                expires_at=expiry(told), signed_in_at=self._now().astimezone(UTC),
            )  # fmt: skip
            if standing(told, account, self._tenant_claim, self._now()) is Standing.ACTIVE:
                return account
        raise refuse(
            "authorization_denied",
            "The issuer's introspection does not vouch for the sign-in: it has to answer 'active' with the subject "
            "('sub') for a refresh or access token of this client.",
        )


def _invitation(device: Json) -> Invitation:
    complete = device.get("verification_uri_complete")
    return Invitation(
        address=_text(device, "verification_uri"),
        code=_text(device, "user_code"),
        complete=complete if isinstance(complete, str) and len(complete) <= LONGEST_TEXT else None,
    )


def _text(answer: Json, name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str) or not value or (name != "access_token" and len(value) > LONGEST_TEXT):
        raise NoAnswer(f"The issuer's answer has no {name}.")
    return value


def _seconds(value: object, default: float, longest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return default
    return max(1.0, min(float(value), longest))


def _refused(code: str) -> Refused:
    if code == "expired_token":
        return refuse("authorization_expired", "The code has expired before anybody entered it. Sign in again.")
    if code == "access_denied":
        return refuse("authorization_denied", "The sign-in was refused at the issuer.")
    words = "The issuer refused the sign-in. Check STEWARD_OIDC_CLIENT_ID and the secret."
    return refuse("authorization_denied", words)
