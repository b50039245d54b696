"""A world with a database of its own, and a user space in a shared database, both on SQLite and on PostgreSQL."""

from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from ulid import ULID

from store.database import Database
from store.schema import prepare
from tests.control_plane import Plane, open_plane
from tests.effect_world import World, open_world


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, of each of the two kinds."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path}/steward.sqlite"
    return str(request.getfixturevalue("fresh_postgres_url"))


@pytest.fixture
async def world(database_url: str, tmp_path: Path) -> AsyncIterator[World]:
    """A world on each of the two databases."""
    opened = await open_world(database_url, tmp_path / "home")
    yield opened
    await opened.database.close()


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
async def prepared_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a database that the migrations have prepared, shared by all tests with a space of their own."""
    if request.param == "sqlite":
        url = f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('shared')}/steward.sqlite"
    else:
        administration = str(request.getfixturevalue("postgres_url"))
        name = f"shared_{str(ULID()).lower()}"
        connection = await asyncpg.connect(administration.replace("postgresql+asyncpg://", "postgresql://"))
        await connection.execute(f'CREATE DATABASE "{name}"')
        await connection.close()
        url = administration.rsplit("/", 1)[0] + f"/{name}"
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
