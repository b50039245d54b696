"""The worker's process: connect, serve the shared queue and this machine's files, until told to stop (O14, H16)."""

import asyncio
import signal
import socket
from contextlib import AsyncExitStack

import structlog

from runtime.assembly import Parts, files_worker, open_parts, shared_worker
from runtime.folders import prepare_folders
from runtime.settings import Settings
from runtime.temporal_client import connect_within
from runtime.temporal_namespace import ensure_namespace
from store import schema, workers
from store.database import Database, Scope
from store.outage import AWAY

HEARD_EVERY_S = 5.0
TEMPORAL_WAIT_S = 3600.0

log = structlog.get_logger(__name__)


async def run_worker(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT, then let running activities end or give them back (H16).

    Raises:
        Refused: `orchestrator_unavailable` when Temporal does not answer within an hour.
        ConfigurationError: a model setting is wrong (O3).
    """
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    prepare_folders(settings)
    async with open_parts(settings) as parts:
        await schema.prepare(parts.database)
        await asyncio.to_thread(parts.files.sweep_temporary)
        serving = asyncio.create_task(_serve(settings, parts))
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not serving.done():
            serving.cancel()
        try:
            await serving
        except asyncio.CancelledError:
            log.info("worker_stopped")


async def _serve(settings: Settings, parts: Parts) -> None:
    client = await connect_within(settings, TEMPORAL_WAIT_S)
    await ensure_namespace(client, settings)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(shared_worker(client, parts))
        await stack.enter_async_context(files_worker(client, parts))
        log.info("worker_ready")
        await be_heard(parts.database, Scope(settings.user_space, settings.product_domain))


async def be_heard(database: Database, scope: Scope) -> None:
    """Note every 5 s that this worker is alive, for ever; no outage of the database ends it (O10)."""
    name = f"{socket.gethostname()}:{scope.user_space}:{scope.domain}"
    while True:
        try:
            async with database.write(scope) as tx:
                await workers.heard(tx, name, "steward")
        except AWAY as error:
            # A full disk or a long lock passes; what runs here, an effect among it, must not end for a missed beat.
            log.warning("worker_unheard", error=type(error.orig).__name__)
        await asyncio.sleep(HEARD_EVERY_S)
