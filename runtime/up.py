"""`steward up`: checks everything that can be wrong before it starts anything, then supervises (O22, H3, H16).

The stop limits of the children add up to less than the 15 s within which the whole must have ended.
"""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import structlog

from domain.refusal import refuse
from runtime.embedded_temporal import is_listening, server_command
from runtime.exit_codes import SUPERVISED
from runtime.folders import prepare_folders
from runtime.instance_lock import exclusive_lock
from runtime.isolation import check_isolation
from runtime.pid_files import PidFiles
from runtime.settings import LOOPBACK, Settings
from runtime.settings_sources import PREFIX, process_environment
from runtime.supervised_child import ChildSpec
from runtime.supervisor import Supervisor

HOST_STOP_S = 5.5
WORKER_STOP_S = 5.0
TEMPORAL_STOP_S = 2.5
ANY_ADDRESS = {"0.0.0.0": LOOPBACK, "::": "::1", "": LOOPBACK}
CHILDREN = ("host", "worker", "temporal")

log = structlog.get_logger()


async def up(settings: Settings, on_ready: Callable[[], Awaitable[None]] | None = None) -> int:
    """Run everything until SIGINT, SIGTERM or SIGHUP, and return the exit code.

    Args:
        settings: Of this instance; the children get the same ones.
        on_ready: Called once, when host, worker and Temporal serve for the first time.

    Raises:
        Refused: Before anything is started: `user_host_isolation_required`, `host_locked`, or `invalid_params` for a
            port in use or a folder that cannot be made.
    """
    check_isolation(settings)
    prepare_folders(settings)
    with exclusive_lock(settings.run_dir / "up.lock", "Steward already runs with this STEWARD_HOME."):
        pid_files = PidFiles(settings.run_dir)
        for name in CHILDREN:
            if await asyncio.to_thread(pid_files.end_leftover, name):
                log.warning("leftover_ended", child=name)
        check_ports(settings)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        numbers = _stop_signals()
        for number in numbers:
            loop.add_signal_handler(number, stop.set)
        try:
            return await Supervisor(child_specs(settings), pid_files).run(stop, on_ready)
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


def _stop_signals() -> tuple[signal.Signals, ...]:
    """SIGINT, SIGTERM, and SIGHUP unless it is ignored, as under nohup."""
    ignored = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *(() if ignored else (signal.SIGHUP,)))


def child_specs(settings: Settings) -> list[ChildSpec]:
    """Return what to run, in the order of starting: Temporal if it is the embedded one, the worker, the host."""
    environment = {**os.environ, **process_environment(settings), SUPERVISED: "1"}
    reachable = ANY_ADDRESS.get(settings.host, settings.host)
    specs = [
        ChildSpec(
            name="worker",
            command=(sys.executable, "-P", "-m", "worker"),
            environment=environment,
            folder=settings.home,
            stop_limit_s=WORKER_STOP_S,
        ),
        ChildSpec(
            name="host",
            command=(str(Path(sys.executable).with_name("steward")), "host"),
            environment=environment,
            folder=settings.home,
            stop_limit_s=HOST_STOP_S,
            is_ready=partial(is_listening, f"{reachable}:{settings.port}"),
        ),
    ]
    if settings.embedded_temporal:
        # The server needs none of our settings, and must not see their secrets.
        foreign = {name: value for name, value in os.environ.items() if not name.startswith((PREFIX, "TEMPORAL_"))}
        temporal = ChildSpec(
            name="temporal",
            command=tuple(server_command(settings)),
            environment=foreign,
            folder=settings.home,
            stop_limit_s=TEMPORAL_STOP_S,
            is_ready=partial(is_listening, settings.effective_temporal_address),
            shows_output=False,
        )
        specs.insert(0, temporal)
    return specs


def check_ports(settings: Settings) -> None:
    """Refuse a port that somebody else listens on, in one line that names the setting to change.

    Raises:
        Refused: `invalid_params`.
    """
    wanted = [("PORT", settings.host, settings.port)]
    if settings.embedded_temporal:
        wanted.append(("TEMPORAL_PORT", LOOPBACK, settings.temporal_port))
        wanted.append(("TEMPORAL_UI_PORT", LOOPBACK, settings.temporal_ui_port))
    for name, host, port in wanted:
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host or LOOPBACK, port, type=socket.SOCK_STREAM)[0]
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
        except socket.gaierror:
            raise refuse("invalid_params", f"{PREFIX}HOST: {host!r} is no address of this machine.") from None
        except OSError as error:
            message = f"{PREFIX}{name}: port {port} cannot be used ({error.strerror}); choose another one."
            raise refuse("invalid_params", message, setting=name.lower()) from None
