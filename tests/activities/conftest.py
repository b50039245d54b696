"""A world on SQLite with the activities of its effects, and user spaces in one shared SQLite file."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from activities.effects import FileEffectActivities
from activities.hints import Hints
from contracts.starting import WorkflowStart
from store.database import Database
from store.schema import prepare
from tests.control_plane import Plane, open_plane
from tests.effect_world import World
from tests.worlds import Worlds


class Told(Hints):
    """Keeps what would have been signalled."""

    def __init__(self) -> None:
        self.hints: list[tuple[str, str, tuple[Any, ...]]] = []

    async def tell(self, workflow_id: str, signal: str, *arguments: Any) -> None:
        self.hints.append((workflow_id, signal, arguments))

    async def start(self, start: WorkflowStart) -> None:
        self.hints.append((start.workflow_id, "start", ()))

    async def turn_ended(self, user_space: str, domain: str, turn_id: str) -> None:
        self.hints.append((f"conversation:{user_space}:{domain}", "turn_ended", (turn_id,)))


@pytest.fixture
async def world(sqlite_worlds: Worlds, tmp_path: Path) -> AsyncIterator[World]:
    """A world with a database file, so that other processes can be part of it."""
    async with sqlite_worlds.open(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def told() -> Told:
    """What the activities told workflows."""
    return Told()


@pytest.fixture
def carried(world: World, told: Told) -> FileEffectActivities:
    """The activities of the world's effects."""
    return FileEffectActivities(world.database, world.performer, world.locks, told, world.limits)


@pytest.fixture(scope="session")
async def prepared_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A SQLite file that the migrations have prepared, shared by all tests with a space of their own."""
    url = f"sqlite+aiosqlite:///{tmp_path_factory.mktemp('shared')}/steward.sqlite"
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
    """A new user space in the shared file."""
    return await open_plane(shared_database)


@pytest.fixture
async def other(plane: Plane) -> Plane:
    """Another user space in the same database."""
    return await open_plane(plane.database)
