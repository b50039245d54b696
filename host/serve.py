"""Runs one host from its lock to its orderly end (H4, H10, H16).

The order is the point: nothing private is written before the isolation is settled (H3) and the lock is held; clients
come in when everything is ready; on the way out they go first, the in-process worker after them, the lock last.
"""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog
import uvicorn
from temporalio.client import Client
from temporalio.service import RPCError
from typing_extensions import override

from domain.refusal import Refused, refuse
from host.app import create_app
from host.attention_observers import AttentionObservers
from host.automation_care import AutomationCare, remove_orphaned_schedules
from host.broadcaster import Broadcaster
from host.composition import compose
from host.housekeeping import keep_house
from host.legacy_start import require_migrated
from host.live_replies import LiveReplies
from host.notices import Notices
from host.owner_credential import OwnerCredential
from host.pulse import Pulse
from host.relay import Relay
from host.services import Services
from host.temporal_link import TemporalLink
from runtime import authorization
from runtime.assembly import (
    Parts,
    firing_rules,
    host_worker,
    open_parts,
    orphan_remover,
    schedule_syncer,
    turn_beginner,
)
from runtime.folders import prepare_folders
from runtime.instance_lock import exclusive_lock
from runtime.isolation import UserHostIsolationVerifier, check_isolation
from runtime.product_version import product_version
from runtime.settings import Settings
from runtime.temporal_client import connect
from runtime.temporal_namespace import ensure_namespace
from store import schema
from store.commit_watch import CommitWatch
from store.database import Scope
from store.identity import create_login_link
from store.recovery import recover
from store.spaces import open_space

MAX_RECEIVED_BYTES: Final = 4 * 1024 * 1024
"""What the transport reads of one frame before it gives up by itself; the limit of H12 is checked on the whole frame,
so that a client that is over it is told so by an orderly close."""
DRAIN_S: Final = 1
WORKER_STOP_S: Final = 2.5
WORKER_RETRY_S: Final = 2.0
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class RunningHost:
    """A host that is ready for clients, and the means of its background work."""

    services: Services
    parts: Parts


