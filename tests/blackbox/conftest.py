"""Stewards for black-box tests: one shared by all tests that leave it as they found it, others made to order."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.blackbox.instance import Instance
from tests.fake_model_server import FakeModelServer

StartSteward = Callable[..., AbstractAsyncContextManager[Instance]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.blackbox)
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="session")
def models() -> Iterator[FakeModelServer]:
    """The scripted model."""
    with FakeModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def new_steward(
    tmp_path_factory: pytest.TempPathFactory, free_port: Callable[[], int], models: FakeModelServer
) -> Callable[..., Instance]:
    """Makes a Steward that is not started yet; settings are added to those of the scripted model."""

    def make(name: str, command: tuple[str, ...] = (), **settings: str) -> Instance:
        scripted = {
            "STEWARD_MODEL": "openai-chat:fake-model",
            "STEWARD_MODEL_BASE_URL": f"{models.url}/v1",
            "STEWARD_MODEL_API_KEY": "scripted-model-key",
        }
        ports = (free_port(), free_port(), free_port())
        return Instance(tmp_path_factory.mktemp(name) / "home", ports, {**scripted, **settings}, command)

    return make


@pytest.fixture(scope="session")
def start_steward(new_steward: Callable[..., Instance]) -> StartSteward:
    """Starts a Steward for the length of a block."""

    @asynccontextmanager
    async def start(name: str, command: tuple[str, ...] = (), **settings: str) -> AsyncIterator[Instance]:
        steward = new_steward(name, command, **settings)
        try:
            await steward.start()
            yield steward
        finally:
            await steward.end()

    return start


@pytest.fixture(scope="session")
async def shared(start_steward: StartSteward) -> AsyncIterator[Instance]:
    """A Steward for the tests that kill nothing and end their own work; idle, it costs the tests after it nothing."""
    async with start_steward("shared") as steward:
        yield steward
