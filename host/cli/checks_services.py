"""Checks of what answers over the network: Temporal with its namespace, and the host (O5, O9)."""

import asyncio
from datetime import timedelta
from typing import Final

import httpx
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from contracts.search_attributes import ALL_KEYS
from domain.refusal import Refused
from host.cli.failures import Unreachable
from host.cli.finding import Finding
from host.cli.place import host_address
from host.cli.rpc_client import connected
from runtime.settings import Settings
from runtime.temporal_client import connect

LIMIT_S: Final = 5.0
START: Final = "Start it by `steward up`."


async def check_temporal(settings: Settings) -> list[Finding]:
    """Whether Temporal answers, knows the search attributes, and keeps finished work long enough (O9)."""
    address = settings.effective_temporal_address
    try:
        async with asyncio.timeout(LIMIT_S):
            client = await connect(settings)
        return [await _namespace(client, settings)]
    except (Refused, TimeoutError):
        mend = START if settings.embedded_temporal else "See STEWARD_TEMPORAL_ADDRESS and TEMPORAL_* for TLS and keys."
        return [Finding("Temporal", "failed", f"no answer at {address}", mend)]
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            words = f"it has no namespace {settings.temporal_namespace!r}"
            return [Finding("Temporal", "failed", words, "Set STEWARD_TEMPORAL_NAMESPACE, or create the namespace.")]
        return [Finding("Temporal", "failed", f"it refuses to be asked ({error.status.name})", "Look at its log.")]


async def _namespace(client: Client, settings: Settings) -> Finding:
    address = settings.effective_temporal_address
    request = DescribeNamespaceRequest(namespace=client.namespace)
    described = await client.workflow_service.describe_namespace(request)
    retention = described.config.workflow_execution_retention_ttl.ToTimedelta()
    listing = ListSearchAttributesRequest(namespace=client.namespace)
    known = await client.operator_service.list_search_attributes(listing)
    missing = [key.name for key in ALL_KEYS if key.name not in known.custom_attributes]
    if missing:
        words = f"search attributes are missing: {', '.join(missing)}"
        return Finding("Temporal", "warning", words, "A worker registers them when it may; else its operator must.")
    if retention < timedelta(days=settings.temporal_retention_days):
        words = f"finished work is kept for {retention.days} days, {settings.temporal_retention_days} are wanted"
        return Finding("Temporal", "warning", words, "See STEWARD_TEMPORAL_RETENTION_DAYS; its operator may set it.")
    words = f"answers at {address}; namespace {client.namespace!r} keeps finished work for {retention.days} days"
    return Finding("Temporal", "ok", words)


async def check_host(settings: Settings) -> list[Finding]:
    """Whether the host answers, is ready, knows this owner, and is bound as these settings say (H1)."""
    address = host_address(settings)
    try:
        async with httpx.AsyncClient(timeout=LIMIT_S, trust_env=False) as client:
            ready = await client.get(f"http://{address}/readyz")
        checks = ready.json()["checks"]
    except httpx.TransportError:
        return [Finding("host", "failed", f"no answer at {address}", START)]
    except (ValueError, KeyError):
        return [Finding("host", "failed", f"what answers at {address} is no host of Steward", "Set STEWARD_PORT.")]
    failing = [name for name, state in checks.items() if state != "ok"]
    try:
        async with connected(settings) as host:
            profile = host.session["composition"]["profile"]
    except (Unreachable, Refused) as error:
        return [Finding("host", "failed", str(error), "Check STEWARD_HOME and the binding.")]
    if failing:
        return [Finding("host", "failed", f"not ready: {', '.join(failing)}", "It serves and accepts; see above.")]
    if profile is None:
        words = "ready, but it has no composition: agents.* is not available"
        return [Finding("host", "warning", words, "Start it with --composition-profile personal, as `make run` does.")]
    return [Finding("host", "ok", f"ready at {address}, composition {profile}")]
