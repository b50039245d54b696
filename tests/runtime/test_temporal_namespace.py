"""The embedded server's command line, the client, and what is made of a namespace."""

import asyncio
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from temporalio.api.operatorservice.v1 import ListSearchAttributesRequest, RemoveSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from contracts.search_attributes import ALL_KEYS
from domain.refusal import Refused
from runtime import temporal_namespace
from runtime.child_process import dying_with_parent
from runtime.embedded_temporal import is_listening, server_command
from runtime.folders import prepare_folders
from runtime.settings import Settings
from runtime.temporal_client import connect, connect_within, connection_arguments
from runtime.temporal_namespace import ensure_namespace


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory, free_port: Callable[[], int]) -> Iterator[Settings]:
    settings = Settings(
        home=tmp_path_factory.mktemp("embedded") / "home",
        port=free_port(),
        temporal_port=free_port(),
        temporal_ui_port=free_port(),
        temporal_namespace="steward-test",
    )
    prepare_folders(settings)
    process = subprocess.Popen(
        server_command(settings), stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, preexec_fn=dying_with_parent()
    )
    try:
        yield settings
    finally:
        process.terminate()
        process.wait(10)


async def retention_days(client: Client) -> int:
    answer = await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    return answer.config.workflow_execution_retention_ttl.ToTimedelta().days


async def test_embedded_server(embedded: Settings) -> None:
    """O1, O9, H4: it starts with the measured flags, its database is in the state folder, retention becomes 90 days."""
    client = await connect_within(embedded, 30)
    assert client.namespace == "steward-test"
    assert embedded.temporal_database.is_file()
    assert await is_listening(f"127.0.0.1:{embedded.temporal_ui_port}")
    assert await retention_days(client) != 90
    await ensure_namespace(client, embedded)
    await ensure_namespace(client, embedded)
    assert await retention_days(client) == 90


async def test_missing_attributes_are_registered(embedded: Settings) -> None:
    """O9: attributes that the namespace lacks are registered, by several processes at once without harm."""
    client = await connect_within(embedded, 30)
    names = [ALL_KEYS[0].name, ALL_KEYS[-1].name]
    request = RemoveSearchAttributesRequest(namespace=client.namespace, search_attributes=names)
    await client.operator_service.remove_search_attributes(request)
    await asyncio.gather(*(ensure_namespace(client, embedded) for _ in range(4)))
    known = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    assert {key.name for key in ALL_KEYS} <= set(known.custom_attributes)


async def test_unknown_namespace(embedded: Settings) -> None:
    """O3, O14: a namespace that is not there is one line with the setting's name."""
    await connect_within(embedded, 30)
    other = embedded.model_copy(update={"temporal_namespace": "nowhere"})
    client = await connect(other)
    with pytest.raises(Refused) as caught:
        await ensure_namespace(client, other)
    assert "STEWARD_TEMPORAL_NAMESPACE" in str(caught.value)


async def test_cluster_that_refuses(embedded: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """O14: a cluster that does not let us register is no failure."""
    client = await connect_within(embedded, 30)

    async def denied(*_: object) -> None:
        raise RPCError("denied", RPCStatusCode.PERMISSION_DENIED, b"")

    monkeypatch.setattr(temporal_namespace, "_ensure_attributes", denied)
    monkeypatch.setattr(temporal_namespace, "_ensure_retention", denied)
    await ensure_namespace(client, embedded)


async def test_nobody_answers(tmp_path: Path, free_port: Callable[[], int]) -> None:
    """O3: a server that is not there is one line that names the setting."""
    settings = Settings(home=tmp_path, temporal_address=f"127.0.0.1:{free_port()}")
    assert not await is_listening(settings.effective_temporal_address)
    with pytest.raises(Refused, match=r"orchestrator_unavailable: .*STEWARD_TEMPORAL_ADDRESS"):
        await connect_within(settings, 0.3)


def test_external_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O14: TLS and key come from Temporal's own configuration, address and namespace of the settings are on top."""
    monkeypatch.setenv("TEMPORAL_CONFIG_FILE", str(tmp_path / "none.toml"))
    monkeypatch.setenv("TEMPORAL_ADDRESS", "ignored:1")
    monkeypatch.setenv("TEMPORAL_NAMESPACE", "from-environment")
    monkeypatch.setenv("TEMPORAL_API_KEY", "key")
    address = "cluster.example:7233"
    arguments = connection_arguments(Settings(home=tmp_path, temporal_address=address))
    assert (arguments["target_host"], arguments["namespace"]) == (address, "from-environment")
    assert (arguments["api_key"], arguments["tls"]) == ("key", True)
    named = connection_arguments(Settings(home=tmp_path, temporal_address=address, temporal_namespace="mine"))
    assert named["namespace"] == "mine"
    embedded = connection_arguments(Settings(home=tmp_path))
    assert embedded == {"target_host": "127.0.0.1:7233", "namespace": "default", "tls": False}
