"""Which model a setting names (O3): `offline`, or `provider:name` through pydantic-ai's model layer.

The hard thing is failing well: every wrong or missing setting is one line that names the setting, found when the
program starts and without any network. Vendor libraries are loaded only for the provider that was chosen.
"""

import inspect
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

OFFLINE = "offline"

_URL_PARAMETERS = ("base_url", "azure_endpoint", "api_base")
_KEY_PARAMETERS = ("api_key", "token")
_NOT_OFFERED = frozenset(
    {"gateway", "openai-codex", "openai-chatgpt", "github-copilot", "openai-decisions"}
) | frozenset({"google-decisions", "system-one", "typesafe", "test", "elevenlabs", "voyageai", "sentence-transformers"})
"""Names of the library that are no conversational models, or that log in by themselves in a browser."""

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*[A-Z0-9]")


class ConfigurationError(Exception):
    """A setting is wrong or missing; the text is one line and begins with the setting's name (O3, O4)."""

    def __init__(self, setting: str, words: str) -> None:
        super().__init__(f"{setting} {' '.join(words.split())}")
        self.setting = setting


def resolve_model(
    name: str, base_url: str | None = None, api_key: str | None = None, *, setting: str = "STEWARD_MODEL"
) -> "Model[Any]":
    """Build the model a setting names, without touching the network (O3).

    The caller owns it: `async with model:` for as long as it is used closes its connections.

    Args:
        name: `offline` or `provider:name`, with pydantic-ai's provider names.
        base_url: Address of the service, where the provider takes one (STEWARD_MODEL_BASE_URL).
        api_key: Key of the service (STEWARD_MODEL_API_KEY); without it the provider's own variable is read.
        setting: The setting that `name` comes from, for messages.

    Raises:
        ConfigurationError: One line with the name of the setting to mend.
    """
    if name == OFFLINE:
        from assistant.offline import offline_model

        return offline_model()
    provider_name, _, model_name = name.partition(":")
    if not model_name.strip() or not provider_name.strip():
        raise ConfigurationError(setting, "must be 'offline' or 'provider:name', for example openai-chat:gpt-5-mini.")
    _check_url(base_url)
    provider_class = _provider_class(provider_name, setting)
    provider = _provider(provider_class, provider_name, setting, (base_url, api_key))
    return _model(name, provider, setting)


def _check_url(base_url: str | None) -> None:
    if base_url is None:
        return
    try:
        parts = urlsplit(base_url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid:
        raise ConfigurationError("STEWARD_MODEL_BASE_URL", "must be an http or https address with a host.")


def _provider_class(provider_name: str, setting: str) -> "type[Provider[Any]]":
    from pydantic_ai.providers import infer_provider_class

    if provider_name.partition("/")[0] in _NOT_OFFERED:
        raise ConfigurationError(setting, f"names the provider '{provider_name}', which is not offered here.")
    try:
        return infer_provider_class(provider_name)
    except ValueError:
        raise ConfigurationError(
            setting, f"names the unknown provider '{provider_name}'; see the list in the documentation."
        ) from None
    except ImportError:
        raise ConfigurationError(
            setting, f"names the provider '{provider_name}', whose library is not installed."
        ) from None


def _provider(
    provider_class: "type[Provider[Any]]", provider_name: str, setting: str, given: tuple[str | None, str | None]
) -> "Provider[Any]":
    accepted = inspect.signature(provider_class).parameters
    arguments: dict[str, Any] = {}
    for owner, value, names in (
        ("STEWARD_MODEL_BASE_URL", given[0], _URL_PARAMETERS),
        ("STEWARD_MODEL_API_KEY", given[1], _KEY_PARAMETERS),
    ):
        parameter = next((name for name in names if name in accepted), None)
        if value and parameter is None:
            raise ConfigurationError(owner, f"cannot be used with the provider '{provider_name}'; leave it out.")
        if value and parameter is not None:
            arguments[parameter] = value
    try:
        provider = provider_class(**arguments)
    except Exception as error:
        raise _missing(provider_name, setting, str(error)) from None
    if provider_name == "bedrock":
        _without_retries(provider.client)
    if type(provider.client).__module__.partition(".")[0] == "openai":
        _as_it_is(provider.client)
    return provider


def _missing(provider_name: str, setting: str, words: str) -> ConfigurationError:
    """Name the setting for what a provider misses: the libraries name their own environment variable."""
    variables = _VARIABLE.findall(words)
    if any(name.endswith(("BASE_URL", "ENDPOINT")) for name in variables[:1]):
        return ConfigurationError("STEWARD_MODEL_BASE_URL", f"is missing; the provider '{provider_name}' needs it.")
    if any(name.endswith(("KEY", "TOKEN")) for name in variables[:1]):
        return ConfigurationError("STEWARD_MODEL_API_KEY", f"is missing; the provider '{provider_name}' needs it.")
    needed = variables[0] if variables else "AWS_DEFAULT_REGION" if "region" in words.lower() else None
    detail = f"needs the environment variable {needed}" if needed else "is not set up completely"
    return ConfigurationError(setting, f"names the provider '{provider_name}', which {detail}.")


def _without_retries(client: Any) -> None:  # noqa: ANN401 - botocore makes its client classes at run time
    # Its model class takes no retry setting: without this the tries of O3 would each be several.
    client.meta.events.unregister("needs-retry.bedrock-runtime", unique_id="retry-config-bedrock-runtime")


def _as_it_is(client: Any) -> None:  # noqa: ANN401 - the library is loaded only for its providers
    """Send a request's messages and tools as they are: they are JSON already.

    The client would walk through each of them along all types that it could have, to rename what needs no renaming: a
    tenth of the host's processor time in a conversation (py-spy, benchmark c). Retries are turned off here for all
    requests, because a setting of each would have the client copied for each.
    """
    client.max_retries = 0
    ask = client.chat.completions.create

    async def create(*, messages: list[Any], extra_body: Any = None, **options: Any) -> Any:  # noqa: ANN401
        plain = {"messages": messages, "tools": options.pop("tools", None)}
        body = {key: value for key, value in plain.items() if isinstance(value, list)}
        return await ask(messages=[], extra_body={**body, **(extra_body or {})}, **options)

    client.chat.completions.create = create


def _model(name: str, provider: "Provider[Any]", setting: str) -> "Model[Any]":
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    try:
        return infer_model(name, provider_factory=lambda _: provider)
    except (UserError, ValueError):
        raise ConfigurationError(setting, f"names a model that '{provider.name}' cannot serve.") from None
    except ImportError:
        raise ConfigurationError(setting, f"needs a library of '{provider.name}' that is not installed.") from None
