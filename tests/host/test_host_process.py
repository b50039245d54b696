"""A whole host from start to end: lock, link, isolation, restart, SIGTERM and SIGKILL (H3, H4, H6, H16, H19)."""

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from sqlalchemy import delete

from domain.refusal import Refused
from host.serve import open_host
from runtime.settings import Settings
from store.tables_conversation import SessionRow
from tests.host.conftest import ISOLATION, Reachable, serving

RSS_LIMIT = 300 * 1024 * 1024


@asynccontextmanager
async def host_process(settings: Settings, repository: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a host and kill it afterwards if the test has not ended it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.host.host_process", settings.model_dump_json(exclude_none=True),
        cwd=repository, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _link(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), 60)).decode()
    found = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+/login\?token=\S+)\n", line)
    assert found, line
    return found[1]


async def test_a_host_process_starts_serves_and_ends(
    host_settings: Callable[..., Settings], tmp_path: Path, repository: Path
) -> None:
    """H16, H19, H10: the printed link works; SIGTERM with open connections ends with 0; memory stays within its bar."""
    settings = host_settings(tmp_path)
    async with host_process(settings, repository) as process:
        link = await _link(process)
        async with httpx.AsyncClient(trust_env=False) as browser:
            assert (await browser.get(link)).status_code == 303
            assert (await browser.get(f"http://127.0.0.1:{settings.port}/")).status_code == 200
        assert psutil.Process(process.pid).memory_info().rss < RSS_LIMIT
        token = (settings.state_dir / "owner.token").read_text()
        client = Reachable(settings)
        assert client.token == token
        async with client.rpc() as open_connection:
            process.send_signal(signal.SIGTERM)
            await open_connection.socket.wait_closed()
            assert open_connection.socket.close_code == 1001
            assert await asyncio.wait_for(process.wait(), 15) == 0


async def test_a_second_host_is_refused_until_the_first_is_dead(
    host_settings: Callable[..., Settings], tmp_path: Path, repository: Path
) -> None:
    """H4, I1: `host_locked`; the lock dies with its process, and what was accepted survives the kill."""
    settings = host_settings(tmp_path)
    async with host_process(settings, repository) as first:
        await _link(first)
        client = Reachable(settings)
        async with client.rpc() as rpc:
            said = await rpc.request("initialize", {"protocol_version": 1, "client": {"name": "t", "version": "1"}})
            session = {"session_id": said["result"]["main_session_id"]}
            await rpc.result("agents.send", session, request_id="kill:1", user_input={"text": "x"})
        async with host_process(settings, repository) as second:
            _, errors = await asyncio.wait_for(second.communicate(), 60)
            assert second.returncode == 1
            assert errors.decode().startswith("host_locked: ")
            assert str(tmp_path) not in errors.decode()
        first.send_signal(signal.SIGKILL)
        await first.wait()
        async with host_process(settings, repository) as third:
            await _link(third)
            async with client.rpc() as rpc:
                kept = await rpc.result("agents.receipt", {"request_id": "kill:1"})
                assert kept["receipt"]["state"] == "accepted"
                said = await rpc.request(
                    "initialize", {"protocol_version": 1, "client": {"name": "t", "version": "1"}}
                )
                assert said["result"]["main_session_id"] == session["session_id"]


async def test_verified_isolation_is_settled_before_anything_is_written(
    host_settings: Callable[..., Settings], tmp_path: Path, repository: Path
) -> None:
    """H3: without a verifier the host does not start and leaves no folder."""
    settings = host_settings(tmp_path / "home", isolation_mode="verified_host")
    async with host_process(settings, repository) as process:
        _, errors = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert errors.decode().startswith("user_host_isolation_required: ")
    assert not (tmp_path / "home").exists()


async def test_a_missing_main_session_stops_the_start(
    host_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    """H6: never a new one in silence."""
    settings = host_settings(tmp_path)
    async with serving(settings) as host, host.services.database.write(host.services.scope) as tx:
        await tx.session.execute(delete(SessionRow))
    with pytest.raises(Refused) as refused:
        async with open_host(settings, ISOLATION):
            pass
    assert refused.value.refusal.code == "main_session_missing"


async def test_the_generation_grows_with_a_changed_composition(
    host_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    """H7: +1 when it differs from the last start's; without a profile nothing of `personal` is there (H1)."""
    settings = host_settings(tmp_path)
    async with serving(settings) as host:
        assert host.services.composition.generation == 1
    async with serving(settings.model_copy(update={"composition_profile": None})) as host:
        assert host.services.composition.generation == 2
        async with host.rpc() as client:
            assert await client.code("agents.activity") == "service_not_available"
    async with serving(settings) as host:
        assert host.services.composition.generation == 3


async def test_a_coding_host_has_no_personal_services(
    host_settings: Callable[..., Settings], tmp_path: Path
) -> None:
    """H1: bound and separated alike, and none of the Personal services."""
    async with serving(host_settings(tmp_path, product_domain="coding")) as host, host.rpc() as client:
        assert await client.code("agents.activity") == "service_not_available"
