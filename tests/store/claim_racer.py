"""One of several processes that race for the same claims: prints which effects it was the one to claim."""

import asyncio
import sys

from domain.gate import Verdict
from store import gate
from store.database import Database
from store.effect_rows import effect_row
from store.gate import Outside
from tests.effect_world import LIMITS, SCOPE


async def race(url: str, effect_ids: list[str]) -> list[str]:
    """Ask the gate about every effect once, all at the same time."""
    database = Database(url)

    async def claim(effect_id: str) -> str | None:
        async with database.write(SCOPE) as tx:
            decision = await gate.pass_gate(tx, await effect_row(tx, effect_id), Outside(), LIMITS)
        return effect_id if decision.verdict is Verdict.CLAIM else None

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    claimed = await asyncio.gather(*(claim(effect_id) for effect_id in effect_ids))
    await database.close()
    return [effect_id for effect_id in claimed if effect_id is not None]


if __name__ == "__main__":
    sys.stdout.write(" ".join(asyncio.run(race(sys.argv[1], sys.argv[2:]))))
