"""HTTP: who gets in, what every answer carries, uploads, settings, metrics (H19, H21, C9, C10, P14, O10)."""

import asyncio
import base64
import hashlib
import json
import os
import stat
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest
import structlog
from sqlalchemy import select, update
from websockets.exceptions import InvalidStatus

from host.housekeeping import forget_old
from store.identity import create_login_link
from store.tables_conversation import AttachmentRow
from store.tables_host import LoginLinkRow, WebSessionRow
from tests.host.conftest import Host

PROTECTED = ["/api/settings", "/api/openapi.json"]
FOREIGN = [
    {"Host": "evil.example"},
    {"Host": "evil.example:18000"},
    {"Host": ""},
    {"Host": "localhost:abc"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
]


async def test_the_owner_credential_is_private_and_stays(host: Host) -> None:
    """H19, O22: 0600, made once, no line end that a script would have to strip."""
    path = host.settings.state_dir / "owner.token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text() == path.read_text().strip()
    assert len(path.read_text()) >= 43
    assert host.services.credential.matches(path.read_text())
    assert not host.services.credential.matches("")
    path.write_text("r" * 43)
    assert host.services.credential.matches("r" * 43)
    path.write_text("")
    assert not host.services.credential.matches("")


async def test_a_link_works_once(shared_host: Host) -> None:
    """H19: exchanged for an HttpOnly, SameSite=Strict cookie that authenticates both page and transport."""
    token = await _link(shared_host)
    async with httpx.AsyncClient(base_url=shared_host.base, trust_env=False, verify=False) as browser:
        first = await browser.get(f"/login?token={token}")
        assert (first.status_code, first.headers["location"]) == (303, "/")
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert "Path=/" in cookie
        assert (await browser.get("/")).status_code == 200
        assert (await browser.get("/api/settings")).status_code == 200
        value = cookie.split(";")[0]
        async with shared_host.connect(headers={"Cookie": value}) as socket:
            assert socket.response is not None
    async with httpx.AsyncClient(base_url=shared_host.base, trust_env=False, verify=False) as other:
        second = await other.get(f"/login?token={token}")
        assert (second.status_code, second.json()["code"]) == (401, "unauthorized")
        assert "set-cookie" not in second.headers
        page = await other.get(f"/login?token={token}", headers={"Accept": "text/html"})
        assert (page.status_code, page.headers["location"]) == (303, "/")
        assert (await other.get("/")).status_code == 401
    async with shared_host.services.reading() as tx:
        kept = [*(await tx.session.scalars(select(LoginLinkRow.token_hash)))]
        sessions = [*(await tx.session.scalars(select(WebSessionRow.token_hash)))]
    assert token not in kept
    assert value.partition("=")[2] not in sessions


async def test_of_two_uses_at_once_one_wins(shared_host: Host) -> None:
    """H19: valid once, also in a race."""
    token = await _link(shared_host)
    async with httpx.AsyncClient(base_url=shared_host.base, trust_env=False, verify=False) as http:
        answers = await asyncio.gather(*(http.get(f"/login?token={token}") for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [303, *[401] * 7]


async def test_a_link_ends_after_ten_minutes(shared_host: Host) -> None:
    """H19: too old is as good as used."""
    token = await _link(shared_host)
    async with shared_host.services.database.write(shared_host.services.scope) as tx:
        await tx.session.execute(update(LoginLinkRow).values(expires_at=tx.now - timedelta(seconds=1)))
    async with httpx.AsyncClient(base_url=shared_host.base, trust_env=False, verify=False) as http:
        assert (await http.get(f"/login?token={token}")).status_code == 401


async def test_a_rotated_credential_ends_browser_sessions(host: Host) -> None:
    """H19: sessions depend on the credential they were made under."""
    async with httpx.AsyncClient(base_url=host.base, trust_env=False, verify=False) as browser:
        await browser.get(f"/login?token={await _link(host)}")
        assert (await browser.get("/")).status_code == 200
        (host.settings.state_dir / "owner.token").write_text("n" * 43)
        assert (await browser.get("/")).status_code == 401


@pytest.mark.parametrize("path", PROTECTED)
async def test_without_a_credential_there_is_nothing(shared_host: Host, path: str) -> None:
    """H19: 401 as problem details; a wrong bearer is not mended by anything."""
    async with httpx.AsyncClient(base_url=shared_host.base, trust_env=False, verify=False) as http:
        for header in (None, "Bearer x", "Basic eA==", "Bearer"):
            headers = {} if header is None else {"Authorization": header}
            answer = await http.get(path, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["code"] == "unauthorized"
            assert answer.json()["status"] == 401


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
@pytest.mark.parametrize("path", ["/", "/healthz", "/nothing", "/api/settings", "/login?token=x", "/metrics"])
async def test_foreign_names_and_origins_are_refused_everywhere(
    shared_host: Host, path: str, headers: dict[str, str]
) -> None:
    """H21: 403 `local_only` on every path, also with the right credential."""
    async with shared_host.http() as http:
        answer = await http.get(path, headers=headers)
    if headers.get("Host") == "" and answer.status_code == 400:
        return  # the HTTP parser was stricter still
    assert (answer.status_code, answer.json()["code"]) == (403, "local_only")


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_foreign_handshakes_are_refused(shared_host: Host, headers: dict[str, str]) -> None:
    """H21, O11: cross-site WebSockets get no connection; the refusal is told with its code."""
    given = {"Authorization": f"Bearer {shared_host.token}", **headers}
    if "Host" in given:
        given.pop("Host")
        async with shared_host.http() as http:
            upgrade = {
                **headers, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                "Sec-WebSocket-Key": base64.b64encode(b"0" * 16).decode(),
            }  # fmt: skip
            assert (await http.get("/rpc", headers=upgrade)).status_code in (400, 403)
        return
    with structlog.testing.capture_logs() as lines, pytest.raises(InvalidStatus) as refused:
        async with shared_host.connect(headers=given):
            pass
    assert refused.value.response.status_code == 403
    assert [line["code"] for line in lines if line["event"] == "handshake_refused"] == ["local_only"]


async def test_every_answer_carries_the_security_headers(shared_host: Host) -> None:
    """O7, C11: also refusals and errors."""
    async with shared_host.http() as http:
        for path in ("/", "/healthz", "/metrics", "/api/settings", "/nothing"):
            answer = await http.get(path)
            assert "default-src 'self'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
        assert (await http.get("/nothing")).json()["code"] == "not_found"
        wrong = await http.get("/api/attachments")
        assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")


async def test_settings_say_what_is_set_and_no_secret(host_settings: object, shared_host: Host) -> None:
    """P14, P15: local callers see settings; secrets are masked."""
    async with shared_host.http() as http:
        shown = await http.get("/api/settings")
        api = await http.get("/api/openapi.json")
    assert shown.status_code == 200
    assert shared_host.token not in shown.text
    assert "/api/attachments" in api.json()["paths"]


async def test_an_upload_and_its_slices(shared_host: Host) -> None:
    """C9, C10: any slicing joins to the file's base64; history shows metadata, no path, no bytes."""
    content = os.urandom(300_001)
    async with shared_host.http() as http:
        answer = await http.post("/api/attachments", content=content, headers={"X-Filename": "%C3%BCber%20uns.bin"})
    said = answer.json()
    assert answer.status_code == 201
    assert set(said) == {"attachment_id", "name", "media_type", "size", "sha256"}
    assert (said["name"], said["size"], said["sha256"]) == (
        "über uns.bin", len(content), hashlib.sha256(content).hexdigest()
    )  # fmt: skip
    session = {"session_id": shared_host.session}
    async with shared_host.rpc() as client:
        sent = await client.result(
            "agents.send",
            session,
            request_id="upload:1",
            user_input={"text": "", "attachment_ids": [said["attachment_id"]]},
        )
        seq = sent["receipt"]["message_seq"]
        shown = await client.result("agents.history", {**session, "after_seq": seq - 1, "limit": 1})
        assert shown["items"][0]["attachments"] == [said]
        read = {**session, "message_seq": seq, "attachment_id": said["attachment_id"]}
        pieces, offset = [], 0
        while True:
            piece = await client.result("host.session.attachment.read", {**read, "offset": offset, "length": 100_001})
            pieces.append(piece["data"])
            offset += len(piece["data"])
            if offset == piece["total_base64_length"]:
                break
        assert base64.b64decode("".join(pieces)) == content
        assert piece["sha256"] == said["sha256"]
        wrong = {**read, "offset": 0, "length": 524_289}
        assert await client.code("host.session.attachment.read", wrong) == "invalid_params"
        foreign = {**read, "message_seq": seq + 100, "offset": 0, "length": 4}
        assert await client.code("host.session.attachment.read", foreign) == "not_found"
        missing = {"task_id": "task_1", "artifact_id": "artifact_1", "offset": 0, "length": 4}
        assert await client.code("agents.tasks.artifact.read", missing) == "not_found"
    copies = list((shared_host.settings.files_dir / "attachments" / said["attachment_id"]).iterdir())
    assert [copy.read_bytes() for copy in copies] == [content]


async def test_an_upload_is_cut_off_at_the_limit(shared_host: Host) -> None:
    """C9: 413 as soon as 20 MiB are passed, announced or not; nothing is left."""

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(21):
            yield b"x" * 1024 * 1024

    folder = shared_host.settings.state_dir / "attachments"
    before = sorted(folder.iterdir())
    async with shared_host.http() as http:
        streamed = await http.post("/api/attachments", content=endless(), headers={"X-Filename": "big"})
        announced = await http.post(
            "/api/attachments", content=b"x" * (20 * 1024 * 1024 + 1), headers={"X-Filename": "big"}
        )
    for answer in (streamed, announced):
        assert (answer.status_code, answer.json()["code"]) == (413, "limit_exceeded")
        assert answer.json()["limit"] == 20 * 1024 * 1024
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("name", [None, "", "%ff%fe", "x" * 5000])
async def test_an_upload_needs_a_name(shared_host: Host, name: str | None) -> None:
    """C9: percent-encoded UTF-8."""
    async with shared_host.http() as http:
        headers = {} if name is None else {"X-Filename": name}
        answer = await http.post("/api/attachments", content=b"x", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_params")


async def test_twenty_mebibytes_together_are_the_most(host: Host) -> None:
    """C8: decoded, in total; with the limit and the value."""
    half = [await host.upload(b"x" * (11 * 1024 * 1024), f"half{number}") for number in range(2)]
    async with host.rpc() as client:
        answer = await client.call(
            "agents.send",
            {"session_id": host.session},
            request_id="total:1",
            user_input={"text": "x", "attachment_ids": half},
        )
    data = answer["error"]["data"]
    assert (data["code"], data["limit"], data["value"]) == ("invalid_params", 20 * 1024 * 1024, 22 * 1024 * 1024)


async def test_unused_uploads_go_after_a_day(host: Host) -> None:
    """C9: what nothing refers to is deleted after 24 hours, and nothing else."""
    services = host.services
    unused, used = await host.upload(b"unused"), await host.upload(b"used")
    async with host.rpc() as client:
        said = {"text": "x", "attachment_ids": [used]}
        await client.result("agents.send", {"session_id": host.session}, request_id="sweep:1", user_input=said)
    folder = host.settings.state_dir / "attachments"
    async with services.database.write(services.scope) as tx:
        await tx.session.execute(update(AttachmentRow).values(created_at=tx.now - timedelta(hours=25)))
    for file in folder.iterdir():
        os.utime(file, (0, 0))
    await forget_old(services.database, services.scope, services.managed_files)
    assert sorted(file.name for file in folder.iterdir()) == [used]
    assert unused != used


async def test_metrics_are_counts_without_texts(shared_host: Host) -> None:
    """O10, I9: open on loopback; states, ages and numbers only."""
    async with shared_host.rpc() as client:
        await client.result(
            "agents.tasks.create",
            {"title": "planted-marker-title"},
            request_id="metrics:1",
            user_input={"text": "planted-marker-instructions"},
        )
    async with httpx.AsyncClient(base_url=shared_host.base, trust_env=False, verify=False) as http:
        answer = await http.get("/metrics")
    assert answer.status_code == 200
    assert "planted-marker" not in answer.text
    for name in (
        "steward_tasks{state=",
        "steward_outbox_entries",
        "steward_delivery_lag_seconds",
        "steward_task_idle_seconds",
        "steward_stop_oldest_seconds",
        "steward_delivery_submitted_seconds",
        'steward_effects{state="unknown"} 0.0',
        "steward_connections",
        "process_resident_memory_bytes",
    ):
        assert name in answer.text


async def test_health_needs_no_credential(shared_host: Host) -> None:
    """Liveness is of this process alone."""
    async with httpx.AsyncClient(base_url=shared_host.base, trust_env=False, verify=False) as http:
        assert (await http.get("/healthz")).json() == {"status": "ok"}


async def test_nothing_of_a_request_is_logged(shared_host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    """O11, I9: neither what was said nor a one-time token."""
    token = await _link(shared_host)
    async with shared_host.http() as http:
        await http.get(f"/login?token={token}")
        await http.get("/planted-marker")
    async with shared_host.rpc() as client:
        session = {"session_id": shared_host.session}
        await client.result("agents.send", session, request_id="log:1", user_input={"text": "planted-marker"})
        await client.raw(json.dumps({"jsonrpc": "2.0", "id": 999, "method": "planted-marker"}))
    said = capsys.readouterr()
    assert token not in said.out + said.err
    assert "planted-marker" not in said.out + said.err


async def _link(host: Host) -> str:
    async with host.services.database.write(host.services.scope) as tx:
        return await create_login_link(tx)
