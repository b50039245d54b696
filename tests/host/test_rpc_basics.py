"""The transport's first principles: initialise, frames, composition, per-connection ids (H8, H9, H11)."""

import json
from typing import Any

import pytest

from tests.conftest import Eventually
from tests.host.conftest import Host, Rpc


async def test_initialize_says_what_this_host_is(host: Host) -> None:
    """H1, H2, H8: binding, isolation, composition, limits."""
    async with host.connect() as socket:
        client = Rpc(socket)
        said = await client.request("initialize", {"protocol_version": 1, "client": {"name": "t", "version": "1"}})
    result = said["result"]
    assert (result["user_space_id"], result["product_domain"]) == ("local", "personal")
    assert result["user_host_isolation"] == {"memory": "logical", "host": "unverified"}
    assert result["main_session_id"] == host.session
    assert result["composition"]["profile"] == "personal"
    assert result["composition"]["graph_generation"] == 1
    assert result["composition"]["modules"][0]["id"] == "personal"
    assert result["limits"] == {
        "text_bytes": 64_000,
        "attachments": 16,
        "attachment_bytes": 20 * 1024 * 1024,
        "frame_bytes": 1024 * 1024,
        "slice_base64": 524_288,
    }


@pytest.mark.parametrize(
    ("frame", "number"),
    [
        ("{", -32700),
        ("", -32700),
        ("[" * 100_000, -32700),
        ('{"a":NaN}', -32700),
        ("[]", -32600),
        ('[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', -32600),
        ("7", -32600),
        ("null", -32600),
        ('{"jsonrpc":"1.0","id":1,"method":"initialize"}', -32600),
        ('{"jsonrpc":"2.0","method":"initialize"}', -32600),
        ('{"jsonrpc":"2.0","id":null,"method":"initialize"}', -32600),
        ('{"jsonrpc":"2.0","id":true,"method":"initialize"}', -32600),
        ('{"jsonrpc":"2.0","id":1.5,"method":"initialize"}', -32600),
        ('{"jsonrpc":"2.0","id":{},"method":"initialize"}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":7}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":7}', -32600),
        ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":[1]}', -32602),
        ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}', -32602),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', -32600),
    ],
)
async def test_malformed_frames_are_answered(shared_host: Host, frame: str, number: int) -> None:
    """H9, O19: every frame gets its error, and the connection goes on."""
    async with shared_host.connect() as socket:
        client = Rpc(socket)
        answer = await client.raw(frame)
        assert answer["error"]["code"] == number
        assert isinstance(answer["error"]["data"]["code"], str)
        said = await client.request("initialize", {"protocol_version": 1, "client": {"name": "t", "version": "1"}})
        assert "result" in said


async def test_a_binary_frame_is_an_invalid_request(shared_host: Host) -> None:
    """H9: frames are text."""
    async with shared_host.rpc() as client:
        await client.socket.send(b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}')
        assert (await client.answer())["error"]["code"] == -32600


@pytest.mark.parametrize("method", ["plugin/client/request", "plugin/client/cancel", "user-question/list", "nothing"])
async def test_nothing_before_initialize(shared_host: Host, method: str) -> None:
    """H9: `not_initialized`."""
    async with shared_host.connect() as socket:
        answer = await Rpc(socket).request(method)
    assert (answer["error"]["code"], answer["error"]["data"]["code"]) == (-32000, "not_initialized")


@pytest.mark.parametrize("method", ["nothing", "device/push/list", "devices.pair", "plugin/client/event"])
async def test_unknown_methods(shared_host: Host, method: str) -> None:
    """H9: anything else is method-not-found."""
    async with shared_host.rpc() as client:
        answer = await client.request(method)
    assert (answer["error"]["code"], answer["error"]["data"]["code"]) == (-32601, "method_not_found")


async def test_unknown_plugin_and_plugin_method(shared_host: Host) -> None:
    """H1, H7: no such service; an unknown method of `personal` is -32601 too."""
    async with shared_host.rpc() as client:
        other = await client.request("plugin/client/request", {"plugin_id": "coding", "method": "agents.activity"})
        assert other["error"]["data"]["code"] == "service_not_available"
        unknown = await client.call("agents.nothing")
        assert (unknown["error"]["code"], unknown["error"]["data"]["code"]) == (-32601, "method_not_found")


async def test_calls_are_bound_to_the_composition(shared_host: Host) -> None:
    """H8: another generation or fingerprint is `composition_changed`; the right ones go through."""
    module = shared_host.services.composition.modules[0]
    async with shared_host.rpc() as client:
        right = {"fingerprint": module.fingerprint, "graph_generation": shared_host.services.composition.generation}
        assert "result" in await client.call("agents.activity", {}, **right)
        assert await client.code("agents.activity", {}, graph_generation=99) == "composition_changed"
        assert await client.code("agents.activity", {}, fingerprint="0" * 64) == "composition_changed"


