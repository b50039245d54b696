"""Which provider an instance has is its configuration's choice, and a missing one is missing (A2, A6, A8)."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keyring
import pytest
from keyring.backends import null

from adapters.oidc_accounts import Account
from domain.grant_bounds import Owner
from domain.refusal import Refused
from runtime.authorization import PROVIDERS, admit, authority, issuer, outside, supports_contract
from runtime.issuer_accounts import accounts
from runtime.settings import Settings
from runtime.settings_sources import public_view
from store.authority import LOCAL_OWNER
from store.database import Scope, utc_now
from store.grants import Issuer
from tests.oidc_provider import CLIENT_ID, CLIENT_SECRET, INTROSPECTION, running_provider
from tests.oidc_sign_in import authorization, sign_in
from tests.worlds import Worlds

ISSUER, CLIENT = "https://issuer.example/realm", "steward"


@pytest.fixture(autouse=True)
def _no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyring, "get_keyring", null.Keyring)


def settings(home: Path, **fields: Any) -> Settings:
    given = Settings(home=home, **fields)
    given.state_dir.mkdir(parents=True, exist_ok=True)
    return given


def oidc(home: Path, **fields: Any) -> Settings:
    return settings(home, authorization_provider="oidc", oidc_issuer=ISSUER, oidc_client_id=CLIENT, **fields)


def account(**fields: Any) -> Account:
    usual: dict[str, Any] = {
        "issuer": ISSUER, "tenant": "t", "subject": "alice", "client_id": CLIENT, "token": "x",
        "token_kind": "refresh_token", "expires_at": None, "signed_in_at": utc_now(),
    }  # fmt: skip
    return Account(**{**usual, **fields})


def test_the_native_provider_is_the_default(tmp_path: Path) -> None:
    """A7: nothing has to be configured."""
    found = authority(settings(tmp_path))
    assert (found.provider, found.unusable(), found.is_outside, found.owner) == ("local", None, False, LOCAL_OWNER)
    assert issuer(settings(tmp_path)) == Issuer()


def test_an_unknown_provider_is_missing_and_stops_no_start(tmp_path: Path) -> None:
    """A6: effects are refused by its own code; nothing is issued either, least of all natively."""
    unknown = settings(tmp_path, authorization_provider="corporate")
    assert authority(unknown).unusable() == "authorization_provider_missing"
    with pytest.raises(Refused) as caught:
        issuer(unknown)
    assert caught.value.refusal.code == "authorization_provider_missing"


def test_removing_the_selected_provider_does_not_enable_the_native_one(tmp_path: Path) -> None:
    """A6: the name stays selected, whatever else is there."""
    without = {name: build for name, build in PROVIDERS.items() if name != "oidc"}
    found = authority(oidc(tmp_path), without)
    assert (found.provider, found.unusable()) == ("oidc", "authorization_provider_missing")


@pytest.mark.parametrize(
    "provider",
    [
        SimpleNamespace(local_only=True, acquire=print),
        SimpleNamespace(local_only=True, release=print),
        SimpleNamespace(local_only=True, acquire=None, release=None),
        SimpleNamespace(local_only=False, acquire=print, release=print),
        SimpleNamespace(acquire=print, release=print),
    ],
    ids=["no release", "no acquire", "neither", "not local only", "undeclared"],
)
def test_a_provider_that_lacks_a_part_of_the_contract_is_refused(tmp_path: Path, provider: object) -> None:
    """A2: without acquire and release, or without `local_only`, no effect is asked about."""
    assert authority(oidc(tmp_path), {"oidc": lambda _: provider}).unusable() == "authorization_contract_unsupported"


def test_the_providers_of_this_host_support_the_contract(tmp_path: Path) -> None:
    """A2: the native one and `oidc` have all five operations under the contract's names."""
    for build in PROVIDERS.values():
        provider = build(oidc(tmp_path))
        assert supports_contract(provider)
        assert all(callable(getattr(provider, name)) for name in ("issue", "revoke", "describe"))


def test_grants_are_issued_by_who_is_signed_in_now(tmp_path: Path) -> None:
    """A8: the newest sign-in of this client at this issuer; signed out, nobody."""
    host = oidc(tmp_path)
    with pytest.raises(Refused) as caught:
        issuer(host)
    assert caught.value.refusal.code == "authorization_denied"
    first, second = account(), account(subject="bob", signed_in_at=utc_now())
    for one in (first, account(client_id="other", subject="eve"), account(issuer="https://other.example"), second):
        accounts(host).keep(one)
    assert issuer(host) == Issuer("oidc", second.account_id, Owner(ISSUER, "t", "bob"))
    assert authority(host).owner == Owner(ISSUER, "t", "bob")
    accounts(host).forget(second.account_id)
    assert issuer(host) == Issuer("oidc", first.account_id, Owner(ISSUER, "t", "alice"))


