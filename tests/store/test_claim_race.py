"""Two processes race for the same claims: each effect has one winner, on both databases (E12)."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

from sqlalchemy import func, select

from store.tables_authority import ClaimRow
from tests.effect_world import SCOPE, World, count

EFFECTS = 12


async def racer(url: str, effect_ids: list[str], repository: Path) -> Process:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.store.claim_racer", url, *effect_ids,
        cwd=repository, stdin=PIPE, stdout=PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def test_two_processes_race_for_each_claim_and_one_wins(world: World, repository: Path) -> None:
    """E12: at most one open claim per effect, whichever process asks."""
    effects = []
    for _ in range(EFFECTS):
        effect = await world.proposed(await world.task())
        await world.decide(effect)
        effects.append(effect.effect_id)
    url = world.database.engine.url.render_as_string(hide_password=False)
    racers = await asyncio.gather(*(racer(url, effects, repository) for _ in range(2)))
    outputs = await asyncio.gather(*(process.communicate(b"go\n") for process in racers))
    assert [process.returncode for process in racers] == [0, 0]
    claimed = [effect_id for output, _ in outputs for effect_id in output.decode().split()]
    assert sorted(claimed) == sorted(effects)
    async with world.database.read(SCOPE) as tx:
        assert await count(tx, select(func.count()).select_from(ClaimRow)) == EFFECTS