async def test_rpc_ids_are_per_connection(shared_host: Host) -> None:
    """H11: two connections use the same id; a cancel reaches one's own calls only."""
    async with shared_host.rpc() as first, shared_host.rpc() as second:
        assert (await first.request("plugin/client/cancel", {"rpc_id": 77}))["result"] == {"cancelled": False}
        assert (await second.request("plugin/client/cancel", {"rpc_id": 1}))["result"] == {"cancelled": False}


async def test_an_id_in_use_is_refused(shared_host: Host) -> None:
    """H11: the second call with an id that is still running is an invalid request; the first gets its answer."""
    lock = shared_host.services.database.write(shared_host.services.scope)
    async with shared_host.rpc() as client:
        frame = _send_frame(shared_host, 5, "in-use:1")
        async with lock:
            await client.socket.send(frame)
            await client.socket.send(frame)
            refused = await client.answer()
        assert (refused["id"], refused["error"]["code"]) == (None, -32600)
        assert (await client.answer())["result"]["receipt"]["state"] == "accepted"


async def test_shutdown_disconnects_this_client_only(shared_host: Host) -> None:
    """H10: the answer comes, then the close; others stay."""
    async with shared_host.rpc() as stays, shared_host.rpc() as leaves:
        assert (await leaves.request("shutdown"))["result"] == {}
        await leaves.socket.wait_closed()
        assert leaves.socket.close_code == 1000
        assert "result" in await stays.call("agents.activity")


async def test_questions_are_empty_until_their_issue(shared_host: Host) -> None:
    """H9: the methods are there; no question exists."""
    async with shared_host.rpc() as client:
        assert (await client.request("user-question/list"))["result"] == {"items": [], "next_cursor": None}
        answer = {"question_id": "question_1", "revision": 1, "answer": {"text": "x"}, "request_id": "q:1"}
        assert (await client.request("user-question/respond", answer))["error"]["data"]["code"] == "not_found"
        del answer["answer"]
        assert (await client.request("user-question/cancel", answer))["error"]["data"]["code"] == "not_found"


async def test_cancel_before_acceptance_and_after(shared_host: Host) -> None:
    """H11, H14: a cancel takes effect until the commit; it never undoes an accepted request."""
    database, scope = shared_host.services.database, shared_host.services.scope
    async with shared_host.rpc() as client:
        async with database.write(scope):
            await client.socket.send(_send_frame(shared_host, 90, "cancel:1"))
            assert (await client.request("plugin/client/cancel", {"rpc_id": 90}))["result"] == {"cancelled": True}
        assert (await client.answer())["error"]["data"]["code"] == "cancelled"
        assert await client.code("agents.receipt", {"request_id": "cancel:1"}) == "not_found"
        done = await client.raw(_send_frame(shared_host, 91, "cancel:2"))
        assert done["result"]["receipt"]["request_id"] == "cancel:2"
        assert (await client.request("plugin/client/cancel", {"rpc_id": 91}))["result"] == {"cancelled": False}


async def test_the_end_of_the_connection_revokes_what_is_being_admitted(
    shared_host: Host, eventually: Eventually
) -> None:
    """H14: EOF before acceptance stores nothing; after it nothing is undone."""
    database, scope = shared_host.services.database, shared_host.services.scope
    async with shared_host.rpc() as client:
        await client.raw(_send_frame(shared_host, 801, "eof:accepted"))
        async with database.write(scope):
            before = shared_host.services.broadcaster.connections
            await client.socket.send(_send_frame(shared_host, 802, "eof:revoked"))
            await client.request("plugin/client/cancel", {"rpc_id": 12345})
            await client.socket.close()
            seats = shared_host.services.broadcaster
            await eventually(lambda: seats.connections < before, "the connection has ended")
    async with shared_host.rpc() as later:
        assert await later.code("agents.receipt", {"request_id": "eof:revoked"}) == "not_found"
        kept = await later.result("agents.receipt", {"request_id": "eof:accepted"})
        assert kept["receipt"]["state"] == "accepted"


async def test_writes_of_one_connection_keep_their_order(shared_host: Host) -> None:
    """C1: frames sent one behind the other are accepted in that order."""
    async with shared_host.rpc() as client:
        for number in range(20):
            await client.socket.send(_send_frame(shared_host, 1000 + number, f"order:{number}"))
        answers: list[Any] = [await client.answer() for _ in range(20)]
    by_id = {answer["id"]: answer["result"]["receipt"]["message_seq"] for answer in answers}
    places = [by_id[1000 + number] for number in range(20)]
    assert places == list(range(places[0], places[0] + 20))


def _send_frame(host: Host, rpc_id: int, request_id: str) -> str:
    params = {
        "plugin_id": "personal",
        "method": "agents.send",
        "params": {"session_id": host.session},
        "request_id": request_id,
        "user_input": {"text": "hello"},
    }
    return json.dumps({"jsonrpc": "2.0", "id": rpc_id, "method": "plugin/client/request", "params": params})