async def test_a_grant_is_issued_only_while_the_issuer_vouches(tmp_path: Path) -> None:
    """A2, A6, A8: the provider is asked at the admission as well; no and no answer refuse with their code."""
    assert await admit(settings(tmp_path / "native"), None) == Issuer()
    with running_provider() as provider:
        host = settings(
            tmp_path, authorization_provider="oidc", oidc_issuer=provider.address, oidc_client_id=CLIENT_ID,
            oidc_client_secret=CLIENT_SECRET,
        )  # fmt: skip
        signed_in = await sign_in(provider)
        accounts(host).keep(signed_in)
        patient = {"oidc": lambda _: authorization(provider, accounts(host))}
        assert (await admit(host, None, patient)).account == signed_in.account_id
        with pytest.raises(Refused) as caught:
            await admit(host, 1, patient)
        assert caught.value.refusal.code == "invalid_params"
        provider.disable()
        with pytest.raises(Refused) as caught:
            await admit(host, None, patient)
        assert caught.value.refusal.code == "authorization_revoked"
        provider.instead[INTROSPECTION] = provider.stall
        with pytest.raises(Refused) as caught:
            await admit(host, None)
        assert caught.value.refusal.code == "authorization_uncertain"


def test_credentials_that_cannot_be_read_issue_nothing(tmp_path: Path) -> None:
    """A6: and the start goes on."""
    host = oidc(tmp_path)
    (host.state_dir / "credentials.json").write_text("{")
    assert authority(host).unusable() is None
    with pytest.raises(Refused) as caught:
        issuer(host)
    assert caught.value.refusal.code == "authorization_uncertain"


async def test_who_is_asked_is_wired_for_every_choice(tmp_path: Path, sqlite_worlds: Worlds) -> None:
    """A2, A6: a missing, incomplete or native provider asks nobody; building it contacts nobody."""
    async with sqlite_worlds.open(tmp_path / "world") as world:
        effect = await world.proposed(await world.task())
        for chosen in (settings(tmp_path), settings(tmp_path, authorization_provider="corporate"), oidc(tmp_path)):
            asker = outside(chosen, world.database)
            assert await asker.ask(effect.effect_id, Scope("local", "personal")) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"authorization_provider": "oidc"},
        {"authorization_provider": "oidc", "oidc_issuer": ISSUER},
        {"authorization_provider": "oidc", "oidc_client_id": CLIENT},
        {"oidc_issuer": "http://issuer.example"},
        {"oidc_issuer": "https://issuer.example?x=1"},
        {"oidc_issuer": "https://issuer.example/#x"},
        {"oidc_issuer": "https://alice:secret@issuer.example"},
        {"oidc_issuer": "https://issuer.exam\nple"},
        {"oidc_issuer": "https://"},
        {"oidc_issuer": "http://localhost.example"},
        {"oidc_issuer": "http://127.0.0.1.example"},
        {"oidc_issuer": "file:///etc/passwd"},
        {"authorization_provider": "Not a name"},
    ],
    ids=str,
)
def test_a_wrong_configuration_is_told_at_the_start(tmp_path: Path, fields: dict[str, str]) -> None:
    """A8, O3: https is required but on loopback, and an issuer's address has nothing that does not belong there."""
    with pytest.raises(ValueError, match=r"must|characters"):
        Settings(home=tmp_path, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address", ["https://issuer.example", "http://127.0.0.1:8080/a", "http://localhost:1", "http://[::1]:1/"]
)
def test_an_issuer_on_loopback_may_do_without_tls(tmp_path: Path, address: str) -> None:
    """A8: as the tests' own does."""
    assert Settings(home=tmp_path, oidc_issuer=address).oidc_issuer == address


def test_the_client_secret_is_write_only(tmp_path: Path) -> None:
    """P15: what is shown of the settings says that there is one."""
    host = oidc(tmp_path, oidc_client_secret="planted-secret")
    assert public_view(host)["oidc_client_secret"] == {"configured": True}
    assert "planted-secret" not in f"{public_view(host)}{host!r}"
