"""Every limit of a connection and of an input, with its code, and nothing left behind (H12, C8, T14, P14)."""

import asyncio
import json
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest
from sqlalchemy import func, select
from websockets.exceptions import ConnectionClosed, InvalidStatus

from store.tables_conversation import MessageRow
from store.tables_host import OutboxRow, ReceiptRow
from store.tables_work import TaskRow
from tests.conftest import Eventually
from tests.host.conftest import Host, Rpc


async def test_the_seventeenth_connection_is_closed_with_1013(host: Host) -> None:
    """H12: accepted, then closed at once; without a credential no seat is taken; a seat that is left can be used."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(host.rpc()) for _ in range(16)]
        with pytest.raises(InvalidStatus) as refused:
            await stack.enter_async_context(host.connect(headers={}))
        assert refused.value.response.status_code == 401
        socket = await stack.enter_async_context(host.connect())
        await socket.wait_closed()
        assert socket.close_code == 1013
        await clients[0].socket.close()
        await Eventually()(lambda: host.services.broadcaster.connections == 15, "the seat is free")
        again = await stack.enter_async_context(host.rpc())
        assert "result" in await again.call("agents.activity")


async def test_a_frame_over_one_mebibyte_is_refused_with_1009(shared_host: Host) -> None:
    """H12: exactly 1 MiB is read; one byte more, counted in UTF-8, closes the connection."""
    async with shared_host.rpc() as client:
        fitting = '{"jsonrpc":"2.0","id":1,"method":"nothing","params":{"x":"'
        frame = fitting + "a" * (1024 * 1024 - len(fitting) - 3) + '"}}'
        assert len(frame) == 1024 * 1024
        assert (await client.raw(frame))["error"]["code"] == -32601
        await client.socket.send(frame.replace("aa", "é", 1) + " ")
        await client.socket.wait_closed()
        assert client.socket.close_code == 1009
    async with shared_host.rpc() as client:
        await client.socket.send("x" * (3 * 1024 * 1024))
        await client.socket.wait_closed()
        assert client.socket.close_code == 1009


async def test_a_slow_client_is_closed_and_delays_nobody(host: Host) -> None:
    """H12: its queue overflows, its connection ends with 1008, and another client is told everything."""
    async with host.rpc() as quick, host.connect(max_queue=1) as slow_socket:
        slow = Rpc(slow_socket)
        await slow.request("initialize", {"protocol_version": 1, "client": {"name": "slow", "version": "1"}})
        # Nothing is received from here on: the sockets fill, then the queue.
        reply = host.services.live_replies.open("turn_slow")
        told = asyncio.create_task(_count_text(quick, "turn_slow"))
        pieces, size = 0, 64 * 1024
        while host.services.broadcaster.slow_disconnects == 0:
            reply.delta("x" * size)
            pieces += 1
            assert pieces < 2000
            await asyncio.sleep(0)
        host.services.live_replies.close("turn_slow")
        host.services.broadcaster.publish("activity", 10**6, {})
        assert await told == pieces * size
        with suppress(ConnectionClosed):
            while True:
                await asyncio.wait_for(slow_socket.recv(), 20)
        assert slow_socket.close_code == 1008
        assert "result" in await quick.call("agents.activity")
    async with host.http() as http:
        assert "steward_slow_client_disconnects_total 1.0" in (await http.get("/metrics")).text


async def _count_text(client: Rpc, turn_id: str) -> int:
    total = 0
    while True:
        message = json.loads(await asyncio.wait_for(client.socket.recv(), 60))
        event = message.get("params", {})
        if event.get("topic") == "activity" and event.get("revision") == 10**6:
            return total
        if event.get("topic") == "turn.delta" and event["turn_id"] == turn_id:
            total += len(event["text"])


async def _rows(host: Host) -> list[int]:
    async with host.services.reading() as tx:
        tables: tuple[Any, ...] = (MessageRow, ReceiptRow, TaskRow, OutboxRow)
        return [await tx.session.scalar(select(func.count()).select_from(table)) or 0 for table in tables]


BAD_INPUTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "text_bytes": ({"text": "é" * 32_001}, {"code": "invalid_params", "limit": 64_000, "value": 64_002}),
    "empty": ({"text": ""}, {"code": "invalid_params"}),
    "blank": ({"text": " \n"}, {"code": "invalid_params"}),
    "nul": ({"text": "a\x00b"}, {"code": "invalid_params"}),
    "surrogate": ({"text": "\ud83d"}, {"code": "invalid_params"}),
    "count": (
        {"text": "x", "attachment_ids": [f"attachment_{number}" for number in range(17)]},
        {"code": "invalid_params", "limit": 16, "value": 17},
    ),
    "twice": ({"text": "x", "attachment_ids": ["attachment_1", "attachment_1"]}, {"code": "invalid_params"}),
    "unknown": ({"text": "x", "attachment_ids": ["attachment_1"]}, {"code": "not_found"}),
    "mcp": ({"text": "x", "mcp_server_ids": ["mcp_1"]}, {"code": "not_found"}),
    "engine": ({"text": "x", "engine": "codex"}, {"code": "engine_unavailable"}),
    "mode": ({"text": "x", "permission_mode": "unconfined"}, {"code": "invalid_params"}),
    "mode_name": ({"text": "x", "permission_mode": "root"}, {"code": "invalid_params"}),
    "field": ({"text": "x", "html": "<b>"}, {"code": "invalid_params"}),
    "type": ({"text": 7}, {"code": "invalid_params"}),
    "absent": ({}, {"code": "invalid_params"}),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
async def test_a_bad_input_has_its_code_and_stores_nothing(shared_host: Host, case: str) -> None:
    """C8, C7, X2: each violation with the limit and the value; no row is left."""
    said, expected = BAD_INPUTS[case]
    before = await _rows(shared_host)
    async with shared_host.rpc() as client:
        answer = await client.call(
            "agents.send", {"session_id": shared_host.session}, request_id=f"bad:{case}", user_input=said
        )
        data = answer["error"]["data"]
        assert {key: data[key] for key in expected} == expected
        assert answer["error"]["code"] == (-32602 if expected["code"] == "invalid_params" else -32000)
        assert await client.code("agents.receipt", {"request_id": f"bad:{case}"}) == "not_found"
    assert await _rows(shared_host) == before


BAD_TASKS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "title": ({"title": "x" * 201}, {"text": "do"}, "invalid_params"),
    "no_title": ({"title": ""}, {"text": "do"}, "invalid_params"),
    "instructions": ({"title": "t"}, {"text": "x" * 64_001}, "invalid_params"),
    "no_instructions": ({"title": "t"}, {"text": ""}, "invalid_params"),
    "agent": ({"title": "t", "agent_id": "other"}, {"text": "do"}, "not_found"),
    "grant": ({"title": "t", "grant_ref": "grant_1"}, {"text": "do"}, "not_found"),
    "engine": ({"title": "t", "engine": "claude"}, {"text": "do"}, "engine_unavailable"),
    "mode": ({"title": "t", "permission_mode": "unconfined"}, {"text": "do"}, "invalid_params"),
    "attachment": ({"title": "t", "attachment_ids": ["attachment_1"]}, {"text": "do"}, "not_found"),
    "input": ({"title": "t"}, {"text": "do", "attachment_ids": ["attachment_1"]}, "invalid_params"),
}


@pytest.mark.parametrize("case", BAD_TASKS)
async def test_a_bad_task_has_its_code_and_stores_nothing(shared_host: Host, case: str) -> None:
    """T14, X2: over-long is refused, never cut."""
    wanted, said, code = BAD_TASKS[case]
    before = await _rows(shared_host)
    async with shared_host.rpc() as client:
        assert await client.code("agents.tasks.create", wanted, request_id=f"task:{case}", user_input=said) == code
    assert await _rows(shared_host) == before


@pytest.mark.parametrize("request_id", [None, "", "a b", "ü", "x" * 129, "a/b"])
async def test_a_write_needs_a_request_id(shared_host: Host, request_id: str | None) -> None:
    """I2: the grammar of request ids."""
    envelope = {} if request_id is None else {"request_id": request_id}
    async with shared_host.rpc() as client:
        answer = await client.call(
            "agents.send", {"session_id": shared_host.session}, user_input={"text": "x"}, **envelope
        )
    assert answer["error"]["code"] == -32602


async def test_the_same_request_id(shared_host: Host) -> None:
    """I2: the same content reads the first receipt, from any connection; other content is a conflict."""
    session = {"session_id": shared_host.session}
    async with shared_host.rpc() as first, shared_host.rpc() as second:
        once = await first.result("agents.send", session, request_id="same:1", user_input={"text": "once"})
        again = await second.result("agents.send", session, request_id="same:1", user_input={"text": "once"})
        assert again == once
        other = await second.code("agents.send", session, request_id="same:1", user_input={"text": "twice"})
        assert other == "request_id_conflict"
        assert await first.result("agents.receipt", {"request_id": "same:1"}) == once


async def test_another_session_is_a_mismatch(shared_host: Host) -> None:
    """H6: this host serves one main session."""
    async with shared_host.rpc() as client:
        code = await client.code(
            "agents.send", {"session_id": "session_other"}, request_id="mismatch", user_input={"text": "x"}
        )
        assert code == "session_mismatch"
        assert await client.code("agents.history", {"session_id": "session_other"}) == "session_mismatch"


async def test_stopping_needs_the_running_turn(shared_host: Host) -> None:
    """S8: a queued turn is not running; an unknown one does not exist."""
    session = {"session_id": shared_host.session}
    async with shared_host.rpc() as client:
        sent = await client.result("agents.send", session, request_id="stop:1", user_input={"text": "x"})
        turn = {**session, "turn_id": sent["receipt"]["turn_id"]}
        stopped = await client.result("agents.stop_turn", turn, request_id="stop:2")
        assert stopped["outcome"] == "turn_not_running"
        unknown = await client.code("agents.stop_turn", {**session, "turn_id": "turn_x"}, request_id="stop:3")
        assert unknown == "not_found"


async def test_history_pages_and_stays_small(host: Host) -> None:
    """H13, H12: a page fits into a client's queue; pages join to the whole, in both directions."""
    session = {"session_id": host.session}
    async with host.rpc() as client:
        for number in range(24):
            text = "<&>" * 21_000 if number % 2 else f"message {number}"
            await client.result("agents.send", session, request_id=f"page:{number}", user_input={"text": text})
        forward: list[int] = []
        while True:
            page = await client.result("agents.history", {**session, "after_seq": forward[-1] if forward else 0})
            forward += [item["seq"] for item in page["items"]]
            if not page["has_more"]:
                break
        assert forward == list(range(1, 25))
        backward = await client.result("agents.history", session)
        seqs = [item["seq"] for item in backward["items"]]
        while backward["has_more"]:
            backward = await client.result("agents.history", {**session, "before_seq": seqs[0]})
            seqs = [item["seq"] for item in backward["items"]] + seqs
        assert seqs == forward


