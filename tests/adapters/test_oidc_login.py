"""Signing in by the device authorization grant, against a real provider on loopback (A8, RFC 8628)."""

import json
from collections.abc import Iterator

import pytest
from joserfc.jwk import ECKey

from adapters.oidc_login import MOST_SILENCES, Login
from domain.grant_bounds import Owner
from domain.refusal import Refused
from store.database import utc_now
from tests.oidc_provider import (
    CLIENT_ID,
    DEVICE,
    DISCOVERY,
    INTROSPECTION,
    KEYS,
    TOKEN,
    Provider,
    body,
    running_provider,
)
from tests.oidc_sign_in import TENANT_CLAIM, Person, approving, idle, issuer_of, sign_in


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running


async def refused(provider: Provider, person: Person | None = None) -> str:
    """The code with which a sign-in ends."""
    with pytest.raises(Refused) as caught:
        await sign_in(provider, person=person)
    return caught.value.refusal.code


async def test_a_sign_in_fixes_issuer_tenant_and_subject(provider: Provider) -> None:
    """A8: they come from the verified id token; the token that is kept is the one that lives longest."""
    provider.claims["tid"] = "tenant-7"
    account = await sign_in(provider)
    assert account.owner == Owner(provider.address, "tenant-7", "alice")
    assert account.client_id == CLIENT_ID
    assert (account.token, account.token_kind) == (provider.tokens[0].refresh_token, "refresh_token")


async def test_the_person_is_shown_where_and_what_to_enter(provider: Provider) -> None:
    """A8: address and code as the provider gave them, before anything is waited for."""
    person = Person(approving(provider))
    await sign_in(provider, person=person)
    [invitation] = person.invitations
    assert invitation.address == f"{provider.address}/activate"
    assert invitation.code in {device["user_code"] for device in provider.devices.values()}
    assert invitation.complete == f"{invitation.address}?user_code={invitation.code}"


async def test_polling_waits_as_long_as_it_is_told(provider: Provider) -> None:
    """A8, RFC 8628: `authorization_pending` goes on at the provider's pace, `slow_down` makes it slower for good."""

    def slower(_invitation: object) -> None:
        provider.slow_down = True

    def normal(_invitation: object) -> None:
        provider.slow_down = False

    person = Person(idle, slower, normal, approving(provider))
    await sign_in(provider, person=person)
    assert person.pauses == [5.0, 5.0, 10.0, 10.0]


async def test_a_lost_answer_while_polling_undoes_nothing(provider: Provider) -> None:
    """A8, RFC 8628 3.5: a poll without an answer is tried again, more slowly."""

    def broken(_invitation: object) -> None:
        provider.instead[TOKEN] = body("<html>", 502)

    def mended(invitation: object) -> None:
        provider.instead.clear()
        approving(provider)(person.invitations[-1])

    person = Person(broken, mended)
    assert (await sign_in(provider, person=person)).subject == "alice"
    assert person.pauses == [5.0, 10.0]


async def test_a_provider_that_stays_silent_ends_the_sign_in(provider: Provider) -> None:
    """A6, A8: polling does not go on for ever without an answer."""
    provider.instead[TOKEN] = body("[]")
    person = Person()
    assert await refused(provider, person) == "authorization_uncertain"
    assert len(person.pauses) == MOST_SILENCES


async def test_a_refusal_at_the_provider_ends_the_sign_in(provider: Provider) -> None:
    """A8, RFC 8628: `access_denied`."""
    person = Person(lambda invitation: provider.deny(invitation.code))
    assert await refused(provider, person) == "authorization_denied"


async def test_a_code_that_expired_ends_the_sign_in(provider: Provider) -> None:
    """A8, RFC 8628: `expired_token` by the provider."""

    def expire(_invitation: object) -> None:
        for device in provider.devices.values():
            device["expires_at"] = 1

    assert await refused(provider, Person(expire)) == "authorization_expired"


