"""One Steward of real processes in a temporary home (`steward up`), and what is measured beside it.

All of them end with the block, by the processes' own ids.
"""

import asyncio
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
from temporalio.client import Client
from temporalio.contrib.pydantic import pydantic_data_converter

from benchmarks.rpc_client import RpcClient, connected
from contracts.names import conversation_workflow

ROOT = Path(__file__).resolve().parents[1]
START_S = 180.0
STOP_S = 20.0
POLL_S = 0.05
STEWARD = str(Path(sys.executable).with_name("steward"))


@dataclass(frozen=True, slots=True)
class Instance:
    """A running Steward."""

    home: Path
    base: str
    temporal: Client
    model_url: str

    @property
    def token(self) -> str:
        """The owner's credential."""
        return (self.home / "user-spaces" / "local" / "personal" / "state" / "owner.token").read_text().strip()

    def process(self, name: str) -> psutil.Process:
        """The supervised process `host`, `worker` or `temporal`."""
        return psutil.Process(int((self.home / "run" / f"{name}.pid").read_text()))

    async def rest(self) -> None:
        """Wait until the conversation runs no turn."""
        handle = self.temporal.get_workflow_handle(conversation_workflow("local", "personal"))
        state: dict[str, str | None] = {"running_turn_id": "unknown"}
        while state["running_turn_id"] is not None:
            state = await handle.query("state")

    @asynccontextmanager
    async def client(self) -> AsyncIterator[RpcClient]:
        """An initialised client of the host."""
        async with connected(self.base, self.token) as client:
            yield client


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return ports


@asynccontextmanager
async def running_process(*command: str, environment: dict[str, str] | None = None) -> AsyncIterator[int]:
    """A process that ends with the block; its id."""
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env={**os.environ, **(environment or {})}, stdout=quiet, stderr=None
    )
    try:
        yield process.pid
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(STOP_S):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


@asynccontextmanager
async def model_server(folder: Path) -> AsyncIterator[str]:
    """The scripted model server in a process of its own; its address."""
    port_file = folder / "model.port"
    script = ROOT / "tests" / "fake_model_server.py"
    async with running_process(sys.executable, str(script), "--port", "0", "--port-file", str(port_file)):

        async def listens() -> bool:
            return port_file.exists() and bool(port_file.read_text())

        await until(listens)
        yield f"http://127.0.0.1:{port_file.read_text()}"


@asynccontextmanager
async def steward(command: str = "up", ready: str = "/readyz", **settings: object) -> AsyncIterator[Instance]:
    """Steward with the scripted model in a process of its own, ready for clients.

    Args:
        command: `up`, or `host` for a host alone, without Temporal.
        ready: The path that answers 200 when the measurement may begin.
        settings: By field name.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="steward-bench-")))
        model_url = await stack.enter_async_context(model_server(folder))
        port, temporal_port, ui_port = free_ports(3)
        given = {
            "home": folder / "home", "composition_profile": "personal", "port": port, "temporal_port": temporal_port,
            "temporal_ui_port": ui_port, "model": "openai-chat:fake-model", "model_base_url": f"{model_url}/v1",
            "model_api_key": "key", "log_format": "json", **settings,
        }  # fmt: skip
        environment = {f"STEWARD_{name.upper()}": str(value) for name, value in given.items()}
        await stack.enter_async_context(running_process(STEWARD, command, environment=environment))
        await _until_ready(f"http://127.0.0.1:{port}{ready}")
        temporal = await Client.connect(
            f"127.0.0.1:{temporal_port}", data_converter=pydantic_data_converter, lazy=True
        )
        yield Instance(folder / "home", f"http://127.0.0.1:{port}", temporal, model_url)


async def _until_ready(address: str) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:

        async def ready() -> bool:
            try:
                return (await http.get(address)).status_code == httpx.codes.OK
            except httpx.HTTPError:
                return False

        await until(ready)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Look again until the condition holds, at most as long as a start may take."""
    for _ in range(int(START_S / POLL_S)):
        if await condition():
            return
        await asyncio.sleep(POLL_S)
    raise TimeoutError(f"what was waited for is not there within {START_S:.0f} s")
