"""Fixtures of workflow tests: a scripted model server and a whole Steward on a dev server of its own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_model_server import FakeModelServer
from tests.workflows.rig import Rig, steward
from tests.workflows.skipped_time import SkippedTime


@pytest.fixture
def models() -> Iterator[FakeModelServer]:
    """The scripted model server."""
    with FakeModelServer() as server:
        yield server


def _settings_of(models: FakeModelServer) -> dict[str, Any]:
    return {"model": "openai-chat:fake-model", "model_base_url": f"{models.url}/v1", "model_api_key": "key"}


@pytest.fixture
def scripted(models: FakeModelServer) -> dict[str, Any]:
    """Settings that use the scripted model."""
    return _settings_of(models)


@pytest.fixture
async def rig(tmp_path: Path, scripted: dict[str, Any]) -> AsyncIterator[Rig]:
    """A Steward with the scripted model."""
    async with steward(tmp_path / "home", **scripted) as running:
        yield running


@pytest.fixture(scope="module")
async def skipping(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Rig, SkippedTime]]:
    """A Steward for a whole file whose time is skipped and only goes on; its owner grants nothing by itself."""
    home = tmp_path_factory.mktemp("skipping") / "home"
    with FakeModelServer() as models:
        settings = {**_settings_of(models), "allow_insecure_push": True, "granted": False}
        skipped = await SkippedTime.start()
        async with skipped.environment, steward(home, skipped_time=skipped, **settings) as running:
            yield running, skipped
