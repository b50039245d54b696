"""Secrets at rest (P15): the keyring where there is one, else a private file; never half of one, never another's."""

import json
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import keyring
import pytest
from keyring.backends import fail, null
from keyring.errors import KeyringLocked

from adapters.credential_store import (
    FILE_NAME,
    LARGEST_BYTES,
    CredentialStore,
    CredentialsUnavailable,
    Vault,
    system_keyring,
)

SECRET = "planted-secret"


class Memory:
    """A keyring in memory. A subclass of the library's class would be offered to every later user of the library."""

    priority = 5

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        self._check()
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self._check()
        self.kept[(service, username)] = password

    def delete_password(self, service: str, username: str) -> None:
        self._check()
        del self.kept[(service, username)]

    def _check(self) -> None:
        if self.locked:
            raise KeyringLocked(f"the text of a backend with {SECRET}")


@pytest.fixture(params=["file", "keyring"])
def vault(request: pytest.FixtureRequest) -> Vault | None:
    return Memory() if request.param == "keyring" else None


def test_a_secret_is_kept_replaced_and_forgotten(tmp_path: Path, vault: Vault | None) -> None:
    """P15: by its name, in either place, for every process that opens the store."""
    store = CredentialStore(tmp_path, vault)
    assert (store.names(), store.read("a")) == ([], None)
    store.write("a", "first")
    store.write("b", "other")
    store.write("a", SECRET)
    again = CredentialStore(tmp_path, vault)
    assert (again.names(), again.read("a"), again.read("b")) == (["a", "b"], SECRET, "other")
    assert again.remove("a")
    assert (store.names(), store.read("a"), store.remove("a")) == (["b"], None, False)


def test_a_keyring_keeps_the_secret_out_of_the_file(tmp_path: Path) -> None:
    """P15: the file then names what is kept, and no secret."""
    vault = Memory()
    CredentialStore(tmp_path, vault).write("a", SECRET)
    assert all(SECRET.encode() not in path.read_bytes() for path in tmp_path.iterdir())
    assert list(vault.kept.values()) == [SECRET]
    CredentialStore(tmp_path, vault).remove("a")
    assert vault.kept == {}


def test_instances_of_one_person_do_not_share_secrets(tmp_path: Path) -> None:
    """H4, P15: one keyring serves several instances."""
    vault = Memory()
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
        CredentialStore(folder, vault).write("a", folder.name)
    assert [CredentialStore(folder, vault).read("a") for folder in (first, second)] == ["first", "second"]


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_the_file_is_private_and_whole(tmp_path: Path, umask: int) -> None:
    """P15: mode 0600 whatever the umask, also when it was opened to others; nothing else is left in the folder."""
    before = os.umask(umask)
    try:
        store = CredentialStore(tmp_path, None)
        store.write("a", SECRET)
    finally:
        os.umask(before)
    file = tmp_path / FILE_NAME
    assert {path.name: stat.S_IMODE(path.stat().st_mode) & 0o077 for path in tmp_path.iterdir()} == {
        FILE_NAME: 0, "credentials.lock": 0,
    }  # fmt: skip
    file.chmod(0o644)
    assert store.read("a") == SECRET
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_writers_lose_nothing_of_each_other(tmp_path: Path) -> None:
    """P15: each write reads what is there under a lock."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: CredentialStore(tmp_path, None).write(str(number), SECRET), range(40)))
    assert len(CredentialStore(tmp_path, None).names()) == 40


def test_a_failed_write_keeps_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P15: the file is replaced at once or not at all."""
    store = CredentialStore(tmp_path, None)
    store.write("a", SECRET)

    def full(_descriptor: int) -> None:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(CredentialsUnavailable):
            store.write("b", "x")
    assert (store.names(), store.read("a")) == (["a"], SECRET)
    assert sorted(path.name for path in tmp_path.iterdir()) == [FILE_NAME, "credentials.lock"]
    with pytest.raises(CredentialsUnavailable):
        store.write("large", "x" * LARGEST_BYTES)
    assert store.names() == ["a"]


def test_a_keyring_that_refuses_is_not_got_around(tmp_path: Path) -> None:
    """P15: a locked keyring is told, with what to do; the secret is not put into the file instead."""
    vault = Memory()
    store = CredentialStore(tmp_path, vault)
    store.write("a", "x")
    vault.locked = True
    acts: list[Callable[[], object]] = [lambda: store.read("a"), lambda: store.write("b", SECRET)]
    for act in acts:
        with pytest.raises(CredentialsUnavailable) as caught:
            act()
        assert "PYTHON_KEYRING_BACKEND" in str(caught.value)
        assert SECRET not in str(caught.value)
    assert store.names() == ["a"]
    with pytest.raises(CredentialsUnavailable):
        store.remove("a")
    assert store.names() == [], "what its owner has forgotten is not found any more"


def test_a_secret_in_a_keyring_that_is_not_here_is_not_taken_for_missing(tmp_path: Path) -> None:
    """P15, A6: a service without a desktop session sees that there is one, and cannot read it."""
    CredentialStore(tmp_path, Memory()).write("a", SECRET)
    elsewhere = CredentialStore(tmp_path, None)
    assert elsewhere.names() == ["a"]
    with pytest.raises(CredentialsUnavailable):
        elsewhere.read("a")


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 2}', '{"entries": {"a": {"kept_in": "cloud"}}}'])
def test_a_damaged_file_is_not_taken_for_an_empty_one(tmp_path: Path, content: str) -> None:
    """P15: it is told, and not written over."""
    (tmp_path / FILE_NAME).write_text(content)
    store = CredentialStore(tmp_path, None)
    acts: list[Callable[[], object]] = [store.names, lambda: store.write("a", SECRET)]
    for act in acts:
        with pytest.raises(CredentialsUnavailable):
            act()
    assert (tmp_path / FILE_NAME).read_text() == content


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    """P15: secrets are read from and written to this folder only."""
    target = tmp_path / "target.json"
    target.write_text(json.dumps({"entries": {"a": {"kept_in": "file", "secret": SECRET}}}))
    folder = tmp_path / "state"
    folder.mkdir()
    (folder / FILE_NAME).symlink_to(target)
    with pytest.raises(CredentialsUnavailable):
        CredentialStore(folder, None).read("a")


def test_only_a_real_keyring_counts_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """P15: the library's stand-ins for "none" keep nothing or fail, so the file is used."""
    memory = Memory()
    stand_ins: list[type] = [fail.Keyring, null.Keyring]
    for backend, expected in (*((one(), None) for one in stand_ins), (memory, memory)):
        monkeypatch.setattr(keyring, "get_keyring", lambda backend=backend: backend)
        assert system_keyring() is expected
