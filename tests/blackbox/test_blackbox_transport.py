"""Who may connect, how many, how much: handshakes, links, uploads, connections, frames, slow readers.

H12, H19, H21, C9: what the network may do to a Steward, from the outside.
"""

import asyncio
import json
import re
import select
import socket
from contextlib import AsyncExitStack, suppress

import httpx
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import HELLO, Disconnected, Json, RpcClient
from tests.blackbox.scripts import say
from tests.blackbox.work import until_reply

MIB = 1024 * 1024
LIMIT = 20 * MIB
PATHS = ("/", "/healthz", "/readyz", "/metrics", "/login?token=x", "/api/settings", "/api/openapi.json", "/no/such")
FOREIGN: tuple[dict[str, str], ...] = (
    {"Host": "steward.example"},
    {"Host": "127.0.0.1.example:18000"},
    {"Host": ""},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
)


async def test_foreign_names_and_origins_are_refused_everywhere(shared: Instance) -> None:
    """H21: DNS rebinding and cross-site requests meet 403 `local_only` on every path, with a valid credential too."""
    async with shared.http() as http:
        for headers in FOREIGN:
            for path in PATHS:
                answer = await http.get(path, headers=headers)
                # An empty Host is no HTTP at all: refusing it is the transport's own business.
                assert answer.status_code == 403 or (not headers.get("Host", "x") and answer.status_code == 400)
                if answer.status_code == 403:
                    assert answer.json()["code"] == "local_only", (headers, path)
        upload = await http.post(
            "/api/attachments", content=b"x", headers={"X-Filename": "x", "Origin": "http://evil.example"}
        )
        assert (upload.status_code, upload.json()["code"]) == (403, "local_only")
    for origin in ("http://evil.example", "null"):
        with pytest.raises(InvalidStatus) as refused:
            async with shared.connect(origin=origin):
                pass
        assert refused.value.response.status_code == 403


async def test_without_a_credential(shared: Instance) -> None:
    """H19, api.md: 401 everywhere but where none is needed; a wrong token is as good as none."""
    for headers in ({}, {"Authorization": "Bearer " + "x" * 43}, {"Authorization": f"Basic {shared.token}"}):
        async with shared.http(headers=headers) as http:
            for path in ("/api/settings", "/api/openapi.json"):
                answer = await http.get(path)
                assert (answer.status_code, answer.json()["code"]) == (401, "unauthorized")
            upload = await http.post("/api/attachments", content=b"x", headers={"X-Filename": "x"})
            assert (upload.status_code, upload.json()["code"]) == (401, "unauthorized")
            for path in ("/healthz", "/readyz", "/metrics"):
                assert (await http.get(path)).status_code == 200
        with pytest.raises(InvalidStatus) as refused:
            async with shared.connect(headers=headers):
                pass
        assert refused.value.response.status_code == 401


async def test_the_printed_link_opens_once(shared: Instance) -> None:
    """H19, O1: the link that was printed signs a browser in, once; its cookie is for this site alone."""
    (link,) = re.findall(r"http://127\.0\.0\.1:\d+(/login\?token=\S+)", shared.printed())
    async with shared.http(headers={}) as browser:
        assert (await browser.get("/api/settings")).status_code == 401
        answer = await browser.get(link)
        assert answer.status_code in (302, 303)
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        settings = await browser.get("/api/settings")
        assert settings.status_code == 200
        assert shared.token not in settings.text
        assert "scripted-model-key" not in settings.text
        page = await browser.get("/")
        assert page.status_code == 200
        assert "default-src 'self'" in page.headers["content-security-policy"]
        name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
        async with shared.connect(headers={"Cookie": f"{name}={value}"}) as socket:
            await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}))
            assert "result" in json.loads(await socket.recv())
    async with shared.http(headers={}) as other:
        again = await other.get(link)
        assert (again.status_code, again.json()["code"]) == (401, "unauthorized")
        assert "set-cookie" not in again.headers


