"""One of several processes that bring the same empty database to the current schema: argv is its address."""

import asyncio
import sys

from store.database import Database
from store.schema import prepare


async def main(url: str) -> None:
    """Prepare the database as soon as a line arrives."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    database = Database(url)
    await prepare(database)
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
