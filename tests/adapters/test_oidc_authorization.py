"""The provider `oidc` asked about a signed-in account, against a real issuer on loopback (A2, A6, A8)."""

import gzip
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.oidc_accounts import Account, Accounts, account_id
from adapters.oidc_authorization import OidcAuthorization
from adapters.oidc_http import LARGEST_ANSWER_BYTES
from adapters.oidc_issuer import ENDPOINTS_AGE_S, OidcIssuer
from contracts.authorization import Admission, Allow, Deny, Description, Issued, Lease, Reference, Uncertain
from domain.grant import Execution
from domain.grant_bounds import Owner
from store.database import utc_now
from tests.oidc_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    DISCOVERY,
    INTROSPECTION,
    Answer,
    Provider,
    body,
    redirected,
    running_provider,
)
from tests.oidc_sign_in import TENANT_CLAIM, accounts_in, authorization, issuer_of, sign_in

EXECUTION = Execution(
    user_space="local", domain="personal", agent_id="twin", action="file.create", resources=frozenset(),
    model="offline", engine="native", permission_mode="standard", action_digest="digest", request_id="r",
    session_id="s",
)  # fmt: skip
REVOKED, EXPIRED, DENIED = (Deny(f"authorization_{end}") for end in ("revoked", "expired", "denied"))


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running_provider() as running:
        yield running


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    return accounts_in(tmp_path)


@pytest.fixture
async def account(provider: Provider, accounts: Accounts) -> Account:
    """Somebody who is signed in."""
    signed_in = await sign_in(provider)
    accounts.keep(signed_in)
    return signed_in


def reference(account: Account) -> Reference:
    return Reference("grant_1", account.account_id, account.owner)


async def ask(provider: Provider, accounts: Accounts, account: Account) -> Allow[Lease] | Deny | Uncertain:
    return await authorization(provider, accounts).acquire(reference(account), EXECUTION)


async def test_an_active_account_is_allowed(provider: Provider, accounts: Accounts, account: Account) -> None:
    """A2, A8: the lease is narrowed to the effect's digest."""
    assert await ask(provider, accounts, account) == Allow(Lease("grant_1", "digest"))


async def test_every_effect_is_asked_about_anew(provider: Provider, accounts: Accounts, account: Account) -> None:
    """A4: an earlier yes is not reused, also not by the same provider object."""
    one = authorization(provider, accounts)
    assert isinstance(await one.acquire(reference(account), EXECUTION), Allow)
    provider.disable()
    assert await one.acquire(reference(account), EXECUTION) == REVOKED
    assert provider.asked.count(INTROSPECTION) == 3, "one at the sign-in, one for each effect"


async def test_a_disabled_account_is_revoked(provider: Provider, accounts: Accounts, account: Account) -> None:
    """A8: what disabling means is the provider's business; inactive is a no."""
    provider.disable()
    assert await ask(provider, accounts, account) == REVOKED


async def test_a_token_that_ended_by_itself_has_expired(provider: Provider, accounts: Accounts) -> None:
    """A8: inactive after the time that the issuer had named is an expiry."""
    provider.told["exp"] = int(utc_now().timestamp()) + 3600
    account = await sign_in(provider)
    accounts.keep(account)
    later = authorization(provider, accounts, now=lambda: utc_now() + timedelta(hours=2))
    assert await later.acquire(reference(account), EXECUTION) == EXPIRED
    provider.disable()
    assert await later.acquire(reference(account), EXECUTION) == EXPIRED
    assert await ask(provider, accounts, account) == REVOKED


async def test_a_sign_out_takes_the_authority_back(provider: Provider, accounts: Accounts, account: Account) -> None:
    """A8: without the account nobody is asked, and the answer is no."""
    assert accounts.forget(account.account_id)
    provider.asked.clear()
    assert await ask(provider, accounts, account) == REVOKED
    assert provider.asked == []


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ({"sub": "mallory"}, DENIED),
        ({"iss": "https://other.example"}, DENIED),
        ({"client_id": "another-client"}, DENIED),
        ({"tid": "another-tenant"}, DENIED),
        ({"sub": None}, Uncertain()),
        ({"exp": "soon"}, Uncertain()),
        ({"exp": 1e300}, Uncertain()),
        ({"exp": 1}, EXPIRED),
        ({"iss": None, "client_id": None}, Allow(Lease("grant_1", "digest"))),
    ],
    ids=str,
)
async def test_an_answer_about_somebody_else_is_a_no(
    provider: Provider, accounts: Accounts, told: dict[str, object], answer: object
) -> None:
    """A8: issuer, tenant and subject were fixed at the sign-in."""
    provider.claims["tid"] = "tenant-7"
    account = await sign_in(provider)
    accounts.keep(account)
    provider.told |= told
    assert await ask(provider, accounts, account) == answer