async def test_accept_without_temporal(shared_host: Host) -> None:
    """C2: there is no Temporal here, and everything is accepted; nothing is said to be ready."""
    async with shared_host.rpc() as client:
        made = await client.result(
            "agents.tasks.create", {"title": "later"}, request_id="offline:1", user_input={"text": "do it"}
        )
        assert made["task"]["state"] == "accepted"
        listed = await client.result("agents.tasks.list", {"state": "accepted", "limit": 1})
        assert listed["items"]
        detail = await client.result("agents.tasks.get", {"task_id": made["task"]["task_id"]})
        assert detail["requirements"][0]["instructions"] == "do it"
        assert await client.code("agents.tasks.list", {"cursor": "broken"}) == "invalid_params"
    async with shared_host.http() as http:
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()["checks"]) == (
            503,
            {"temporal": "failing", "database": "ok", "worker": "failing"},
        )


async def test_a_late_client_gets_the_whole_reply_so_far(host: Host) -> None:
    """C4: reset and the text so far follow the answer to initialize; later pieces follow them; nothing is doubled."""
    reply = host.services.live_replies.open("turn_live")
    reply.delta("Hel")
    async with host.rpc() as client:
        assert (await client.event("turn.reset"))["turn_id"] == "turn_live"
        assert (await client.event("turn.delta"))["text"] == "Hel"
        reply.delta("lo")
        assert (await client.event("turn.delta"))["text"] == "lo"
        reply.reset()
        assert (await client.event("turn.reset"))["turn_id"] == "turn_live"
    host.services.live_replies.close("turn_live")
    async with host.rpc() as client:
        assert "result" in await client.call("agents.activity")
        assert client.events == []


async def test_notices_follow_commits_of_anybody(host: Host) -> None:
    """H13: topics and revisions, no bodies, also for a commit that this host did not make."""
    async with host.rpc() as one, host.rpc() as other:
        await one.result(
            "agents.send", {"session_id": host.session}, request_id="notice:1", user_input={"text": "secret words"}
        )
        told = await other.event("conversation")
        assert told["last_seq"] == 1
        state = await other.event("turn.state")
        assert state["state"] == "queued"
        assert state["revision"] > told["revision"] or state["revision"] > 0
        assert "secret words" not in json.dumps(other.events)
