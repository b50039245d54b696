"""The owner's bearer credential: a file that only the owner can read, made at the first start (H19, O22)."""

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Final

from domain.refusal import refuse

FILE_NAME: Final = "owner.token"
_LEAST_CHARACTERS: Final = 32


class OwnerCredential:
    """Compares tokens with the file in constant time; a rotated file counts at once, without a restart."""

    def __init__(self, state_dir: Path) -> None:
        """Read the credential, or make it.

        Raises:
            Refused: `invalid_params` when the file is there but holds no usable token.
        """
        self._path = state_dir / FILE_NAME
        self._stamp: tuple[int, int, int] | None = None
        self._digest = b""
        if not self._path.exists():
            _create(self._path)
        self._path.chmod(0o600)
        if not self._reread():
            words = f"{FILE_NAME} holds no credential. Delete it and start again to get a new one."
            raise refuse("invalid_params", words)

    @property
    def digest(self) -> str:
        """SHA-256 of the present token, in hexadecimal: browser sessions depend on it."""
        self._reread()
        return self._digest.hex()

    def matches(self, token: str) -> bool:
        """Whether this is the present token."""
        known = self._reread()
        given = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        return hmac.compare_digest(given, self._digest) and known

    def still(self, digest: str) -> bool:
        """Whether the present token is the one with this digest."""
        return hmac.compare_digest(self.digest, digest)

    def _reread(self) -> bool:
        try:
            facts = self._path.stat()
            stamp = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
            if stamp != self._stamp:
                token = self._path.read_text("utf-8").strip()
                self._stamp = stamp
                self._digest = hashlib.sha256(token.encode()).digest() if len(token) >= _LEAST_CHARACTERS else b""
        except (OSError, ValueError):
            self._stamp, self._digest = None, b""
        return bool(self._digest)


def _create(path: Path) -> None:
    """Write a new token so that the file is never seen empty or readable by others."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, secrets.token_urlsafe(32).encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    temporary.replace(path)