HUGE = b'{"active": true, "padding": "' + b"x" * LARGEST_ANSWER_BYTES + b'"}'
UNUSABLE: dict[str, Answer] = {
    "no JSON": body("<html>active</html>"),
    "half of it": body('{"active": true, "sub": '),
    "a list": body('[{"active": true}]'),
    "nested too deeply": body("[" * 100_000),
    "not UTF-8": body(b'{"active": true, "sub": "\xff\xfe"}'),
    "no active": body('{"sub": "alice"}'),
    "active as a text": body('{"active": "true", "sub": "alice"}'),
    "active as a number": body('{"active": 1, "sub": "alice"}'),
    "null": body('{"active": null, "sub": "alice"}'),
    "nothing": body(""),
    "huge": body(HUGE),
    "packed": body(gzip.compress(b'{"active": true, "sub": "alice"}'), encoding="gzip"),
    "a redirect": redirected("https://other.example/introspect"),
    "401": body('{"error": "invalid_client"}', 401),
    "500": body('{"active": true, "sub": "alice"}', 500),
    "201": body('{"active": true, "sub": "alice"}', 201),
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE)
async def test_an_answer_that_cannot_be_used_is_uncertain(
    provider: Provider, accounts: Accounts, account: Account, answer: Answer
) -> None:
    """A2, A6: whatever is no clear yes and no clear no refuses."""
    provider.instead[INTROSPECTION] = answer
    assert await ask(provider, accounts, account) == Uncertain("authorization_uncertain")


async def test_a_large_answer_below_the_limit_is_read(
    provider: Provider, accounts: Accounts, account: Account
) -> None:
    """A8: the limit is the only reason why the huge answer is refused."""
    told = {"active": True, "sub": "alice", "padding": "x" * (LARGEST_ANSWER_BYTES - 100)}
    provider.instead[INTROSPECTION] = body(json.dumps(told))
    assert isinstance(await ask(provider, accounts, account), Allow)


async def test_a_redirect_gives_the_token_to_nobody(provider: Provider, accounts: Accounts, account: Account) -> None:
    """A8, P15: a redirect is not followed, not even at the same host."""
    provider.instead[INTROSPECTION] = redirected("/elsewhere")
    await ask(provider, accounts, account)
    assert "/elsewhere" not in provider.asked


async def test_an_issuer_that_is_not_there_is_uncertain(accounts: Accounts, account: Account) -> None:
    """A6: unreachable is no answer."""
    with running_provider() as other:
        gone = other.address
    moved = account.model_copy(update={"issuer": gone})
    accounts.keep(moved)
    unreachable = OidcAuthorization(OidcIssuer(gone, CLIENT_ID, CLIENT_SECRET), accounts, TENANT_CLAIM, utc_now)
    assert await unreachable.acquire(reference(moved), EXECUTION) == Uncertain()


async def test_an_issuer_that_fails_at_tls_is_uncertain(
    provider: Provider, accounts: Accounts, account: Account
) -> None:
    """A6, A8: no TLS, no answer."""
    address = provider.address.replace("http://", "https://")
    moved = account.model_copy(update={"issuer": address})
    accounts.keep(moved)
    plain = OidcAuthorization(OidcIssuer(address, CLIENT_ID, CLIENT_SECRET), accounts, TENANT_CLAIM, utc_now)
    assert await plain.acquire(reference(moved), EXECUTION) == Uncertain()


async def test_a_discovery_of_another_issuer_is_uncertain(
    provider: Provider, accounts: Accounts, account: Account
) -> None:
    """A8: nothing is asked of an issuer that says it is another one."""
    provider.discovery["issuer"] = f"{provider.address}/other"
    provider.asked.clear()
    assert await ask(provider, accounts, account) == Uncertain()
    assert provider.asked == [DISCOVERY]


