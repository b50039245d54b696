"""The installation's VAPID key pair: made once, kept as a secret, and what it signs (N9, P15)."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.credential_store import CredentialStore, CredentialsUnavailable, Vault
from adapters.vapid import CONTACT, NAME, TOKEN_AGE, origin, vapid_key
from tests.push_service import from_base64url, verified

ENDPOINT = "https://push.example/wpush/v2/planted-secret"


class Memory:
    """A keyring in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[(service, username)] = password

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[(service, username)]


@pytest.fixture(params=["file", "keyring"])
def vault(request: pytest.FixtureRequest) -> Vault | None:
    return Memory() if request.param == "keyring" else None


def test_the_pair_is_made_once(tmp_path: Path, vault: Vault | None) -> None:
    """P15: subscriptions are bound to it, so every process gets the same one; another installation another."""
    (tmp_path / "other").mkdir()
    first = vapid_key(CredentialStore(tmp_path, vault)).application_server_key()
    assert vapid_key(CredentialStore(tmp_path, vault)).application_server_key() == first
    assert vapid_key(CredentialStore(tmp_path / "other", vault)).application_server_key() != first
    assert CredentialStore(tmp_path, vault).names() == [NAME]


def test_those_who_ask_at_once_get_the_same_pair(tmp_path: Path) -> None:
    """P15: none of them hands a key to a page that another one then replaces."""
    with ThreadPoolExecutor(16) as pool:
        keys = list(pool.map(lambda _: vapid_key(CredentialStore(tmp_path, None)).application_server_key(), range(32)))
    assert len(set(keys)) == 1


def test_a_pair_that_the_keyring_lost_is_made_anew(tmp_path: Path) -> None:
    """P15: devices then subscribe again; there is nothing that could bring the old one back."""
    vault = Memory()
    first = vapid_key(CredentialStore(tmp_path, vault)).application_server_key()
    vault.kept.clear()
    assert vapid_key(CredentialStore(tmp_path, vault)).application_server_key() != first


@pytest.mark.parametrize("kept", ["", "x", "A" * 43, "!" * 43, "A" * 44, "_" * 43])
def test_a_damaged_pair_is_said_and_not_replaced(tmp_path: Path, kept: str) -> None:
    """P15: the text names what is damaged and quotes nothing of it."""
    store = CredentialStore(tmp_path, None)
    store.write(NAME, kept)
    with pytest.raises(CredentialsUnavailable, match="damaged"):
        vapid_key(store)
    assert store.read(NAME) == kept


def test_a_keyring_that_is_not_there_makes_no_second_pair(tmp_path: Path) -> None:
    """P15: a process without the keyring refuses instead."""
    vapid_key(CredentialStore(tmp_path, Memory()))
    with pytest.raises(CredentialsUnavailable, match="keyring"):
        vapid_key(CredentialStore(tmp_path, None))


def test_the_public_key_is_what_a_page_subscribes_with(tmp_path: Path) -> None:
    """RFC 8292, section 3.2: an uncompressed point, base64url without padding."""
    key = vapid_key(CredentialStore(tmp_path, None)).application_server_key()
    point = from_base64url(key)
    assert (len(point), point[:1], len(key)) == (65, b"\x04", 87)


def test_a_token_is_for_one_service_and_a_bounded_time(tmp_path: Path) -> None:
    """RFC 8292, section 2: audience, at most a day, a contact that Apple's service takes; signed by the pair."""
    store = CredentialStore(tmp_path, None)
    key = vapid_key(store)
    now = datetime.now(UTC)
    claims, sender = verified(key.authorization(ENDPOINT, now), "https://push.example")
    assert claims == {"aud": "https://push.example", "exp": int((now + TOKEN_AGE).timestamp()), "sub": CONTACT}
    assert sender == key.application_server_key()
    assert not CONTACT.endswith(("localhost", ".local", ".invalid"))
    for secret in (store.read(NAME), "planted-secret"):
        assert secret is not None
        assert secret not in f"{key!r} {key} {key.authorization(ENDPOINT, now)}"


@pytest.mark.parametrize("wrong", ["audience", "signature", "expired", "too long"])
def test_the_tests_service_refuses_other_tokens(tmp_path: Path, wrong: str) -> None:
    """RFC 8292: the check above can fail."""
    now = datetime.now(UTC) + {"expired": timedelta(hours=-13), "too long": timedelta(hours=13)}.get(wrong, timedelta())
    header = vapid_key(CredentialStore(tmp_path, None)).authorization(ENDPOINT, now)
    if wrong == "signature":
        (tmp_path / "other").mkdir()
        other = vapid_key(CredentialStore(tmp_path / "other", None)).application_server_key()
        header = f"{header.partition(', k=')[0]}, k={other}"
    with pytest.raises(Exception, match=r"token|signature"):
        verified(header, "https://other.example" if wrong == "audience" else "https://push.example")


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        ("https://push.example/x?y", "https://push.example"),
        ("https://push.example:443/x", "https://push.example"),
        ("https://Push.Example:8443/x", "https://push.example:8443"),
        ("http://127.0.0.1:80/x", "http://127.0.0.1"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        ("https://[2606:4700::1111]:8443/x", "https://[2606:4700::1111]:8443"),
    ],
)
def test_the_audience_is_the_endpoints_origin(endpoint: str, expected: str) -> None:
    """RFC 8292, section 2, and RFC 6454: without path, query and default port."""
    assert origin(endpoint) == expected
