"""Makes the namespace fit: registered search attributes and a retention that keeps finished work findable (O9).

Repeating it is harmless. A cluster that does not let us is told in one log line each: its operator registers them.
"""

import asyncio
from collections.abc import Awaitable
from datetime import timedelta

import structlog
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.namespace.v1 import NamespaceConfig
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, UpdateNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from contracts.search_attributes import ALL_KEYS
from domain.refusal import refuse
from runtime.settings import Settings

POLL_S = 0.1
VISIBLE_WITHIN_POLLS = 100
NOT_OURS = frozenset({RPCStatusCode.PERMISSION_DENIED, RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.UNAUTHENTICATED})

log = structlog.get_logger()


async def ensure_namespace(client: Client, settings: Settings) -> None:
    """Register the search attributes and set the retention, whatever of it is still missing.

    Raises:
        Refused: `orchestrator_unavailable`, when the namespace does not exist.
        RPCError: When the server fails otherwise; the caller tries again.
    """
    await _tolerating("search_attributes_not_registered", _ensure_attributes(client))
    await _tolerating("retention_not_set", _ensure_retention(client, timedelta(days=settings.temporal_retention_days)))


async def _tolerating(event: str, step: Awaitable[None]) -> None:
    try:
        await step
    except RPCError as error:
        if error.status == RPCStatusCode.NOT_FOUND:
            raise refuse(
                "orchestrator_unavailable",
                "STEWARD_TEMPORAL_NAMESPACE: the Temporal server has no such namespace.",
                setting="temporal_namespace",
            ) from None
        if error.status not in NOT_OURS:
            raise
        log.warning(event, status=error.status.name)


async def _ensure_attributes(client: Client) -> None:
    missing = await _missing_attributes(client)
    if not missing:
        return
    request = AddSearchAttributesRequest(
        namespace=client.namespace,
        search_attributes=dict.fromkeys(missing, IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD),
    )
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        # Another worker was faster.
        if error.status != RPCStatusCode.ALREADY_EXISTS:
            raise
    for _ in range(VISIBLE_WITHIN_POLLS):
        if not await _missing_attributes(client):
            return
        await asyncio.sleep(POLL_S)
    log.warning("search_attributes_not_visible_yet")


async def _missing_attributes(client: Client) -> list[str]:
    request = ListSearchAttributesRequest(namespace=client.namespace)
    known = await client.operator_service.list_search_attributes(request)
    return [key.name for key in ALL_KEYS if key.name not in known.custom_attributes]


async def _ensure_retention(client: Client, retention: timedelta) -> None:
    service = client.workflow_service
    described = await service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    if described.config.workflow_execution_retention_ttl.ToTimedelta() == retention:
        return
    config = NamespaceConfig()
    config.workflow_execution_retention_ttl.FromTimedelta(retention)
    await service.update_namespace(UpdateNamespaceRequest(namespace=client.namespace, config=config))
