"""The same sign-in and questions against the certified `oidc-provider` of npm (A8); only where it is installed.

`npm install oidc-provider` in any folder, and `STEWARD_TEST_OIDC_PROVIDER` names that folder.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from adapters.oidc_authorization import OidcAuthorization
from adapters.oidc_issuer import OidcIssuer
from adapters.oidc_login import Invitation, Login
from contracts.authorization import Allow, Deny, Lease, Reference, Uncertain
from domain.refusal import Refused
from store.database import utc_now
from tests.adapters.test_oidc_authorization import EXECUTION
from tests.oidc_sign_in import TENANT_CLAIM, accounts_in

PROJECT = os.environ.get("STEWARD_TEST_OIDC_PROVIDER")
CLIENT, SECRET = "steward-certified", "a-secret-of-this-test-alone-0123456789"
pytestmark = pytest.mark.skipif(
    PROJECT is None or shutil.which("node") is None,
    reason="opt-in: STEWARD_TEST_OIDC_PROVIDER names no folder with npm's oidc-provider, or node is not installed",
)


@pytest.fixture
async def issuer(repository: Path) -> AsyncIterator[OidcIssuer]:
    """The provider in a process of its own, as Steward's client sees it."""
    script = repository / "tests" / "oidc_certified" / "provider.mjs"
    process = await asyncio.create_subprocess_exec(
        "node", str(script), str(PROJECT), CLIENT, SECRET, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        line = b""
        while not line.startswith(b"http://"):
            line = await process.stdout.readline()
            assert line, "the provider did not start"
        yield OidcIssuer(line.decode().strip(), CLIENT, SECRET, timeout_s=60.0)
    finally:
        process.kill()
        await process.wait()


async def act(issuer: OidcIssuer, path: str) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=60.0) as client:
        (await client.post(f"{issuer.address}/test/{path}")).raise_for_status()


def login(issuer: OidcIssuer, decision: str, invitations: list[Invitation]) -> Login:
    """A sign-in during whose first pause the person decides."""

    async def pause(_seconds: float) -> None:
        await act(issuer, f"{decision}?user_code={invitations[-1].code}")

    return Login(issuer, TENANT_CLAIM, pause, utc_now)


async def test_an_account_is_valid_until_it_is_disabled(issuer: OidcIssuer, tmp_path: Path) -> None:
    """A8: device grant, id token, introspection of the refresh token, and a grant that is gone at the provider."""
    invitations: list[Invitation] = []
    account = await login(issuer, "approve", invitations).run(invitations.append)
    assert (account.subject, account.token_kind) == ("alice", "refresh_token")
    accounts = accounts_in(tmp_path)
    accounts.keep(account)
    provider = OidcAuthorization(issuer, accounts, TENANT_CLAIM, utc_now)

    async def ask() -> Allow[Lease] | Deny | Uncertain:
        return await provider.acquire(Reference("grant_1", account.account_id, account.owner), EXECUTION)

    assert await ask() == Allow(Lease("grant_1", "digest"))
    await act(issuer, "disable")
    assert await ask() == Deny("authorization_revoked")


async def test_a_sign_out_revokes_the_token(issuer: OidcIssuer) -> None:
    """A8, RFC 7009: after that the issuer itself says no."""
    invitations: list[Invitation] = []
    account = await login(issuer, "approve", invitations).run(invitations.append)
    assert await issuer.revoke(account.token, account.token_kind)
    assert (await issuer.introspect(account.token, account.token_kind))["active"] is False


async def test_a_person_who_says_no_is_heard(issuer: OidcIssuer) -> None:
    """A8, RFC 8628: `access_denied` as a certified provider says it."""
    invitations: list[Invitation] = []
    with pytest.raises(Refused) as caught:
        await login(issuer, "deny", invitations).run(invitations.append)
    assert caught.value.refusal.code == "authorization_denied"


async def test_a_wrong_secret_is_told(issuer: OidcIssuer) -> None:
    """A8: a client that the issuer does not know signs nobody in."""
    invitations: list[Invitation] = []
    wrong = OidcIssuer(issuer.address, CLIENT, "another-secret", timeout_s=60.0)
    with pytest.raises(Refused) as caught:
        await login(wrong, "approve", invitations).run(invitations.append)
    assert caught.value.refusal.code == "authorization_denied"
    assert invitations == []
