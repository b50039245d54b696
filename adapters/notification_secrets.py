"""The secrets of notifications (N9, P15): the installation's push key, and the addresses of configured channels.

A credential store blocks, for a keyring possibly until a person unlocks it, so every question to it runs in a thread,
and the push key, which every push needs and nothing changes, is asked for once.
"""

import asyncio
from collections.abc import Callable

from adapters.credential_store import CredentialStore
from adapters.vapid import VapidKey, vapid_key


class NotificationSecrets:
    """Reads and keeps them; every method may raise `CredentialsUnavailable`."""

    def __init__(self, open_store: Callable[[], CredentialStore]) -> None:
        """Use a store that is opened when it is first asked: finding the system's keyring costs time."""
        self._open_store = open_store
        self._key: VapidKey | None = None

    async def push_key(self) -> VapidKey:
        """The key by which push services know this installation; made by the first call ever."""
        if self._key is None:
            self._key = await asyncio.to_thread(lambda: vapid_key(self._open_store()))
        return self._key

    async def address(self, channel_id: str) -> str | None:
        """A channel's address, None when it was forgotten."""
        return await asyncio.to_thread(lambda: self._open_store().read(_name(channel_id)))

    async def keep(self, channel_id: str, address: str) -> None:
        """Keep a channel's address."""
        await asyncio.to_thread(lambda: self._open_store().write(_name(channel_id), address))

    async def forget(self, channel_id: str) -> None:
        """Forget a channel's address."""
        await asyncio.to_thread(lambda: self._open_store().remove(_name(channel_id)))


def _name(channel_id: str) -> str:
    return f"channel:{channel_id}"
