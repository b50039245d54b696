"""Channels of the settings (N9, P15): their addresses go to the credential store, and nothing of them comes back."""

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog

from adapters.apprise_channel import check_url, masked
from adapters.credential_store import CredentialsUnavailable
from domain.refusal import refuse
from domain.user_settings import NewChannel, SettingChanges
from host.services import Services

Added = tuple[str, str, str]
log = structlog.get_logger()


async def keep_new_channels(services: Services, changes: SettingChanges) -> list[Added]:
    """Check and keep the addresses of new channels before their rows are written; id, kind and shown form of each.

    A row without its address would be a channel that can never send, so the address comes first; whoever does not
    write the row forgets it again.

    Raises:
        Refused: `invalid_params` for an address that cannot be used; `service_not_available` where none can be kept.
    """
    new = [channel for channel in changes.channels if isinstance(channel, NewChannel)]
    for channel in new:
        await asyncio.to_thread(check_url, channel.url)
    added: list[Added] = []
    for channel in new:
        channel_id = services.database.ids("channel")
        try:
            await services.secrets.keep(channel_id, channel.url)
        except CredentialsUnavailable as error:
            await forget_channels(services, [kept for kept, _, _ in added])
            raise refuse("service_not_available", f"The channel cannot be kept. {error}") from None
        added.append((channel_id, channel.kind, masked(channel.url)))
    return added


async def forget_channels(services: Services, channel_ids: Sequence[str]) -> None:
    """Forget addresses; one that cannot be reached now is useless without its row, and is left."""
    for channel_id in channel_ids:
        try:
            await services.secrets.forget(channel_id)
        except CredentialsUnavailable:
            log.warning("channel_address_left", channel_id=channel_id)


async def push_view(services: Services) -> dict[str, Any]:
    """What a page needs to subscribe to pushes; null where the installation has no key that can be read."""
    try:
        key = await services.secrets.push_key()
    except CredentialsUnavailable as error:
        log.warning("push_key_unavailable", error=type(error).__name__)
        return {"application_server_key": None}
    return {"application_server_key": await asyncio.to_thread(key.application_server_key)}
