"""Wiring of commands on the machine that runs them (E15, E16): one keeper, its watch, confinement, for one worker."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import structlog

from activities.command_effect import CommandEffect
from activities.command_proposal import CommandProposals
from activities.command_watch import CommandWatch
from activities.hints import Hints
from adapters.command_resolution import CommandResolution
from adapters.confinement import find_confinement
from adapters.files_root import FilesRoot
from adapters.process_keeper import ProcessKeeper
from runtime.settings import Settings
from store.database import Database, Scope

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Commands:
    """What a worker needs to run commands."""

    keeper: ProcessKeeper
    effect: CommandEffect
    proposals: CommandProposals


@asynccontextmanager
async def open_commands(
    settings: Settings, database: Database, files: FilesRoot, hints: Hints
) -> AsyncIterator[Commands]:
    """Keep commands for as long as the block lasts; what a killed worker left is ended first, all is ended last."""
    confinement = await asyncio.to_thread(find_confinement, files.root, settings.home)
    if not confinement.works:
        log.warning("commands_not_confined")
    resolution = CommandResolution(files, (settings.state_dir,))
    keeper = ProcessKeeper(settings.state_dir / "processes", time.monotonic)
    watch = CommandWatch(database, keeper, hints, Scope(settings.user_space, settings.product_domain))
    for name in await keeper.open():
        log.warning("leftover_command_ended", effect=name)
    await watch.recover()
    watching = asyncio.create_task(watch.run())
    effect = CommandEffect(resolution, confinement, keeper, network=settings.command_network)
    proposals = CommandProposals(resolution, confinement, effect)
    try:
        yield Commands(keeper, effect, proposals)
    finally:
        await keeper.close()
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await watch.look_safely()