async def test_the_seventeenth_connection(shared: Instance) -> None:
    """H12: 16 serve, the next is accepted and closed with 1013; refused handshakes take no seat; a seat comes free."""
    await shared.hang_up()
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(shared.client()) for _ in range(16)]
        for _ in range(3):
            with pytest.raises(InvalidStatus):
                await stack.enter_async_context(shared.connect(headers={}))
        extra = await stack.enter_async_context(shared.connect())
        await extra.wait_closed()
        assert extra.close_code == 1013
        assert "in_progress" in await clients[15].call("agents.activity")
        assert await clients[0].answer("shutdown") == {"jsonrpc": "2.0", "id": 2, "result": {}}
        await clients[0].socket.wait_closed()

        async def is_free() -> bool:
            try:
                async with shared.client() as late:
                    return "in_progress" in await late.call("agents.activity")
            except (OSError, Disconnected, WebSocketException):
                return False

        await shared.until(is_free, "the seat of the client that left is free")


async def test_frames_over_one_mebibyte(shared: Instance) -> None:
    """H12: exactly 1 MiB is read; one byte more closes with 1009, and so does one that is far larger."""
    head, tail = '{"jsonrpc":"2.0","id":1,"method":"none","params":{"x":"', '"}}'
    async with shared.connect() as socket:
        await socket.send(head + "a" * (MIB - len(head) - len(tail)) + tail)
        assert json.loads(await socket.recv())["error"]["data"]["code"] == "not_initialized"
        await socket.send(head + "a" * (MIB + 1 - len(head) - len(tail)) + tail)
        await socket.wait_closed()
        assert socket.close_code == 1009
    async with shared.connect() as socket:
        with suppress(ConnectionClosed):
            await socket.send("x" * (8 * MIB))
        await socket.wait_closed()
        assert socket.close_code == 1009


async def test_a_client_that_does_not_read_delays_nobody(shared: Instance) -> None:
    """H12: its queue overflows at 4 MiB, it is closed with 1008 and counted; others work and stream on meanwhile."""
    attachment = await shared.upload(b"z" * (2 * MIB), "large.bin")
    receipt = await shared.send(say("with a file"), "slow:1", attachment_ids=[attachment["attachment_id"]])
    await until_reply(shared, receipt)
    params = {
        "session_id": await shared.ask(_session),
        "message_seq": receipt["message_seq"],
        "attachment_id": attachment["attachment_id"],
        "offset": 0,
        "length": 524_288,
    }
    async with shared.http() as http:
        before = _slow_disconnects(await http.get("/metrics"))
        async with shared.connect(max_queue=1) as slow:
            await slow.send(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}))
            envelope = {"plugin_id": "personal", "method": "host.session.attachment.read", "params": params}
            frame = {"jsonrpc": "2.0", "method": "plugin/client/request", "params": envelope}
            flood = asyncio.create_task(_flood(slow, frame))
            quick = await shared.send(say("as quick as ever"), "slow:2")
            assert (await until_reply(shared, quick))["text"] == "as quick as ever"

            async def counted() -> bool:
                return _slow_disconnects(await http.get("/metrics")) == before + 1

            await shared.until(counted, "the slow client was closed")
            with suppress(ConnectionClosed):
                async for _ in slow:
                    pass
            assert slow.close_code == 1008
            flood.cancel()
            await asyncio.gather(flood, return_exceptions=True)


async def test_an_upload_is_cut_off_while_it_is_read(shared: Instance) -> None:
    """C9: past 20 MiB it is 413 `limit_exceeded` while the client still sends; nothing of it is kept."""
    before = _stored(shared)
    text, sent = await asyncio.to_thread(_send_until_answered, shared)
    assert text.startswith("HTTP/1.1 413 ")
    assert '"code":"limit_exceeded"' in text
    assert LIMIT // MIB < sent < 200
    text = await asyncio.to_thread(_answer_to_an_announcement, shared, LIMIT + 1)
    assert text.startswith("HTTP/1.1 413 "), "what is announced is refused unread"
    await shared.until(lambda: _stored(shared) == before, "nothing of the upload is left")


async def test_uploads_at_the_limit(shared: Instance) -> None:
    """C8, C9: 20 MiB in one file is accepted; together with one byte more a send is refused and stores nothing."""
    whole = await shared.upload(b"\x00" * LIMIT, "exactly.bin")
    assert (whole["size"], whole["media_type"]) == (LIMIT, "application/octet-stream")
    extra = await shared.upload(b"\x89PNG\r\n\x1a\n" + b"\x00" * 64, "named.txt")
    assert extra["media_type"] == "image/png"
    async with shared.client() as client:
        session = {"session_id": client.server["main_session_id"]}
        before = await client.history()
        said = {"text": "x", "attachment_ids": [whole["attachment_id"], extra["attachment_id"]]}
        error = await client.error("agents.send", session, request_id="upload:both", user_input=said)
        assert error["data"]["code"] == "invalid_params"
        assert (error["data"]["limit"], error["data"]["value"]) == (LIMIT, LIMIT + extra["size"])
        assert await client.history() == before
        assert not (shared.files / "attachments" / extra["attachment_id"]).exists()


