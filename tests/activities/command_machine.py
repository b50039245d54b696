"""The machine of a test world that runs commands: the product's own parts over real folders and processes."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from temporalio.testing import ActivityEnvironment

from activities.command_effect import CommandEffect
from activities.command_proposal import CommandProposals
from activities.command_watch import CommandWatch
from activities.effect_proposal import EffectProposals
from activities.effects import FileEffectActivities
from activities.hints import Hints
from adapters.command_resolution import CommandResolution
from adapters.confinement import Confinement, find_confinement
from adapters.process_keeper import ProcessKeeper
from contracts.effects import EffectStatus
from domain.run import RunRef
from store import spaces
from store.stops import accept_stop
from store.tables_authority import EffectRow
from store.turn_stops import stop_turn
from tests.effect_world import SCOPE, World, ref


@dataclass
class CommandMachine:
    """What a worker has, of one world."""

    world: World
    keeper: ProcessKeeper
    confinement: Confinement
    hints: Hints

    def __post_init__(self) -> None:
        world = self.world
        resolution = CommandResolution(world.files, (world.state,))
        self.effect = CommandEffect(resolution, self.confinement, self.keeper, network=False)
        self.watch = CommandWatch(world.database, self.keeper, self.hints, SCOPE)
        commands = CommandProposals(resolution, self.confinement, self.effect)
        self.proposals = EffectProposals(world.database, world.files, world.limits, commands)
        self.carried = FileEffectActivities(
            world.database, world.performer, world.locks, self.hints, world.limits, self.effect
        )

    async def proposed(self, run: RunRef, *argv: str, number: int = 1, **given: Any) -> EffectRow:
        """The effect that a run's call of `run_command` becomes."""
        return await self.called(run, "run_command", number, argv=argv, **given)

    async def called(self, run: RunRef, name: str, number: int, **given: Any) -> EffectRow:
        """The effect that a run's call becomes."""
        [point] = await self.world.step(run, (name, given), number=number)
        await self.proposals.propose(point)
        effect = await self.world.effect(run, number)
        assert effect is not None, await self.world.result(point)
        return effect

    async def refused(self, run: RunRef, name: str, number: int = 1, **given: Any) -> dict[str, Any]:
        """What the model is told of a call that cannot become an effect."""
        [point] = await self.world.step(run, (name, given), number=number)
        await self.proposals.propose(point)
        assert await self.world.effect(run, number) is None
        error: dict[str, Any] = (await self.world.result(point))["error"]
        return error

    async def claim(self, effect: EffectRow) -> None:
        """A person allows it, and the gate lets it through."""
        await self.world.decide(effect)
        assert (await self.carried.gate(ref(effect))).state == "claimed"

    async def dispatch(self, effect: EffectRow) -> EffectStatus:
        """Do a claimed effect."""
        status: EffectStatus = await ActivityEnvironment().run(self.carried.dispatch, ref(effect))
        return status

    async def done(self, effect: EffectRow) -> dict[str, Any]:
        """Allow and do it; what the model is told."""
        await self.claim(effect)
        await self.dispatch(effect)
        return await self.world.result(effect)


@asynccontextmanager
async def command_machine(
    world: World, hints: Hints, *, confined: bool | None = None, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[CommandMachine]:
    """Open the machine; `confined` False is one without bubblewrap, None one with what this one has."""
    confinement = find_confinement(world.folder, world.folder.parent)
    if confined is False:
        confinement = Confinement(None, "not looked for", confinement.files, confinement.home)
    keeper = ProcessKeeper(world.state / "processes", clock)
    await keeper.open()
    machine = CommandMachine(world, keeper, confinement, hints)
    try:
        yield machine
    finally:
        await keeper.close()


async def stop(world: World, run: RunRef) -> None:
    """The owner stops the task or the reply."""
    async with world.database.write(SCOPE) as tx:
        if run.task_id is not None:
            await accept_stop(tx, run.task_id, world.request_id(), "owner")
        else:
            turn_id = run.turn_id or ""
            session_id = (await spaces.space_of(tx)).main_session_id
            await stop_turn(tx, session_id, turn_id, world.request_id(), "owner")


class Seconds:
    """A keeper's clock that tests move."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now
