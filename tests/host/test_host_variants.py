"""A host on PostgreSQL, with a Temporal server, and as a remote caller sees it (O14, O15, C1, S8, P14)."""

from collections.abc import Callable
from pathlib import Path

import httpx
from pydantic import SecretStr
from temporalio.testing import WorkflowEnvironment
from ulid import ULID

from contracts.names import SHARED_QUEUE, conversation_workflow
from domain.turn import TurnState
from host.app import create_app
from host.broadcaster import Seat
from host.call import ForegroundPermission
from host.principal import Principal
from host.rpc.dispatch import answer
from host.rpc.framing import Request
from host.rpc.peer import Peer
from runtime.settings import Settings
from store import workers
from store.identity import create_login_link
from store.tables_conversation import TurnRow
from tests.conftest import Eventually
from tests.host.conftest import Host, serving


async def test_a_host_on_postgresql(
    host_settings: Callable[..., Settings], tmp_path: Path, fresh_postgres_url: str
) -> None:
    """O14, O15: the same host on the other database: accepts, tells, signs in, counts."""
    settings = host_settings(tmp_path, database_url=SecretStr(fresh_postgres_url))
    async with serving(settings) as host, host.rpc() as one, host.rpc() as other:
        attachment = await host.upload(b"content")
        said = {"text": "hello", "attachment_ids": [attachment]}
        session = {"session_id": host.session}
        sent = await one.result("agents.send", session, request_id="pg:1", user_input=said)
        assert (await other.event("conversation"))["last_seq"] == sent["receipt"]["message_seq"] == 1
        assert (await one.result("agents.history", session))["items"][0]["text"] == "hello"
        made = await one.result("agents.tasks.create", {"title": "t"}, request_id="pg:2", user_input={"text": "do"})
        assert (await one.result("agents.tasks.list"))["items"][0]["task_id"] == made["task"]["task_id"]
        assert "in_progress" in await one.result("agents.activity")
        async with host.services.database.write(host.services.scope) as tx:
            token = await create_login_link(tx)
        async with httpx.AsyncClient(base_url=host.base, trust_env=False) as browser:
            assert (await browser.get(f"/login?token={token}")).status_code == 303
            assert (await browser.get("/")).status_code == 200
            assert (await browser.get(f"/login?token={token}")).status_code == 401
            assert 'steward_tasks{state="accepted"} 1.0' in (await browser.get("/metrics")).text
            assert (await browser.get("/readyz")).json()["checks"]["database"] == "ok"


async def test_a_host_with_temporal_is_ready_and_relays(
    host_settings: Callable[..., Settings], tmp_path: Path, temporal_env: WorkflowEnvironment, eventually: Eventually
) -> None:
    """C1, C2: ready when Temporal, database and a worker answer; an accepted input wakes the conversation."""
    settings = host_settings(
        tmp_path,
        user_space=f"ready-{str(ULID()).lower()}",
        temporal_address=temporal_env.client.service_client.config.target_host,
    )
    async with serving(settings) as host, host.rpc() as client, host.http() as http:
        async with host.services.database.write(host.services.scope) as tx:
            await workers.heard(tx, "test", SHARED_QUEUE)

        async def ready() -> bool:
            return (await http.get("/readyz")).status_code == 200

        await eventually(ready, "the host is ready")
        session = {"session_id": host.session}
        await client.result("agents.send", session, request_id="ready:1", user_input={"text": "hello"})
        handle = temporal_env.client.get_workflow_handle(conversation_workflow(settings.user_space, "personal"))

        async def empty() -> bool:
            return "steward_outbox_entries 0.0" in (await http.get("/metrics")).text

        await eventually(empty, "the entry is relayed")
        assert (await handle.describe()).workflow_type == "ConversationWorkflow"
        await handle.terminate()


async def test_a_stop_reaches_the_reply_under_way(host: Host) -> None:
    """S8: the model call in this host hears of the stop at once; from the turn's end on the reply is forgotten."""
    session = {"session_id": host.session}
    async with host.rpc() as client:
        sent = await client.result("agents.send", session, request_id="live:1", user_input={"text": "x"})
        turn_id = sent["receipt"]["turn_id"]
        async with host.services.database.write(host.services.scope) as tx:
            turn = await tx.session.get(TurnRow, turn_id)
            assert turn is not None
            turn.state = TurnState.RUNNING.value
        reply = host.services.live_replies.open(turn_id)
        other = host.services.live_replies.open("turn_other")
        stopped = await client.result("agents.stop_turn", {**session, "turn_id": turn_id}, request_id="live:2")
        assert stopped["outcome"] == "stopping"
        assert reply.stop_requested.is_set()
        assert not other.stop_requested.is_set()
        again = await client.result("agents.stop_turn", {**session, "turn_id": turn_id}, request_id="live:2")
        assert again == stopped


async def test_what_is_local_only_is_refused_to_remote_callers(shared_host: Host) -> None:
    """P14: another machine's caller with the right credential and an admitted name; metrics need a credential there."""
    app = create_app(shared_host.services)
    remote = httpx.ASGITransport(app, client=("192.168.1.5", 4000))
    async with httpx.AsyncClient(transport=remote, base_url=shared_host.base) as http:
        bearer = {"Authorization": f"Bearer {shared_host.token}"}
        refused = await http.get("/api/settings", headers=bearer)
        assert (refused.status_code, refused.json()["code"]) == (403, "local_only")
        assert refused.json()["detail"] == "Local settings are available on localhost only"
        assert (await http.get("/api/settings")).status_code == 401
        assert (await http.get("/metrics")).status_code == 401
        assert (await http.get("/metrics", headers=bearer)).status_code == 200


async def test_methods_for_local_callers_only(shared_host: Host) -> None:
    """P14: over `/rpc` the methods marked L are refused on a connection that is not local, before their parameters."""
    raw = {"plugin_id": "personal", "method": "agents.effects.settle", "params": {"nonsense": 1}}
    for local, code in ((False, "local_only"), (True, "invalid_params")):
        peer = Peer("connection_1", Principal("owner", "owner", local), Seat(lambda _: None, initialised=True))
        request = Request(1, "plugin/client/request", raw)
        said = await answer(shared_host.services, peer, request, ForegroundPermission())
        assert said["error"]["data"]["code"] == code