@pytest.mark.parametrize("name", ["", "%ff%fe", "..%2f..%2fetc%2fpasswd", "a%00b", "x" * 5000, "%2e%2e", "CON%0a"])
async def test_names_of_uploads(shared: Instance, name: str) -> None:
    """C9, O19: a name that cannot be used is `invalid_params` or made safe; none leads out of its folder."""
    async with shared.http() as http:
        answer = await http.post("/api/attachments", content=b"content", headers={"X-Filename": name})
    if answer.status_code == 422:
        assert answer.json()["code"] == "invalid_params"
        return
    assert answer.status_code == 201
    described = answer.json()
    assert "/" not in described["name"]
    receipt = await shared.send(
        say("named"), f"names:{described['attachment_id']}", attachment_ids=[described["attachment_id"]]
    )
    await until_reply(shared, receipt)
    folder = shared.files / "attachments" / described["attachment_id"]
    assert [path.read_bytes() for path in folder.iterdir()] == [b"content"]


async def test_errors_over_http_are_problem_details(shared: Instance) -> None:
    """api.md, O19: RFC 9457 with the stable code; no 5xx, no stack trace, no path of this machine."""
    async with shared.http() as http:
        answers = [
            (await http.get("/nothing/here"), 404),
            (await http.post("/healthz"), 405),
            (await http.post("/api/attachments", content=b"x"), 422),
            (await http.delete("/api/settings"), 405),
        ]
        for answer, status in answers:
            assert answer.status_code == status
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == status
            assert answer.json()["code"]
            assert str(shared.home) not in answer.text


def _send_until_answered(steward: Instance) -> tuple[str, int]:
    """Upload without end; the answer, and how many MiB were sent before it came."""
    sent = 0
    with _upload_by_hand(steward, "Transfer-Encoding: chunked") as connection:
        # A socket of its own: one that is reset while it sends keeps the answer that has come, a stream drops it.
        with suppress(ConnectionError):
            while sent < 500 and not select.select([connection], [], [], 0)[0]:
                connection.sendall(b"100000\r\n" + b"u" * MIB + b"\r\n")
                sent += 1
        return _answer(connection), sent


def _answer_to_an_announcement(steward: Instance, size: int) -> str:
    """Announce so many bytes and send none of them; the answer."""
    with _upload_by_hand(steward, f"Content-Length: {size}") as connection:
        return _answer(connection)


def _answer(connection: socket.socket) -> str:
    received = b""
    while not received.endswith(b"}") and (piece := connection.recv(65536)):
        received += piece
    return received.decode()


def _upload_by_hand(steward: Instance, framing: str) -> socket.socket:
    """Begin an upload whose body the test sends itself, or does not."""
    connection = socket.create_connection(("127.0.0.1", steward.port), timeout=30)
    head = (
        "POST /api/attachments HTTP/1.1",
        f"Host: 127.0.0.1:{steward.port}",
        f"Authorization: Bearer {steward.token}",
        "X-Filename: endless.bin",
        framing,
    )
    connection.sendall(("\r\n".join(head) + "\r\n\r\n").encode())
    return connection


def _slow_disconnects(answer: httpx.Response) -> float:
    return float(re.findall(r"^steward_slow_client_disconnects_total (\S+)$", answer.text, re.MULTILINE)[0])


def _stored(steward: Instance) -> set[str]:
    """What lies in the private state folder, but for the databases."""
    state = steward.space / "state"
    return {
        str(path.relative_to(state)) for path in state.rglob("*") if path.is_file() and "sqlite" not in path.name
    }


async def _flood(socket: ClientConnection, frame: Json) -> None:
    for number in range(1, 400):
        await socket.send(json.dumps({**frame, "id": number}))


async def _session(client: RpcClient) -> str:
    return str(client.server["main_session_id"])
