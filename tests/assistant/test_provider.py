"""Choosing a model (O3): every wrong setting is one line that names it, and nothing touches the network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_ai.models.function import FunctionModel

from assistant.provider import ConfigurationError, resolve_model


@pytest.fixture(autouse=True)
def _no_provider_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL", "_ENDPOINT", "_REGION")) or name.startswith("AWS_"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("name", "base_url", "kind"),
    [
        ("openai-chat:gpt-x", None, "OpenAIChatModel"),
        ("openai-chat:gpt-x", "http://127.0.0.1:9/v1", "OpenAIChatModel"),
        ("openai:gpt-x", None, "OpenAIResponsesModel"),
        ("openai-responses:gpt-x", None, "OpenAIResponsesModel"),
        ("anthropic:claude-x", None, "AnthropicModel"),
        ("google:gemini-x", None, "GoogleModel"),
        ("mistral:mistral-x", None, "MistralModel"),
        ("groq:llama-x", None, "GroqModel"),
        ("ollama:qwen", "http://127.0.0.1:9/v1", "OllamaModel"),
        ("bedrock:us.anthropic.claude-x", "http://127.0.0.1:9", "BedrockConverseModel"),
    ],
)
async def test_providers(name: str, base_url: str | None, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """O3: the named providers, with key and address; each can be entered and closed without a call."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    async with resolve_model(name, base_url, "key") as model:
        assert type(model).__name__ == kind
        assert base_url is None or (model.base_url or "").startswith(base_url)


@pytest.mark.parametrize(
    ("name", "base_url", "api_key", "setting"),
    [
        ("", None, None, "STEWARD_MODEL"),
        ("gpt-5", None, None, "STEWARD_MODEL"),
        ("openai-chat:", None, "k", "STEWARD_MODEL"),
        ("nope:x", None, "k", "STEWARD_MODEL"),
        ("test:x", None, "k", "STEWARD_MODEL"),
        ("github-copilot:x", None, "k", "STEWARD_MODEL"),
        ("cohere:x", None, "k", "STEWARD_MODEL"),
        ("openai-chat:x", None, None, "STEWARD_MODEL_API_KEY"),
        ("anthropic:x", None, None, "STEWARD_MODEL_API_KEY"),
        ("google:x", None, None, "STEWARD_MODEL_API_KEY"),
        ("mistral:x", None, None, "STEWARD_MODEL_API_KEY"),
        ("groq:x", None, None, "STEWARD_MODEL_API_KEY"),
        ("ollama:x", None, None, "STEWARD_MODEL_BASE_URL"),
        ("deepseek:x", "http://127.0.0.1:9", "k", "STEWARD_MODEL_BASE_URL"),
        ("openai-chat:x", "127.0.0.1:9", "k", "STEWARD_MODEL_BASE_URL"),
        ("openai-chat:x", "http://", "k", "STEWARD_MODEL_BASE_URL"),
        ("openai-chat:x", "http://h:99999", "k", "STEWARD_MODEL_BASE_URL"),
        ("bedrock:x", None, "k", "STEWARD_MODEL"),
    ],
)
def test_wrong_settings(name: str, base_url: str | None, api_key: str | None, setting: str) -> None:
    """O3: one line, beginning with the setting's name, without the key."""
    with pytest.raises(ConfigurationError) as wrong:
        resolve_model(name, base_url, api_key and "secret-key")
    assert wrong.value.setting == setting
    assert str(wrong.value).startswith(f"{setting} ")
    assert "\n" not in str(wrong.value)
    assert "secret-key" not in str(wrong.value)


def test_the_task_model_has_its_own_setting() -> None:
    """O3: the message names the setting the name came from."""
    with pytest.raises(ConfigurationError, match=r"\ASTEWARD_TASK_MODEL "):
        resolve_model("nope", setting="STEWARD_TASK_MODEL")


def test_offline_needs_nothing() -> None:
    """O1: without a model configured the built-in one answers."""
    assert isinstance(resolve_model("offline"), FunctionModel)
    assert resolve_model("offline").model_name == "offline"


def test_vendor_libraries_are_loaded_only_when_chosen(repository: Path) -> None:
    """Memory: the offline model costs no vendor library, and resolving opens no connection."""
    script = (
        "import socket, sys\n"
        "def refuse(*args, **kwargs): raise AssertionError('network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "import assistant.model_call\n"
        "from assistant.provider import resolve_model\n"
        "resolve_model('offline')\n"
        "vendors = {'openai', 'anthropic', 'google.genai', 'mistralai', 'groq', 'boto3'}\n"
        "assert not vendors & set(sys.modules), vendors & set(sys.modules)\n"
        "resolve_model('openai-chat:x', 'http://127.0.0.1:9/v1', 'k')\n"
        "assert vendors & set(sys.modules) == {'openai'}\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=repository, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
