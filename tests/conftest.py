"""Fixtures shared by all tests: a real Temporal dev server, a real PostgreSQL, free ports and the browser's path.

Servers live for the whole session, listen on loopback only, and die with the test process.
"""

import asyncio
import os
import shutil
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import hypothesis
import pytest
from temporalio.testing import WorkflowEnvironment
from ulid import ULID

from contracts.search_attributes import ALL_KEYS
from runtime.data_converter import DATA_CONVERTER
from runtime.temporal_binary import SERVER_FLAGS, temporal_binary
from tests.postgres_server import PostgresServer
from tests.worlds import Worlds

# How long an example takes is the machine's business: no test asserts a time.
hypothesis.settings.register_profile(
    "steward", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)  # fmt: skip
hypothesis.settings.load_profile("steward")
POLL_S = 0.05
"""Slow enough not to be the load of what is waited for."""


class Eventually:
    """Waits by polling, with a bound, and says what did not happen."""

    async def __call__(
        self, condition: Callable[[], bool | Awaitable[bool]], what: str, within_s: float = 30.0
    ) -> None:
        deadline = time.monotonic() + within_s
        while True:
            answer = condition()
            if (await answer) if isinstance(answer, Awaitable) else answer:
                return
            if time.monotonic() > deadline:
                pytest.fail(f"Not within {within_s} s: {what}", pytrace=False)
            await asyncio.sleep(POLL_S)


@pytest.fixture(scope="session")
def free_port() -> Callable[[], int]:
    """A function that returns a loopback port nobody listens on; each call returns another one."""
    given: set[int] = set()

    def choose() -> int:
        while True:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = int(probe.getsockname()[1])
            if port not in given:
                given.add(port)
                return port

    return choose


@pytest.fixture(scope="session")
async def temporal_env() -> AsyncIterator[WorkflowEnvironment]:
    """A real dev server with production's flags, search attributes and converter; its database is in memory.

    Name each test's task queue anew: two workers of one kind on one queue in one process are refused.
    """
    async with await WorkflowEnvironment.start_local(
        data_converter=DATA_CONVERTER,
        search_attributes=list(ALL_KEYS),
        dev_server_existing_path=str(temporal_binary()),
        dev_server_extra_args=list(SERVER_FLAGS),
        dev_server_log_level="error",
    ) as environment:
        yield environment


@pytest.fixture
def task_queue() -> str:
    """A task queue of this test alone."""
    return f"test-{ULID()}"


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory, free_port: Callable[[], int]) -> Iterator[str]:
    """SQLAlchemy address of a real PostgreSQL server (O15); its `postgres` database is for administration."""
    with PostgresServer(tmp_path_factory.mktemp("postgres"), free_port()) as server:
        yield server.url("postgres")


@pytest.fixture
async def fresh_postgres_url(postgres_url: str) -> AsyncIterator[str]:
    """SQLAlchemy address of an empty database of this test alone, dropped afterwards."""
    name = f"test_{str(ULID()).lower()}"
    administration = postgres_url.replace("postgresql+asyncpg://", "postgresql://")
    connection = await asyncpg.connect(administration)
    try:
        await connection.execute(f'CREATE DATABASE "{name}"')
        yield postgres_url.rsplit("/", 1)[0] + f"/{name}"
        await connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    finally:
        await connection.close()


@pytest.fixture(scope="session")
async def sqlite_worlds(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Worlds]:
    """Worlds on a SQLite file."""

    async def new_url() -> str:
        return f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('worlds')}/steward.sqlite"

    worlds = Worlds(new_url)
    yield worlds
    await worlds.close()


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """The installed Chromium; a browser test fails with one line where there is none (O8)."""
    named = os.environ.get("STEWARD_CHROMIUM")
    candidates = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = named or next((path for name in candidates if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail(
            "Chromium is missing: run `make test` as root on Debian or Ubuntu, install it, or set STEWARD_CHROMIUM.",
            pytrace=False,
        )
    return found


@pytest.fixture(scope="session")
def eventually() -> Eventually:
    """A function that polls a condition until it holds: `await eventually(lambda: …, "what should have happened")`."""
    return Eventually()


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the source tree."""
    return Path(__file__).resolve().parent.parent
