"""A worker that keeps a command and is killed: prints the command's name when it runs, then waits for its death."""

import asyncio
import json
import sys
from pathlib import Path

from tests.command_world import CommandWorld


async def keep(home: Path, argv: list[str], given: dict[str, bool]) -> None:
    """Start the command and never end."""
    world = CommandWorld(home)
    await world.keeper.open()
    kept = await world.launch(*argv, **given)
    sys.stdout.write(f"{kept.order.name} {kept.process.pid}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(keep(Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])))
