"""A Steward for chaos: its own home and ports, the scripted model, and pauses short enough for many rounds."""

import socket
from contextlib import ExitStack
from pathlib import Path

from tests.blackbox.instance import Instance
from tests.fake_model_server import FakeModelServer


def chaotic_steward(folder: Path, models: FakeModelServer) -> Instance:
    """A Steward that is not started yet."""
    settings = {
        "STEWARD_MODEL": "openai-chat:fake-model",
        "STEWARD_MODEL_BASE_URL": f"{models.url}/v1",
        "STEWARD_MODEL_API_KEY": "scripted-model-key",
        "STEWARD_CARD_PARK_S": "5",
    }
    return Instance(folder / "home", _free_ports(), settings)


def _free_ports() -> tuple[int, int, int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(3)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        first, second, third = (each.getsockname()[1] for each in sockets)
    return first, second, third
