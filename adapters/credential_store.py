"""Secrets of this instance (P15): in the system's keyring where there is one, else in a file of mode 0600.

The hard thing is that host, worker and command line see different keyrings (a service has no desktop session), and
that a keyring cannot be listed: a small index, in the same file, says what is kept and where.
"""

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

FILE_NAME: Final = "credentials.json"
LOCK_NAME: Final = "credentials.lock"
LARGEST_BYTES: Final = 1024 * 1024
SERVICE: Final = "steward"
PRIVATE: Final = 0o600


class CredentialsUnavailable(Exception):
    """The keyring or the file cannot be used now; the text says what to do and names no secret."""


class Vault(Protocol):
    """The part of a `keyring` backend that is used here; its methods may block and raise anything."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return a secret."""

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a secret."""

    def delete_password(self, service: str, username: str) -> None:
        """Forget a secret."""


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    kept_in: Literal["keyring", "file"]
    secret: str | None = None


class _Index(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    entries: dict[str, _Entry] = {}


def system_keyring() -> Vault | None:
    """Return the system's keyring, None where the `keyring` library finds none that it recommends."""
    import keyring
    from keyring.core import recommended

    backend = keyring.get_keyring()
    return backend if recommended(backend) else None


class CredentialStore:
    """Keeps secrets by name; every method blocks, for a keyring possibly until a person unlocks it."""

    def __init__(self, folder: Path, vault: Vault | None) -> None:
        """Use a private folder that exists, and a keyring, or None to keep the secrets in the folder's file."""
        self._file = folder / FILE_NAME
        self._lock = folder / LOCK_NAME
        self._vault = vault
        # The keyring is the person's, and may serve several instances.
        self._instance = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]

    def names(self) -> list[str]:
        """The names of what is kept, sorted.

        Raises:
            CredentialsUnavailable: the file cannot be read.
        """
        return sorted(self._read().entries)

    def read(self, name: str) -> str | None:
        """Return a secret, None when there is none of this name.

        Raises:
            CredentialsUnavailable: it is there but cannot be read from here.
        """
        entry = self._read().entries.get(name)
        if entry is None or entry.kept_in == "file":
            return entry.secret if entry is not None else None
        with _keyring_errors():
            return self._keyring().get_password(SERVICE, self._username(name))

    def write(self, name: str, secret: str) -> None:
        """Keep a secret under a name, in place of an earlier one.

        Raises:
            CredentialsUnavailable: it cannot be kept; an earlier one may be lost.
        """
        with self._locked():
            self._keep(name, secret)

    def read_or_make(self, name: str, make: Callable[[], str]) -> str:
        """Return a secret that is made when there is none: of processes that ask at once, all get the same one.

        Raises:
            CredentialsUnavailable: it is there but cannot be read from here, or a new one cannot be kept.
        """
        with self._locked():
            kept = self.read(name)
            if kept is not None:
                return kept
            secret = make()
            self._keep(name, secret)
            return secret

    def remove(self, name: str) -> bool:
        """Forget a secret; whether there was one. From then on it is not found, whatever the keyring does.

        Raises:
            CredentialsUnavailable: the file cannot be written, or the keyring still holds the secret.
        """
        with self._locked():
            entries = dict(self._read().entries)
            entry = entries.pop(name, None)
            if entry is None:
                return False
            self._replace(_Index(entries=entries))
            if entry.kept_in == "keyring":
                with _keyring_errors():
                    self._keyring().delete_password(SERVICE, self._username(name))
            return True

    def _keep(self, name: str, secret: str) -> None:
        entries = dict(self._read().entries)
        if self._vault is None:
            entries[name] = _Entry(kept_in="file", secret=secret)
        else:
            with _keyring_errors():
                self._vault.set_password(SERVICE, self._username(name), secret)
            entries[name] = _Entry(kept_in="keyring")
        self._replace(_Index(entries=entries))

    def _keyring(self) -> Vault:
        if self._vault is None:
            raise CredentialsUnavailable(
                "A credential is in the system's keyring, which this process cannot use. Start Steward in the session "
                "that has the keyring, or sign in again from where it runs."
            )
        return self._vault

    def _username(self, name: str) -> str:
        return f"{self._instance}:{name}"

    def _read(self) -> _Index:
        try:
            descriptor = os.open(self._file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return _Index()
        except OSError:
            raise CredentialsUnavailable(f"{FILE_NAME} in the state folder cannot be read.") from None
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if facts.st_uid != os.geteuid():
                raise CredentialsUnavailable(f"{FILE_NAME} in the state folder belongs to another user.")
            if facts.st_mode & 0o077:
                os.fchmod(descriptor, PRIVATE)
            content = file.read(LARGEST_BYTES + 1)
        try:
            return _Index.model_validate_json(content)
        except ValidationError:
            words = f"{FILE_NAME} in the state folder is damaged. Delete it and sign in again."
            raise CredentialsUnavailable(words) from None

    def _replace(self, index: _Index) -> None:
        content = json.dumps(index.model_dump(exclude_none=True), ensure_ascii=True).encode("ascii")
        if len(content) > LARGEST_BYTES:
            raise CredentialsUnavailable(f"{FILE_NAME} would be larger than {LARGEST_BYTES} bytes.")
        try:
            # mkstemp makes it for this user alone from the beginning.
            descriptor, temporary = tempfile.mkstemp(prefix=f".{FILE_NAME}.", dir=self._file.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(descriptor)
                os.replace(temporary, self._file)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
            _sync_folder(self._file.parent)
        except OSError:
            raise CredentialsUnavailable(f"{FILE_NAME} in the state folder cannot be written.") from None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self._lock, flags, PRIVATE)
        except OSError:
            raise CredentialsUnavailable("The state folder cannot be written.") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


@contextmanager
def _keyring_errors() -> Iterator[None]:
    try:
        yield
    except CredentialsUnavailable:
        raise
    except Exception:
        # Backends raise what their system raises: KeyringError, D-Bus errors, RuntimeError.
        raise CredentialsUnavailable(
            "The system's keyring refused. Unlock it, or set "
            "PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring to keep secrets in a private file."
        ) from None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
