"""A world with a database of its own, and a user space in a shared database, both on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest
from ulid import ULID

from store.database import Database
from store.schema import prepare
from tests.control_plane import Plane, open_plane
from tests.effect_world import World
from tests.worlds import Worlds


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each of the two kinds."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/steward.sqlite"
    return str(request.getfixturevalue("fresh_postgres_url"))


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def new_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Awaitable[str]]:
    """A function that returns the address of an empty database that lasts, of each of the two kinds."""

    async def make() -> str:
        if request.param == "sqlite":
            return f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('shared')}/steward.sqlite"
        administration = str(request.getfixturevalue("postgres_url"))
        name = f"shared_{str(ULID()).lower()}"
        connection = await asyncpg.connect(administration.replace("postgresql+asyncpg://", "postgresql://"))
        await connection.execute(f'CREATE DATABASE "{name}"')
        await connection.close()
        return administration.rsplit("/", 1)[0] + f"/{name}"

    return make


@pytest.fixture(scope="session")
async def worlds(new_url: Callable[[], Awaitable[str]]) -> AsyncIterator[Worlds]:
    """Worlds on each of the two databases."""
    opened = Worlds(new_url)
    yield opened
    await opened.close()


@pytest.fixture
async def world(worlds: Worlds, tmp_path: Path) -> AsyncIterator[World]:
    """A world on each of the two databases."""
    async with worlds.open(tmp_path / "home") as opened:
        yield opened


@pytest.fixture(scope="session")
async def prepared_url(new_url: Callable[[], Awaitable[str]]) -> str:
    """The address of a database that the migrations have prepared, shared by all tests with a space of their own."""
    url = await new_url()
    database = Database(url)
    await prepare(database)
    await database.close()
    return url


@pytest.fixture(scope="session")
async def shared_database(prepared_url: str) -> AsyncIterator[Database]:
    """The test process's connections to the shared database."""
    database = Database(prepared_url)
    yield database
    await database.close()


@pytest.fixture
async def plane(shared_database: Database) -> Plane:
    """A new user space in each of the two databases."""
    return await open_plane(shared_database)


@pytest.fixture
async def other(plane: Plane) -> Plane:
    """Another user space in the same database."""
    return await open_plane(plane.database)
