"""A real host on a real SQLite file and a real port, without Temporal: it accepts all the same (C2)."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets
from websockets.asyncio.client import ClientConnection

from host.serve import HostServer, background, listen, open_host
from host.services import Services
from runtime.folders import prepare_folders
from runtime.settings import Settings
from tests.conftest import Eventually
from tests.prepared_file import put_prepared_file

ISOLATION = {"memory": "logical", "host": "unverified"}
Json = dict[str, Any]


@dataclass
class Rpc:
    """A client that tells answers from notifications."""

    socket: ClientConnection
    events: list[Json] = field(default_factory=list)
    last_id: int = 0

    async def raw(self, text: str) -> Json:
        """Send a frame and take the next answer."""
        await self.socket.send(text)
        return await self.answer()

    async def answer(self) -> Json:
        while True:
            message: Json = json.loads(await asyncio.wait_for(self.socket.recv(), 20))
            if "method" not in message:
                return message
            self.events.append(message["params"])

    async def event(self, topic: str) -> Json:
        """The next notification of a topic."""
        while True:
            message = json.loads(await asyncio.wait_for(self.socket.recv(), 20))
            if message.get("method") == "plugin/client/event":
                self.events.append(message["params"])
                if message["params"]["topic"] == topic:
                    found: Json = message["params"]
                    return found

    async def request(self, method: str, params: Json | None = None) -> Json:
        """Send a request of the host's own methods and return its whole answer."""
        self.last_id += 1
        frame = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params or {}}
        await self.socket.send(json.dumps(frame))
        while True:
            answer = await self.answer()
            if answer.get("id") == self.last_id:
                return answer

    async def call(self, method: str, params: Json | None = None, **envelope: Any) -> Json:
        """Call a method of the plug-in `personal`; the whole answer."""
        wanted = {"plugin_id": "personal", "method": method, "params": params or {}, **envelope}
        return await self.request("plugin/client/request", wanted)

    async def result(self, method: str, params: Json | None = None, **envelope: Any) -> Json:
        """Call a method that must succeed."""
        answer = await self.call(method, params, **envelope)
        assert "result" in answer, answer
        result: Json = answer["result"]
        return result

    async def code(self, method: str, params: Json | None = None, **envelope: Any) -> str:
        """Call a method that must be refused; its stable code."""
        answer = await self.call(method, params, **envelope)
        assert "error" in answer, answer
        return str(answer["error"]["data"]["code"])


@dataclass(frozen=True)
class Reachable:
    """A host that serves, in this process or another one."""

    settings: Settings

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.settings.port}"

    @property
    def token(self) -> str:
        return (self.settings.state_dir / "owner.token").read_text()

    def http(self, **options: Any) -> httpx.AsyncClient:
        """An HTTP client with the owner's credential."""
        headers = {"Authorization": f"Bearer {self.token}"} | options.pop("headers", {})
        # Nothing here is TLS, and reading all certificates of the world costs more than many requests.
        return httpx.AsyncClient(base_url=self.base, headers=headers, trust_env=False, verify=False, **options)

    def connect(self, headers: dict[str, str] | None = None, **options: Any) -> websockets.connect:
        """A WebSocket to `/rpc` with the owner's credential, or with these headers."""
        given = {"Authorization": f"Bearer {self.token}"} if headers is None else headers
        uri = f"ws://127.0.0.1:{self.settings.port}/rpc"
        return websockets.connect(uri, additional_headers=given, max_size=None, proxy=None, **options)

    @asynccontextmanager
    async def rpc(self) -> AsyncIterator[Rpc]:
        """An initialised client."""
        async with self.connect() as socket:
            client = Rpc(socket)
            await client.request("initialize", {"protocol_version": 1, "client": {"name": "test", "version": "1"}})
            yield client

    async def upload(self, content: bytes, name: str = "notes.txt") -> str:
        """Upload an attachment and return its id."""
        async with self.http() as http:
            answer = await http.post("/api/attachments", content=content, headers={"X-Filename": name})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["attachment_id"])


@dataclass(frozen=True)
class Host(Reachable):
    """A host that serves in this process."""

    services: Services

    @property
    def session(self) -> str:
        return self.services.main_session_id


@asynccontextmanager
async def serving(settings: Settings) -> AsyncIterator[Host]:
    """Serve until the block ends."""
    prepare_folders(settings)
    if settings.database_url is None:
        await put_prepared_file(settings.state_dir / "steward.sqlite")
    async with open_host(settings, ISOLATION) as host:
        server = HostServer(host.services)
        with listen(settings) as listener:
            async with background(host):
                running = asyncio.create_task(server.serve([listener]))
                await Eventually()(lambda: server.started, "the server has started")
                yield Host(settings, host.services)
                server.stop()
                await running


@pytest.fixture(scope="session")
def host_settings(free_port: Callable[[], int]) -> Callable[..., Settings]:
    """Settings of a host in a folder, with an embedded Temporal that is not there."""

    def make(home: Path, **more: Any) -> Settings:
        ports = {"port": free_port(), "temporal_port": free_port(), "temporal_ui_port": free_port()}
        return Settings(**{"home": home, "composition_profile": "personal", **ports, **more})

    return make


@pytest.fixture
async def host(host_settings: Callable[..., Settings], tmp_path: Path) -> AsyncIterator[Host]:
    """A host of this test alone."""
    async with serving(host_settings(tmp_path)) as running:
        yield running


@pytest.fixture(scope="session")
async def shared_host(
    host_settings: Callable[..., Settings], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Host]:
    """A host shared by all tests that leave it as they found it, but for more messages."""
    async with serving(host_settings(tmp_path_factory.mktemp("shared-host"))) as running:
        yield running
