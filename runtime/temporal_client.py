"""One way to a Temporal client for every process (O14).

The embedded server is reached in plain text on loopback. An external one takes TLS, API key and metadata from
Temporal's own environment configuration, with the address and namespace of the settings on top.
"""

import asyncio
import time
from typing import Any

import structlog
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.runtime import Runtime
from temporalio.service import RPCError

from domain.refusal import Refused, refuse
from runtime.data_converter import DATA_CONVERTER
from runtime.settings import Settings

RETRY_S = 0.2
log = structlog.get_logger()


async def connect(settings: Settings, *, lazy: bool = False, runtime: Runtime | None = None) -> Client:
    """Return a client of the settings' Temporal server.

    Args:
        settings: Address, namespace, and whether the server is the embedded one.
        lazy: Connect at the first call instead of now; such a client cannot serve a worker before it has connected.
        runtime: The SDK runtime with the process's telemetry; the default one when None.

    Raises:
        Refused: `orchestrator_unavailable`, when the server cannot be reached or refuses the connection.
    """
    arguments = connection_arguments(settings)
    try:
        return await Client.connect(**arguments, data_converter=DATA_CONVERTER, lazy=lazy, runtime=runtime)
    except (RuntimeError, RPCError, ValueError) as error:
        log.debug("temporal_connection_failed", error=type(error).__name__)
        raise unreachable(settings) from None


async def connect_within(settings: Settings, within_s: float, runtime: Runtime | None = None) -> Client:
    """Return a connected client, trying until it succeeds or the time is over.

    Raises:
        Refused: `orchestrator_unavailable`, when the server did not answer within `within_s` seconds.
    """
    deadline = time.monotonic() + within_s
    while True:
        try:
            return await connect(settings, runtime=runtime)
        except Refused:
            if time.monotonic() >= deadline:
                raise
            await asyncio.sleep(RETRY_S)


def connection_arguments(settings: Settings) -> dict[str, Any]:
    """Return the keyword arguments of `Client.connect` that name and secure the connection."""
    if settings.embedded_temporal:
        return {
            "target_host": settings.effective_temporal_address,
            "namespace": settings.temporal_namespace,
            "tls": False,
        }
    try:
        arguments: dict[str, Any] = dict(ClientConfig.load_client_connect_config())
    except (RuntimeError, ValueError, OSError):
        raise refuse(
            "invalid_params", "Temporal's own environment configuration (TEMPORAL_*) cannot be read."
        ) from None
    arguments["target_host"] = settings.effective_temporal_address
    if "temporal_namespace" in settings.model_fields_set or "namespace" not in arguments:
        arguments["namespace"] = settings.temporal_namespace
    return arguments


def unreachable(settings: Settings) -> Refused:
    """Return the refusal of a server that does not answer, with the setting that names it."""
    setting = "STEWARD_TEMPORAL_PORT" if settings.embedded_temporal else "STEWARD_TEMPORAL_ADDRESS"
    return refuse("orchestrator_unavailable", f"The Temporal server does not answer; see {setting}.", setting=setting)