async def test_a_failed_request_has_the_discovery_read_again(
    provider: Provider, accounts: Accounts, account: Account
) -> None:
    """A8: a moved endpoint is found without a restart; else the document is read once in an hour."""
    times = [0.0]
    issuer = issuer_of(provider, monotonic=lambda: times[0])
    one = OidcAuthorization(issuer, accounts, TENANT_CLAIM, utc_now)

    async def discoveries() -> int:
        provider.asked.clear()
        await one.acquire(reference(account), EXECUTION)
        return provider.asked.count(DISCOVERY)

    assert [await discoveries() for _ in range(2)] == [1, 0]
    times[0] = ENDPOINTS_AGE_S
    assert await discoveries() == 1
    provider.instead[INTROSPECTION] = body("", 404)
    assert [await discoveries() for _ in range(2)] == [0, 1]


async def test_a_grant_of_somebody_else_is_denied(provider: Provider, accounts: Accounts, account: Account) -> None:
    """A8: the account must be the one that the grant names, by its id and by who it is."""
    one = authorization(provider, accounts)
    other = Owner(account.issuer, account.tenant, "mallory")
    assert await one.acquire(Reference("grant_1", account.account_id, other), EXECUTION) == DENIED
    assert await one.acquire(Reference("grant_1", account_id(other), other), EXECUTION) == REVOKED
    assert await one.acquire(Reference("grant_1", None, account.owner), EXECUTION) == DENIED
    elsewhere = OidcAuthorization(OidcIssuer(provider.address, "other", None), accounts, TENANT_CLAIM, utc_now)
    assert await elsewhere.acquire(reference(account), EXECUTION) == DENIED


async def test_credentials_that_cannot_be_read_are_uncertain(
    provider: Provider, accounts: Accounts, account: Account, tmp_path: Path
) -> None:
    """A6, P15: a damaged credential store says neither yes nor no."""
    (tmp_path / "credentials.json").write_text("{")
    assert await ask(provider, accounts, account) == Uncertain()


async def test_a_grant_is_issued_for_who_is_signed_in(provider: Provider, accounts: Accounts, account: Account) -> None:
    """A2, A8: not for another one, not from elsewhere, not for an account that is not valid any more."""
    one, until = authorization(provider, accounts), datetime(2026, 1, 1, tzinfo=UTC)
    mine = Admission(account.owner, until, local=True)
    assert await one.issue(mine) == Allow(Issued(account.account_id, until))
    assert await one.issue(Admission(account.owner, until, local=False)) == Deny("authorization_source_untrusted")
    other = Owner(account.issuer, account.tenant, "mallory")
    assert await one.issue(Admission(other, until, local=True)) == DENIED
    provider.instead[INTROSPECTION] = body("", 500)
    assert await one.issue(mine) == Uncertain()
    provider.instead.clear()
    provider.disable()
    assert await one.issue(mine) == REVOKED
    accounts.forget(account.account_id)
    assert await one.issue(mine) == DENIED


async def test_the_rest_of_the_contract_holds_nothing_at_the_issuer(
    provider: Provider, accounts: Accounts, account: Account
) -> None:
    """A2: release and revoke are the host's own; describe says whose account it is."""
    one = authorization(provider, accounts)
    provider.asked.clear()
    assert await one.release(Lease("grant_1", "digest"), "succeeded") == Allow(None)
    assert await one.revoke(reference(account), "no longer") == Allow(None)
    assert await one.describe(reference(account)) == Allow(Description(account.owner, None))
    assert provider.asked == []


def test_an_account_shows_no_token() -> None:
    """P15: what is printed or logged of an account has no secret in it."""
    now = datetime(2026, 1, 1, tzinfo=UTC)
    account = Account(
        issuer="https://issuer.example", tenant="t", subject="s", client_id="c", token="very-secret",
        token_kind="access_token", expires_at=None, signed_in_at=now,
    )  # fmt: skip
    assert "very-secret" not in f"{account!r} {account}"


def test_two_owners_never_share_an_account() -> None:
    """A8: the parts of an owner cannot be shifted into each other."""
    parts = [("a", "b", "c"), ("ab", "", "c"), ("a", "bc", ""), ("a", "1:bc", ""), ("", "ab", "c")]
    assert len({account_id(Owner(*one)) for one in parts}) == len(parts)
