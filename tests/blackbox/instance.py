"""One Steward as its user has it: started by its command, reached by its ports and files only.

Nothing of the product is imported. The hard thing is a test that fails: the processes are ended with it all the same.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import httpx
import psutil
import pytest
import websockets
from temporalio.client import Client

from tests.blackbox.rpc_client import Disconnected, Json, Refusal, RpcClient

T = TypeVar("T")
STEWARD = Path(sys.executable).with_name("steward")
PROCESSES = ("worker", "host", "temporal")
POLL_S = 0.1
"""Slow enough not to be the load that is tested."""
START_LIMIT_S = 150.0
REST_LIMIT_S = 200.0
STOP_LIMIT_S = 15.0
"""H16: SIGTERM to exit within this."""


class Instance:
    """A home with its ports and the process that serves it."""

    def __init__(
        self, home: Path, ports: tuple[int, int, int], settings: Mapping[str, str], command: tuple[str, ...] = ()
    ) -> None:
        self.home = home
        self.port, self.temporal_port, self.ui_port = ports
        self.command = command or (str(STEWARD), "up", "--composition-profile", "personal")
        self.output = home.parent / f"{home.name}.output"
        self.process: asyncio.subprocess.Process | None = None
        self.reviewed = False
        self._line: RpcClient | None = None
        self._open = AsyncExitStack()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("STEWARD_", "TEMPORAL_"))}
        self.environment = {
            **kept,
            "STEWARD_HOME": str(home),
            "STEWARD_PORT": str(self.port),
            "STEWARD_TEMPORAL_PORT": str(self.temporal_port),
            "STEWARD_TEMPORAL_UI_PORT": str(self.ui_port),
            "XDG_CONFIG_HOME": str(home.parent / "no-config"),
            **settings,
        }

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def space(self) -> Path:
        return self.home / "user-spaces" / "local" / "personal"

    @property
    def files(self) -> Path:
        return self.space / "files"

    @property
    def token(self) -> str:
        return (self.space / "state" / "owner.token").read_text("ascii").strip()

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def printed(self) -> str:
        """Everything that the processes wrote to stdout and stderr so far."""
        return self.output.read_text("utf-8", "replace")

    async def start(self) -> None:
        """Start it and wait until it says that it is ready."""
        with self.output.open("ab") as output:
            self.process = await asyncio.create_subprocess_exec(
                *self.command,
                env=self.environment,
                cwd=self.home.parent,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        await self.until(self.is_ready, "Steward is ready", START_LIMIT_S)
        if not self.reviewed:
            # The scripted model would be asked about every effect, and read the test's directives in what it is shown.
            choice = {"expected_revision": 0, "changes": {"auto_review": False}}
            await self.ask(
                lambda client: client.call("agents.settings.update", choice, request_id="instance:no-review")
            )
            await self.hang_up()

    async def stop(self, number: signal.Signals = signal.SIGTERM, *, whole_group: bool = False) -> int:
        """Ask it to end, and return its exit code; a process that does not end in time fails the test (H16)."""
        assert self.process is not None
        if whole_group:
            os.killpg(self.process.pid, number)
        else:
            self.process.send_signal(number)
        async with asyncio.timeout(STOP_LIMIT_S):
            return await self.process.wait()

    async def run_to_its_end(self) -> tuple[int, str]:
        """Run the command where it must refuse to start; its exit code and what it printed."""
        process = await asyncio.create_subprocess_exec(
            *self.command, env=self.environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        async with asyncio.timeout(START_LIMIT_S):
            printed, _ = await process.communicate()
        return process.returncode or 0, printed.decode("utf-8", "replace")

    async def end(self) -> None:
        """Leave nothing running, whatever the test did."""
        await self.hang_up()
        if self.process is None or self.process.returncode is not None:
            return
        own = self.relatives()
        self.process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(2 * STOP_LIMIT_S):
                await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
        for process in own:
            if process.is_running():
                process.kill()

    async def is_ready(self) -> bool:
        assert self.process is not None
        if self.process.returncode is not None:
            pytest.fail(f"Steward ended with {self.process.returncode}:\n{self.printed()[-2000:]}", pytrace=False)
        try:
            async with self.http() as http:
                return (await http.get("/readyz")).status_code == 200
        except (httpx.HTTPError, OSError):
            return False

    def pid(self, name: str) -> int | None:
        """The pid that O22 promises in a file, None while there is none or nothing runs under it."""
        try:
            pid = int((self.home / "run" / f"{name}.pid").read_text("ascii"))
            return pid if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE else None
        except (OSError, ValueError, psutil.Error):
            return None

    def kill(self, name: str) -> int:
        """SIGKILL to one of the processes; its pid."""
        pid = self.pid(name)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        return pid

    def relatives(self) -> list[psutil.Process]:
        """All processes on this machine that belong to this home, by environment or command line."""
        found = []
        for process in psutil.process_iter():
            try:
                named = process.environ().get("STEWARD_HOME") == str(self.home)
                if named or any(str(self.home) in part for part in process.cmdline()):
                    found.append(process)
            except psutil.Error:
                continue
        return found

    @property
    def _headers(self) -> dict[str, str]:
        try:
            return self.authorization
        except OSError:
            return {}

    def http(self, headers: Mapping[str, str] | None = None) -> httpx.AsyncClient:
        """An HTTP client, with the owner's credential unless other headers are given."""
        given = self._headers if headers is None else headers
        # Nothing here is TLS, and reading all certificates of the world costs more than many requests.
        return httpx.AsyncClient(base_url=self.base, headers=given, trust_env=False, timeout=30, verify=False)

    def connect(self, headers: Mapping[str, str] | None = None, **options: object) -> websockets.connect:
        """A WebSocket to `/rpc`, with the owner's credential unless other headers are given."""
        given = self.authorization if headers is None else headers
        uri = f"ws://127.0.0.1:{self.port}/rpc"
        return websockets.connect(uri, additional_headers=given, max_size=None, proxy=None, **options)  # type: ignore[arg-type]

    @asynccontextmanager
    async def client(self, on_event: Callable[[Json], None] | None = None) -> AsyncIterator[RpcClient]:
        """An initialised connection."""
        async with self.connect() as socket:
            client = RpcClient(socket, on_event=on_event)
            reading = asyncio.create_task(client.read())
            try:
                await client.initialize()
                yield client
            finally:
                await socket.close()
                await reading

    async def ask(self, question: Callable[[RpcClient], Awaitable[T]]) -> T:
        """Ask on a kept connection, again until the host answers: for reads, and for writes with a request id (I2)."""
        answers: list[T] = []

        async def answered() -> bool:
            try:
                if self._line is None:
                    self._line = await self._open.enter_async_context(self.client())
                answers.append(await question(self._line))
            except (OSError, Disconnected, TimeoutError, websockets.WebSocketException):
                await self.hang_up()
                return False
            except Refusal as refusal:
                if refusal.code != "orchestrator_unavailable":
                    raise
                return False
            return True

        await self.until(answered, "the host answers", START_LIMIT_S)
        return answers[-1]

    async def hang_up(self) -> None:
        """Give up the connection that `ask` keeps."""
        self._line = None
        await self._open.aclose()

    async def send(self, text: str, request_id: str, **user_input: object) -> Json:
        """Send an input, with the same request id until there is a receipt."""
        return await self.ask(lambda client: client.send(text, request_id, **user_input))

    async def history(self) -> list[Json]:
        """The main conversation."""
        return await self.ask(lambda client: client.history())

    async def upload(self, content: bytes, name: str) -> Json:
        """Upload an attachment and return its description."""
        async with self.http() as http:
            answer = await http.post("/api/attachments", content=content, headers={"X-Filename": name})
        assert answer.status_code == 201, answer.text
        described: Json = answer.json()
        return described

    async def temporal(self) -> Client:
        """A client of the embedded Temporal server."""
        return await Client.connect(f"127.0.0.1:{self.temporal_port}")

    async def until(
        self,
        condition: Callable[[], bool | Awaitable[bool]],
        what: str,
        within_s: float = REST_LIMIT_S,
        every_s: float = POLL_S,
    ) -> None:
        """Poll a condition until it holds; after the bound the test fails and says what did not happen.

        A look that reads much is taken less often: it costs the processes that are waited for.
        """
        deadline = time.monotonic() + within_s
        while True:
            holds = condition()
            if (await holds) if isinstance(holds, Awaitable) else holds:
                return
            if time.monotonic() > deadline:
                pytest.fail(f"Not within {within_s} s: {what}. Printed last:\n{self.printed()[-3000:]}", pytrace=False)
            await asyncio.sleep(every_s)