async def run_host(
    settings: Settings,
    *,
    print_link: Callable[[str], None] | None = None,
    verifier: UserHostIsolationVerifier | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, then end in order.

    Args:
        settings: Of this instance.
        print_link: Told a line with a one-time link as soon as clients are served.
        verifier: Trusted code that can show the isolation of this process (H3).

    Raises:
        Refused: Before anything is served: `user_host_isolation_required`, `host_locked`, `main_session_missing`,
            `personal_review_legacy_migration_required`.
        ConfigurationError: A model setting is wrong (O3).
    """
    isolation = check_isolation(settings, verifier)
    prepare_folders(settings)
    with exclusive_lock(settings.state_dir / "host.lock", "Another host serves this user space and product domain."):
        async with open_host(settings, isolation) as host:
            server = HostServer(host.services)
            with listen(settings) as listener:
                async with _signals(server.stop), background(host):
                    if print_link is not None:
                        print_link(f"Open {await login_address(host.services)}")
                    await server.serve([listener])
    log.info("host_stopped")


@asynccontextmanager
async def open_host(settings: Settings, isolation: dict[str, str]) -> AsyncIterator[RunningHost]:
    """Everything a host is made of, ready before the first client connects (H10); nothing runs yet."""
    async with open_parts(settings) as parts:
        await schema.prepare(parts.database)
        await require_migrated(settings, parts.database)
        scope = Scope(settings.user_space, settings.product_domain)
        composition = compose(settings.composition_profile, settings.product_domain)
        async with parts.database.write(scope) as tx:
            space = await open_space(tx, composition.record)
            await recover(tx)
        broadcaster = Broadcaster()
        services = Services(
            settings=settings,
            scope=scope,
            database=parts.database,
            managed_files=parts.managed,
            broadcaster=broadcaster,
            live_replies=LiveReplies(broadcaster.publish_reply),
            pulse=Pulse(),
            temporal=TemporalLink(settings, partial(connect, settings)),
            credential=OwnerCredential(settings.state_dir),
            composition=replace(composition, generation=space.graph_generation),
            isolation=isolation,
            main_session_id=space.main_session_id,
            version=product_version(),
            clock=parts.database.clock,
            authority=parts.authority,
            issuer=partial(authorization.admit, settings),
            files_root=parts.files.root,
            secrets=parts.secrets,
            observers=AttentionObservers(parts.database, scope),
        )
        yield RunningHost(services, parts)


async def login_address(services: Services) -> str:
    """The address of a new one-time link (H19)."""
    async with services.database.write(services.scope) as tx:
        token = await create_login_link(tx)
    settings = services.settings
    name = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{'127.0.0.1' if name in ('0.0.0.0', '[::]') else name}:{settings.port}/login?token={token}"


@asynccontextmanager
async def background(host: RunningHost) -> AsyncIterator[None]:
    """Run relay, notices, housekeeping and the in-process worker beside the server; end them after it (H16)."""
    services = host.services
    database, scope, pulse = services.database, services.scope, services.pulse
    notices = Notices(database, scope, pulse, services.broadcaster, services.live_replies, services.observers)
    relay = Relay(
        database,
        scope,
        pulse,
        services.temporal,
        services.settings.max_open_tasks,
        turn_beginner(host.parts),
        schedule_syncer(host.parts),
    )
    await notices.begin()
    work = [
        pulse.run(CommitWatch(database)),
        notices.run(),
        relay.run(),
        keep_house(database, scope, services.managed_files),
        AutomationCare(database, scope, firing_rules(services.settings)).run(),
        remove_orphaned_schedules(services.temporal, orphan_remover(host.parts)),
        _serve_temporal(host),
    ]
    tasks = [asyncio.create_task(part) for part in work]
    for task in tasks:
        task.add_done_callback(_say_why)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks, timeout=WORKER_STOP_S + 1)


async def _serve_temporal(host: RunningHost) -> None:
    """Connect when Temporal is there, and serve this host's queue until cancelled; a broken worker is made anew."""
    client = await host.services.temporal.run()
    while True:
        try:
            await ensure_namespace(client, host.services.settings)
            await _run_worker(client, host)
        except (RPCError, RuntimeError, Refused) as error:
            log.warning("host_worker_failed", error=type(error).__name__)
        await asyncio.sleep(WORKER_RETRY_S)


async def _run_worker(client: Client, host: RunningHost) -> None:
    worker = host_worker(client, host.parts, host.services.live_replies)
    running = asyncio.create_task(worker.run())
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        with suppress(TimeoutError):
            async with asyncio.timeout(WORKER_STOP_S):
                await worker.shutdown()
        raise
    finally:
        if not running.done():
            running.cancel()


def _say_why(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("background_work_ended", error=type(error).__name__)


class HostServer(uvicorn.Server):
    """uvicorn for one host, without its own signal handling: the order of ending is the host's."""

    def __init__(self, services: Services) -> None:
        super().__init__(_uvicorn_config(services))
        self._services = services

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    def stop(self) -> None:
        """Close the clients' connections, stop accepting, drain (H16)."""
        self.should_exit = True
        self._services.broadcaster.close_all()


def _uvicorn_config(services: Services) -> uvicorn.Config:
    return uvicorn.Config(
        create_app(services),
        log_config=None,
        access_log=False,  # a line would hold the query, and with it one-time tokens (I9)
        server_header=False,
        proxy_headers=False,  # what a proxy claims about the peer decides nothing here (P14)
        lifespan="off",
        ws="websockets-sansio",
        ws_max_size=MAX_RECEIVED_BYTES,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=DRAIN_S,
    )


def listen(settings: Settings) -> socket.socket:
    """The listening socket of a host; connections wait in it from now on.

    Raises:
        Refused: `invalid_params` when the address or port cannot be used.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=256)
    except OSError as error:
        words = f"STEWARD_HOST, STEWARD_PORT: {settings.host}:{settings.port} cannot be used ({error.strerror})."
        raise refuse("invalid_params", words, setting="port") from None


@asynccontextmanager
async def _signals(stop: Callable[[], None]) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
