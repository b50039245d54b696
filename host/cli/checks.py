"""All checks of `steward doctor`, in the order in which things need each other (O5).

A check that breaks unexpectedly is a finding too: looking must never be what fails.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from host.cli.checks_machine import check_clock_zone, check_disk, check_folders, check_ports
from host.cli.checks_schedules import check_schedules
from host.cli.checks_services import check_host, check_temporal
from host.cli.checks_store import check_database
from host.cli.finding import Finding
from runtime.settings import Settings

LIMIT_S: Final = 20.0
Check = Callable[[Settings], Awaitable[list[Finding]]]


async def examine(settings: Settings) -> list[Finding]:
    """Carry out all checks at once and return what they found, in a fixed order."""
    checks: tuple[tuple[str, Check], ...] = (
        ("folders", check_folders),
        ("disk", check_disk),
        ("clock", check_clock_zone),
        ("ports", check_ports),
        ("Temporal", check_temporal),
        ("database", check_database),
        ("schedules", check_schedules),
        ("host", check_host),
        ("model", check_model),
        ("engines", check_engines),
        ("confinement", check_confinement),
    )
    found = await asyncio.gather(*(_bounded(name, check(settings)) for name, check in checks))
    return [finding for findings in found for finding in findings]


async def check_model(settings: Settings) -> list[Finding]:
    """The configured models, without a call to them (O3)."""
    from assistant.provider import OFFLINE, ConfigurationError, resolve_model

    key = None if settings.model_api_key is None else settings.model_api_key.get_secret_value()
    findings = []
    for setting, name in (("STEWARD_MODEL", settings.model), ("STEWARD_TASK_MODEL", settings.task_model)):
        if name is None:
            continue
        check = "model" if setting == "STEWARD_MODEL" else "task model"
        if name == OFFLINE:
            words = "offline: a small grammar answers, no language model"
            mend = f"For a real model set {setting}=PROVIDER:NAME."
            findings.append(Finding(check, "ok", words, mend))
            continue
        try:
            await asyncio.to_thread(resolve_model, name, settings.model_base_url, key, setting=setting)
        except ConfigurationError as error:
            findings.append(Finding(check, "failed", str(error), f"Set {error.setting} and start again."))
        else:
            findings.append(Finding(check, "ok", f"{name}: configured; it was not called"))
    return findings


async def check_engines(_settings: Settings) -> list[Finding]:
    """External engines: what this version has of them, said plainly."""
    return [Finding("engines", "ok", "native only; this version runs no external agents")]


async def check_confinement(settings: Settings) -> list[Finding]:
    """Whether commands are confined here, found out as a worker does: by confining one (E16)."""
    from adapters.confinement import find_confinement

    with TemporaryDirectory() as elsewhere:
        # Nothing is made for a check: where there is no files folder yet, another one shows the same.
        home = settings.home if settings.files_dir.is_dir() else Path(elsewhere)
        files = settings.files_dir if settings.files_dir.is_dir() else home
        found = await asyncio.to_thread(find_confinement, files, home)
    if found.works:
        network = "with network" if settings.command_network else "without network"
        return [Finding("confinement", "ok", f"commands are confined by bubblewrap, {network}")]
    mend = "Install the package bubblewrap and allow it to make user namespaces; until then each card says so."
    return [Finding("confinement", "warning", f"commands are not confined: {found.reason}", mend)]


async def _bounded(name: str, check: Awaitable[list[Finding]]) -> list[Finding]:
    try:
        async with asyncio.timeout(LIMIT_S):
            return await check
    except TimeoutError:
        return [Finding(name, "failed", f"no answer within {LIMIT_S:.0f} s", "Look at the log of `steward up`.")]
    except Exception as error:
        return [Finding(name, "failed", f"the check itself failed ({type(error).__name__})", "Report this.")]
