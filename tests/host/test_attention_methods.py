"""What a page and a device say and hear of news (N2, N9, N11, H13, P14, P15), over a real connection."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from domain.notification import message_at
from host.attention_observers import KEPT
from host.methods.registry import PERSONAL_METHODS
from runtime.settings import Settings
from store import attention
from store.attention_observing import AttentionEvent
from store.messages import append
from store.tables_attention import NotificationChannelRow, PushSubscriptionRow
from store.tables_host import ReceiptRow
from tests.host.conftest import Host, serving
from tests.push_service import Browser, Webhook

Json = dict[str, Any]


@pytest.fixture
async def open_to_loopback(host_settings: Callable[..., Settings], tmp_path: Path) -> AsyncIterator[Host]:
    """A host that takes push endpoints on loopback, as tests need them."""
    async with serving(host_settings(tmp_path, allow_insecure_push=True)) as running:
        yield running


def subscription(endpoint: str = "https://push.example.com/abc") -> Json:
    given = Browser().subscription(endpoint)
    return {"endpoint": given.endpoint, "keys": {"p256dh": given.p256dh, "auth": given.auth}}


async def fact(host: Host, agent_id: str = "twin") -> int:
    """A message that is announced at once; its sequence."""
    async with host.services.database.write(host.services.scope) as tx:
        message = await append(tx, host.session, role="assistant", origin="delivery", text="zqprivatezq")
        await attention.admit_event(tx, attention.Event(agent_id, message_at(host.session, message.seq)))
    return message.seq


async def test_the_page_is_told_where_the_news_is(host: Host) -> None:
    """N7, N9, H13: event `notification` with ids alone."""
    async with host.rpc() as rpc:
        seq = await fact(host)
        event = await rpc.event("notification")
    assert set(event) == {"topic", "revision", "group_id", "agent_id", "locator"}
    assert event["agent_id"] == "twin"
    assert event["locator"] == {"kind": "message", "session_id": host.session, "seq": seq}


async def test_what_was_seen_only_goes_forward(host: Host) -> None:
    """N2: of the own main session; a request id is taken and not needed."""
    async with host.rpc() as rpc:
        for _ in range(3):
            await fact(host)
        wanted = {"session_id": host.session, "up_to_seq": 2}
        assert await rpc.result("agents.seen", wanted) == {"up_to_seq": 2}
        assert await rpc.result("agents.seen", {**wanted, "up_to_seq": 1}, request_id="seen-1") == {"up_to_seq": 2}
        assert await rpc.code("agents.seen", {**wanted, "up_to_seq": 4}) == "invalid_params"
        assert await rpc.code("agents.seen", {**wanted, "session_id": "session_other"}) == "session_mismatch"
        assert await rpc.code("agents.seen", {**wanted, "up_to_seq": 0}) == "invalid_params"


async def test_a_browser_registers_its_own_push(host: Host) -> None:
    """N9, H20: https only; the same endpoint is the same subscription; unregistered twice it is gone once."""
    async with host.rpc() as rpc:
        wanted = subscription()
        first = (await rpc.request("device/push/register", wanted))["result"]["subscription_id"]
        assert (await rpc.request("device/push/register", wanted))["result"]["subscription_id"] == first
        for endpoint in ("http://127.0.0.1:1/x", "https://192.168.0.1/x", "ftp://push.example.com/x"):
            refused = (await rpc.request("device/push/register", subscription(endpoint)))["error"]["data"]
            assert (refused["code"], refused["field"]) == ("invalid_params", "endpoint")
        keys = {**wanted, "keys": {"p256dh": "AA", "auth": wanted["keys"]["auth"]}}
        assert (await rpc.request("device/push/register", keys))["error"]["data"]["field"] == "keys.p256dh"
        assert (await rpc.request("device/push/unregister", {"subscription_id": first}))["result"] == {}
        assert (await rpc.request("device/push/unregister", {"subscription_id": first}))["result"] == {}
        unknown = await rpc.request("device/push/unregister", {"subscription_id": "push_none"})
        assert unknown["error"]["data"]["code"] == "not_found"
    async with host.services.reading() as tx:
        row = await tx.session.get_one(PushSubscriptionRow, first)
    assert row.reason == "unregistered"


async def test_loopback_endpoints_are_taken_where_that_is_set(open_to_loopback: Host) -> None:
    """N9: STEWARD_ALLOW_INSECURE_PUSH."""
    async with open_to_loopback.rpc() as rpc:
        answer = await rpc.request("device/push/register", subscription("http://127.0.0.1:9/x"))
    assert "result" in answer


async def test_a_channels_address_goes_in_and_never_comes_out(host: Host) -> None:
    """N9, P15: added, kept by its id, removed; it is in no answer, no row and no receipt."""
    with Webhook() as webhook:
        url = webhook.url("/zqtoken")
        async with host.rpc() as rpc:
            before = await rpc.result("agents.settings.get")
            assert before["channels"] == []
            assert len(before["push"]["application_server_key"]) > 80
            added = {"expected_revision": 0, "changes": {"channels": [{"kind": "apprise", "url": url}]}}
            after = await rpc.result("agents.settings.update", added, request_id="add")
            [shown] = after["channels"]
            assert shown == {"channel_id": shown["channel_id"], "kind": "apprise", "url": "json://…"}
            assert await host.services.secrets.address(shown["channel_id"]) == url
            again = await rpc.result("agents.settings.update", added, request_id="add")
            assert again["channels"] == [shown], "the same request adds it once"
            kept = {"expected_revision": 1, "changes": {"channels": [{"channel_id": shown["channel_id"]}]}}
            assert (await rpc.result("agents.settings.update", kept, request_id="keep"))["channels"] == [shown]
            other = {"expected_revision": 1, "changes": {"aggregation_s": 5}}
            assert (await rpc.result("agents.settings.update", other, request_id="other"))["channels"] == [shown]
            unknown = {"expected_revision": 2, "changes": {"channels": [{"channel_id": "channel_none"}]}}
            assert await rpc.code("agents.settings.update", unknown, request_id="unknown") == "not_found"
            wrong = {"expected_revision": 2, "changes": {"channels": [{"kind": "apprise", "url": "syslog://"}]}}
            assert await rpc.code("agents.settings.update", wrong, request_id="wrong") == "invalid_params"
            none = {"expected_revision": 2, "changes": {"channels": []}}
            assert (await rpc.result("agents.settings.update", none, request_id="none"))["channels"] == []
            assert await host.services.secrets.address(shown["channel_id"]) is None
    stored = host.settings.state_dir.joinpath("credentials.json").read_text()
    assert "zqtoken" not in stored
    async with host.services.reading() as tx:
        row = await tx.session.get_one(NotificationChannelRow, shown["channel_id"])
        receipt = await tx.session.get_one(ReceiptRow, (row.user_space, row.domain, "add"))
    assert row.removed_at is not None
    assert "zqtoken" not in json.dumps([str(vars(row)), str(vars(receipt))])


async def test_agents_are_written_from_here_only(host: Host) -> None:
    """api.md `agents.profiles`, P14: listed, made, changed, disabled, not deleted while it works."""
    async with host.rpc() as rpc:
        [twin] = (await rpc.result("agents.profiles.list"))["items"]
        assert (twin["agent_id"], twin["revision"]) == ("twin", 0)
        made = await rpc.result(
            "agents.profiles.create", {"name": "Aide", "instructions": "Help."}, request_id="create"
        )
        agent_id = made["agent_id"]
        assert (made["name"], made["enabled"], made["revision"]) == ("Aide", True, 1)
        change = {"agent_id": agent_id, "expected_revision": 1, "name": "Helper"}
        assert (await rpc.result("agents.profiles.update", change, request_id="update"))["name"] == "Helper"
        task = {"title": "t", "agent_id": agent_id}
        said = {"user_input": {"text": "do"}}
        created = await rpc.result("agents.tasks.create", task, request_id="task", **said)
        assert created["task"]["agent_id"] == agent_id
        only = {"agent_id": agent_id, "expected_revision": 2}
        assert (await rpc.result("agents.profiles.disable", only, request_id="disable"))["enabled"] is False
        assert await rpc.code("agents.tasks.create", task, request_id="task-2", **said) == "not_found"
        delete = {"agent_id": agent_id, "expected_revision": 3}
        assert await rpc.code("agents.profiles.delete", delete, request_id="delete") == "task_active"
        model = {"name": "X", "instructions": "", "model": "openai-chat:other"}
        assert await rpc.code("agents.profiles.create", model, request_id="model") == "invalid_params"


def test_what_the_owner_alone_may_write_is_local() -> None:
    """P14, api.md: profiles are written on this machine only; what a device says of itself is not bound to it."""
    local = {name for name in PERSONAL_METHODS if PERSONAL_METHODS[name].local}
    written = {f"agents.profiles.{name}" for name in ("create", "update", "disable", "delete")}
    assert written | {"agents.settings.update"} <= local
    assert "agents.seen" not in local


@asynccontextmanager
async def observing(host: Host) -> AsyncIterator["asyncio.Queue[AttentionEvent]"]:
    """An embedder that reads what it is told."""
    told: asyncio.Queue[AttentionEvent] = asyncio.Queue()

    async def observe() -> None:
        async for event in host.services.observers.subscribe_user_attention():
            told.put_nowait(event)

    running = asyncio.create_task(observe())
    try:
        yield told
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def within(told: "asyncio.Queue[AttentionEvent]") -> AttentionEvent:
    async with asyncio.timeout(20):
        return await told.get()


async def test_an_embedder_observes_announcements_without_bodies(host: Host) -> None:
    """N11, H23, N1: what came before it subscribed is checked anew; then each announcement as it comes."""
    async with host.rpc() as rpc:
        first, second = await fact(host), await fact(host)
        await rpc.event("notification")
        await rpc.event("notification")
        async with observing(host) as told:
            event = await within(told)
            assert (event.agent_id, event.kind, event.generation) == ("twin", "result", 1)
            assert event.locator == message_at(host.session, second), "the older one is superseded"
            third = await fact(host)
            assert (await within(told)).locator.seq == third
            assert "zqprivatezq" not in repr(event)
        await fact(host)
        await rpc.event("notification")
        await rpc.event("notification")
        await rpc.result("agents.seen", {"session_id": host.session, "up_to_seq": third + 1})
        async with observing(host) as told:
            newest = await fact(host)
            assert (await within(told)).locator.seq == newest, "what was seen meanwhile is not replayed"
    assert first < second


async def test_what_nobody_observes_is_bounded(host: Host) -> None:
    """N11: 256 names of groups at most, and no bodies."""
    observers = host.services.observers
    with mock.patch("host.attention_observers.current_event", mock.AsyncMock(side_effect=_named)):
        for number in range(KEPT + 50):
            observers.told("notification", {"group_id": f"group_{number}"})
        observers.told("conversation", {"last_seq": 1})
        async with observing(host) as told:
            names = [str(await within(told)) for _ in range(KEPT)]
            assert names[0] == "group_50"
            assert told.empty()


async def _named(_tx: object, group_id: str, *, late: bool) -> str:
    assert late
    return group_id
