"""Reads settings from the environment and one TOML file, and turns every mistake into one line (H5, O3, O21).

The order is: what the caller overrides, `STEWARD_*`, the file, the defaults. Nothing comes from the working directory,
and no message repeats a value, since a value may be a secret.
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError
from pydantic_settings import EnvSettingsSource

from domain.fault_words import fault_words
from domain.refusal import Refused, refuse
from runtime.settings import Settings

PREFIX = "STEWARD_"
LARGEST_FILE_BYTES = 1024 * 1024


def load_settings(overrides: Mapping[str, object] | None = None, config: Path | None = None) -> Settings:
    """Return the settings of this process.

    Args:
        overrides: Values by field name, as given on the command line; None values count as not given.
        config: An explicit settings file; without it `STEWARD_CONFIG`, else the user's own file if it exists.

    Raises:
        Refused: `invalid_params`, with one line that names the setting.
    """
    environment: dict[str, Any] = EnvSettingsSource(Settings)()
    explicit = config or (Path(environment["config"]) if environment.get("config") else None)
    values = {**_read_file(explicit), **environment}
    values |= {name: value for name, value in (overrides or {}).items() if value is not None}
    if explicit is not None:
        values["config"] = explicit
    try:
        return Settings(**values)
    except ValidationError as error:
        raise _as_refusal(error) from None


def user_file() -> Path:
    """Return where the user's own settings file belongs; a relative XDG_CONFIG_HOME is ignored, as XDG asks."""
    named = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    folder = named if named.is_absolute() else Path("~/.config").expanduser()
    return folder / "steward" / "config.toml"


def process_environment(settings: Settings) -> dict[str, str]:
    """Return the variables by which a child process gets the same settings.

    Secrets are left out: a child reads them from where this process did, its inherited environment or the same file.
    """
    given: dict[str, str] = {}
    for name in settings.model_fields_set:
        value = getattr(settings, name)
        if value is None or isinstance(value, SecretStr):
            continue
        text = ",".join(value) if isinstance(value, tuple) else str(value)
        given[f"{PREFIX}{name.upper()}"] = text
    return given


def public_view(settings: Settings) -> dict[str, object]:
    """Return what is set, for `GET /api/settings`: secrets only say whether they are configured (P14, P15)."""
    view: dict[str, object] = {}
    for name in Settings.model_fields:
        value = getattr(settings, name)
        if _is_secret(name):
            view[name] = {"configured": value is not None}
        else:
            view[name] = str(value) if isinstance(value, Path) else value
    return view


def _is_secret(name: str) -> bool:
    return "SecretStr" in str(Settings.model_fields[name].annotation)


def _read_file(explicit: Path | None) -> dict[str, Any]:
    path = explicit or user_file()
    if explicit is not None and not explicit.is_absolute():
        raise refuse("invalid_params", "STEWARD_CONFIG (--config) must be an absolute path.", setting="config")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
        if len(content) > LARGEST_FILE_BYTES:
            raise refuse("invalid_params", "The settings file is larger than 1 MiB.", setting="config")
        values = tomllib.loads(content.decode("utf-8"))
    except FileNotFoundError:
        if explicit is None:
            return {}
        raise refuse("invalid_params", "STEWARD_CONFIG (--config): there is no such file.", setting="config") from None
    except OSError:
        raise refuse("invalid_params", "The settings file cannot be read.", setting="config") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        place = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "it is not UTF-8"
        raise refuse("invalid_params", f"The settings file is not valid TOML: {place}.", setting="config") from None
    if "config" in values:
        raise refuse("invalid_params", "The settings file cannot name another one (config).", setting="config")
    return values


def _as_refusal(error: ValidationError) -> Refused:
    first = error.errors(include_url=False, include_input=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    problem = fault_words(first)
    if not name:
        return refuse("invalid_params", f"{problem}.")
    if first["type"] == "extra_forbidden":
        return refuse("invalid_params", f"The settings file has an unknown key: {name[:64]!r}.", setting=name[:64])
    return refuse("invalid_params", f"{PREFIX}{name.upper()} ({name} in the settings file): {problem}.", setting=name)