async def test_the_time_for_a_code_ends_the_sign_in(provider: Provider) -> None:
    """A8: nobody is waited for longer than the code lives, whatever the provider goes on saying."""
    times = iter([0.0, 1799.0, 1800.0])
    person = Person()
    login = Login(issuer_of(provider), TENANT_CLAIM, person.pause, utc_now, monotonic=lambda: next(times))
    with pytest.raises(Refused) as caught:
        await login.run(person.invitations.append)
    assert caught.value.refusal.code == "authorization_expired"
    assert len(person.pauses) == 2


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "another-client"},
        {"aud": [CLIENT_ID, "another-client"]},
        {"azp": "another-client"},
        {"exp": 1},
        {"exp": None},
        {"iat": 9_999_999_999},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "x" * 256},
        {"tid": ["a"]},
        {"at_hash": "another-token"},
    ],
    ids=str,
)
async def test_an_id_token_that_proves_nothing_signs_nobody_in(provider: Provider, claims: dict[str, object]) -> None:
    """A8: issuer, audience, time, subject, tenant and the access token's hash are what they must be, or it is a no."""
    provider.claims |= claims
    assert await refused(provider) == "authorization_denied"


async def test_a_signature_by_another_key_signs_nobody_in(provider: Provider) -> None:
    """A8: the id token is verified against the issuer's keys."""
    other = ECKey.generate_key("P-256", {"kid": "one"})
    provider.instead[KEYS] = body(json.dumps({"keys": [other.as_dict(private=False)]}))
    assert await refused(provider) == "authorization_denied"


async def test_an_unsigned_or_missing_id_token_signs_nobody_in(provider: Provider) -> None:
    """A8: without proof nobody is signed in."""
    provider.id_token = False
    assert await refused(provider) == "authorization_denied"


async def test_keys_of_unknown_kinds_spoil_nothing(provider: Provider) -> None:
    """A8: a key set may hold keys that are not known here, and an id token may name none where there is one."""
    known = provider.key.as_dict(private=False)
    provider.instead[KEYS] = body(json.dumps({"keys": [{"kty": "NEW"}, 3, known]}))
    assert (await sign_in(provider)).subject == "alice"


async def test_an_introspection_that_does_not_vouch_signs_nobody_in(provider: Provider) -> None:
    """A8: what could not be checked at an effect is found at the sign-in."""
    provider.told["sub"] = None
    assert await refused(provider) == "authorization_denied"
    provider.told["sub"] = "mallory"
    assert await refused(provider) == "authorization_denied"
    provider.instead[INTROSPECTION] = body('{"active": false}')
    assert await refused(provider) == "authorization_denied"


async def test_an_access_token_stands_in_where_there_is_no_refresh_token(provider: Provider) -> None:
    """A8: the account then lasts as long as that token, and its end is known."""
    provider.refresh = False
    provider.told["exp"] = 4_000_000_000
    account = await sign_in(provider)
    assert account.token_kind == "access_token"
    assert account.expires_at is not None
    assert int(account.expires_at.timestamp()) == 4_000_000_000


DISCOVERIES = {
    "another issuer": {"issuer": "https://other.example"},
    "no device grant": {"device_authorization_endpoint": None},
    "no introspection": {"introspection_endpoint": None},
    "an endpoint of another origin": {"introspection_endpoint": "https://other.example/introspect"},
    "an endpoint at another port": {"token_endpoint": "http://127.0.0.1:1/token"},
    "an endpoint without TLS": {"token_endpoint": "http://issuer.example/token"},
    "keys from elsewhere": {"jwks_uri": "https://other.example/keys"},
    "an endpoint that is no address": {"token_endpoint": ["x"]},
    "credentials in an address": {"token_endpoint": "http://a:b@127.0.0.1/token"},
}


@pytest.mark.parametrize("changes", DISCOVERIES.values(), ids=DISCOVERIES)
async def test_a_discovery_document_that_is_not_to_be_trusted_is_not_used(
    provider: Provider, changes: dict[str, object]
) -> None:
    """A8: nothing is sent to an address that a wrong discovery document names."""
    provider.discovery |= changes
    assert await refused(provider) == "authorization_uncertain"
    assert provider.asked == [DISCOVERY]


async def test_a_client_that_may_not_use_the_grant_is_told(provider: Provider) -> None:
    """A8: a wrong client id or secret is a refusal with words, not silence."""
    provider.instead[DEVICE] = body('{"error": "unauthorized_client"}', 400)
    assert await refused(provider) == "authorization_denied"


async def test_no_secret_and_no_answer_is_in_what_a_refusal_says(provider: Provider) -> None:
    """I9, P15: words of a refusal quote nothing that came from the provider."""
    provider.instead[DEVICE] = body('"a private text"')
    with pytest.raises(Refused) as caught:
        await sign_in(provider)
    assert "private" not in str(caught.value)
