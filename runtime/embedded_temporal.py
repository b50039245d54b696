"""The embedded Temporal server: its command line, and how to tell that it listens (O1, O14).

It binds to loopback only, keeps its database in the state folder, and needs no account or network.
"""

import asyncio
from contextlib import suppress

from contracts.search_attributes import ALL_KEYS
from runtime.settings import LOOPBACK, Settings
from runtime.temporal_binary import DATABASE_FLAGS, SERVER_FLAGS, temporal_binary

PROBE_TIMEOUT_S = 1.0


def server_command(settings: Settings) -> list[str]:
    """Return the command that runs the embedded server of these settings.

    Raises:
        Refused: `orchestrator_unavailable`, when the server is not installed.
    """
    attributes = [f"--search-attribute={key.name}=Keyword" for key in ALL_KEYS]
    return [
        str(temporal_binary()),
        "server",
        "start-dev",
        f"--ip={LOOPBACK}",
        f"--port={settings.temporal_port}",
        f"--ui-ip={LOOPBACK}",
        f"--ui-port={settings.temporal_ui_port}",
        "--ui-disable-news-fetch",
        f"--db-filename={settings.temporal_database}",
        f"--namespace={settings.temporal_namespace}",
        "--log-level=error",
        *DATABASE_FLAGS,
        *SERVER_FLAGS,
        *attributes,
    ]


async def is_listening(address: str) -> bool:
    """Tell whether somebody accepts connections at HOST:PORT."""
    host, _, port = address.rpartition(":")
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        return True
    return False
