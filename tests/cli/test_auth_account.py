"""`steward auth account`: signing in and out at an issuer, as a person does it in a terminal (O4, A8, P15)."""

import asyncio
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Ended, Steward, ended
from tests.oidc_provider import CLIENT_ID, CLIENT_SECRET, Provider, running_provider

pytestmark = pytest.mark.timeout(300)
CODE = re.compile(r"enter the code (\S+)")


@pytest.fixture
def provider() -> Iterator[Provider]:
    with running_provider(interval_s=1) as running:
        yield running


@pytest.fixture
def steward(instance: Callable[[], Steward], provider: Provider) -> Steward:
    """An instance that nobody started, with the issuer configured and no keyring."""
    made = instance()
    own = {
        "STEWARD_AUTHORIZATION_PROVIDER": "oidc",
        "STEWARD_OIDC_ISSUER": provider.address,
        "STEWARD_OIDC_CLIENT_ID": CLIENT_ID,
        "STEWARD_OIDC_CLIENT_SECRET": CLIENT_SECRET,
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    return Steward(made.home, {**made.environment, **own})


async def sign_in(steward: Steward, decide: Callable[[str], None], *options: str) -> Ended:
    """Sign in while a person decides about the code that the terminal shows."""
    process = await steward.start("auth", "account", "login", *options)
    assert process.stderr is not None
    said = b""
    while not (shown := CODE.search(said.decode())):
        line = await process.stderr.readline()
        assert line, said.decode()
        said += line
    decide(shown.group(1))
    done = await ended(process)
    return Ended(done.code, done.out, said.decode() + done.err)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def test_a_sign_in_is_kept_privately_and_ends_with_the_sign_out(steward: Steward, provider: Provider) -> None:
    """A8, O4, P15: the code is shown, the account listed, its token only in a private file; the end revokes it."""
    signed_in = await sign_in(steward, provider.approve)
    assert signed_in.code == 0, signed_in.err
    assert f"{provider.address}/activate" in signed_in.err
    assert "Signed in as alice" in signed_in.out
    listed = await steward.run("auth", "account", "list", "--json")
    [item] = listed.json()["items"]
    assert (item["issuer"], item["tenant"], item["subject"]) == (provider.address, "default", "alice")
    assert item["current"] is True

    [token] = provider.tokens
    kept, access, written = str(token.refresh_token), token.access_token, signed_in.out + signed_in.err + listed.out
    assert not any(secret in written for secret in (kept, access, CLIENT_SECRET))
    assert {name for name, content in files(steward.home).items() if kept.encode() in content} == {"credentials.json"}
    for secret in (access, CLIENT_SECRET):
        assert not any(secret.encode() in content for content in files(steward.home).values())
    [file] = steward.home.rglob("credentials.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600

    signed_out = await steward.run("auth", "account", "logout", "--json")
    assert signed_out.json() == {"account": item["account"], "revoked_at_issuer": True}
    assert token.revoked
    assert kept.encode() not in b"".join(files(steward.home).values())


async def test_a_sign_in_that_is_refused_fails_in_one_line(steward: Steward, provider: Provider) -> None:
    """O4, A8: exit code 1 and the contract's code; nobody is signed in."""
    refused = await sign_in(steward, provider.deny)
    assert refused.code == 1
    assert refused.err.splitlines()[-1].startswith("authorization_denied: ")
    assert files(steward.home) == {}


async def test_two_accounts_need_a_name_to_sign_one_out(steward: Steward, provider: Provider) -> None:
    """A8: the newest sign-in grants; signing out never guesses."""
    for subject in ("alice", "bob"):
        await sign_in(steward, lambda code, subject=subject: provider.approve(code, subject))  # type: ignore[misc]
    table = (await steward.run("auth", "account", "list")).out.splitlines()
    assert [row.split()[1:3] for row in table[1:]] == [["yes", "bob"], ["alice", "default"]]
    assert (await steward.run("auth", "account", "logout")).error()[0] == "invalid_params"
    assert (await steward.run("auth", "account", "logout", table[2].split()[0])).code == 0
    [left] = (await steward.run("auth", "account", "list", "--json")).json()["items"]
    assert left["subject"] == "bob"


async def test_without_an_issuer_it_says_what_to_set(instance: Callable[[], Steward]) -> None:
    """O3: the setting's name is in the line."""
    results = await asyncio.gather(
        instance().run("auth", "account", "login"),
        instance().run("auth", "account", "login", STEWARD_AUTHORIZATION_PROVIDER="oidc"),
    )
    for failed in results:
        assert (failed.code, failed.error()[0]) == (1, "invalid_params")
        assert "STEWARD_OIDC_ISSUER" in failed.err
