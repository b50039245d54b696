"""One of several processes that bring the same empty database to the current schema: argv is its address.

Each line that arrives is one go; each is answered by a line. The first loads Alembic, so the later ones meet closer.
"""

import asyncio
import sys

from store.database import Database
from store.schema import prepare


def say(word: str) -> None:
    """Answer at once."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


async def main(url: str) -> None:
    """Prepare the database whenever a line arrives."""
    say("ready")
    while await asyncio.to_thread(sys.stdin.readline):
        database = Database(url)
        await prepare(database)
        await database.close()
        say("prepared")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
