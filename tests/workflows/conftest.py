"""Fixtures of workflow tests: a scripted model server and a whole Steward on a dev server of its own."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fake_model_server import FakeModelServer
from tests.workflows.rig import Rig, steward


@pytest.fixture
def models() -> Iterator[FakeModelServer]:
    """The scripted model server."""
    with FakeModelServer() as server:
        yield server


@pytest.fixture
def scripted(models: FakeModelServer) -> dict[str, Any]:
    """Settings that use the scripted model."""
    return {"model": "openai-chat:fake-model", "model_base_url": f"{models.url}/v1", "model_api_key": "key"}


@pytest.fixture
async def rig(tmp_path: Path, scripted: dict[str, Any]) -> AsyncIterator[Rig]:
    """A Steward with the scripted model."""
    async with steward(tmp_path / "home", **scripted) as running:
        yield running
