"""Every command's common options, and how a command gets the settings they override (O4, O21).

A command is a function of an `Invocation` and its own options; `command` adds the common ones to what Typer sees, so
that they may stand behind any command and are written down once.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from host.cli.failures import outcome

if TYPE_CHECKING:
    from runtime.settings import Settings

PANEL = "Settings (each is also a STEWARD_* variable and a key of the settings file)"


def _option(kind: Any, name: str, words: str) -> Any:  # noqa: ANN401 - an annotation
    return Annotated[kind | None, typer.Option(f"--{name.replace('_', '-')}", help=words, rich_help_panel=PANEL)]


_PLACE: Mapping[str, Any] = {
    "home": _option(Path, "home", "Folder of everything Steward stores; absolute."),
    "user_space": _option(str, "user_space", "User space (default: local)."),
    "product_domain": _option(str, "product_domain", "Product domain (default: personal)."),
    "host": _option(str, "host", "Address that the host listens on."),
    "port": _option(int, "port", "Port of the host (default: 18000)."),
}
_TEMPORAL: Mapping[str, Any] = {
    "temporal_address": _option(str, "temporal_address", "HOST:PORT of a Temporal server; without it one is embedded."),
    "temporal_port": _option(int, "temporal_port", "Port of the embedded Temporal server."),
    "temporal_ui_port": _option(int, "temporal_ui_port", "Port of the embedded Temporal server's page."),
}
_MODEL: Mapping[str, Any] = {"model": _option(str, "model", "offline, or PROVIDER:NAME.")}
_PROCESS: Mapping[str, Any] = {
    "composition_profile": _option(str, "composition_profile", "Built-in composition: personal."),
    "isolation_mode": _option(str, "isolation_mode", "logical_memory or verified_host."),
    "log_format": _option(str, "log_format", "console or json."),
}
CLIENT_SETTINGS = _PLACE
CHECK_SETTINGS = {**_PLACE, **_TEMPORAL, **_MODEL}
PROCESS_SETTINGS = {**CHECK_SETTINGS, **_PROCESS}

CONFIG = Annotated[Path | None, typer.Option("--config", help="Settings file (TOML); absolute.", rich_help_panel=PANEL)]
AS_JSON = Annotated[bool, typer.Option("--json", help="Write JSON, also for failures.")]


@dataclass(frozen=True, slots=True)
class Invocation:
    """What the common options say."""

    overrides: Mapping[str, object]
    config: Path | None
    as_json: bool

    def settings(self) -> "Settings":
        """Return the settings of this command.

        Raises:
            Refused: `invalid_params`, with one line that names the setting (O3).
        """
        from runtime.settings_sources import load_settings

        return load_settings(self.overrides, self.config)


def command(
    settings: Mapping[str, Any] = CLIENT_SETTINGS, *, starts_process: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a function of an `Invocation` a command for Typer: common options, exit codes, errors in one line.

    Args:
        settings: The settings that the command takes as options.
        starts_process: Whether a refusal is a start-up error (O4, O22).
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., None]:
        def run(**given: Any) -> None:  # noqa: ANN401 - Typer's values
            overrides = {name: given.pop(name) for name in settings}
            invocation = Invocation(overrides, given.pop("config"), given.pop("as_json"))
            code = outcome(
                lambda: function(invocation, **given), as_json=invocation.as_json, starts_process=starts_process
            )
            raise typer.Exit(code)

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        common = {**settings, "config": CONFIG}
        added = [_parameter(name, annotation, None) for name, annotation in common.items()]
        added.append(_parameter("as_json", AS_JSON, False))
        parameters = [*(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own), *added]
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _parameter(name: str, annotation: object, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
