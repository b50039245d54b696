"""A worker that dies at one point of a command's path (E13, E15): before it starts, while it runs, or after its end."""

import asyncio
import os
import sys
from pathlib import Path

from store.database import Database
from store.effect_ends import Outcome
from store.tables_authority import EffectRow
from tests.activities.command_machine import command_machine
from tests.activities.conftest import Told
from tests.conftest import Eventually
from tests.effect_world import SCOPE, Clock, World, ref


async def carry(url: str, home: Path, effect_id: str, point: str, confined: bool) -> None:
    """Carry the effect as a worker does, up to the point."""
    world = World(Database(url), home / "files", home / "state", Clock())
    async with world.database.read(SCOPE) as tx:
        effect = await tx.session.get_one(EffectRow, effect_id)
    async with command_machine(world, Told(), confined=None if confined else False) as machine:
        perform = machine.effect.perform

        async def dying(row: EffectRow) -> Outcome:
            if point == "started":
                os._exit(9)
            if point == "running":
                running = asyncio.ensure_future(perform(row))
                began = world.folder / "began"
                await Eventually()(began.exists, f"the command runs, {running} has not ended")
                os._exit(9)
            outcome = await perform(row)
            if point == "ended":
                os._exit(9)
            return outcome

        machine.effect.perform = dying  # type: ignore[method-assign, assignment]
        await machine.carried.gate(ref(effect))
        if point == "claimed":
            os._exit(9)
        await machine.dispatch(effect)
        os._exit(9)


if __name__ == "__main__":
    asyncio.run(carry(sys.argv[1], Path(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5] == "True"))
