"""One of several processes that accept inputs at the same moment: argv are address, user space, session, request ids.

Prints the turn ids that its receipts name, in the order of the request ids.
"""

import asyncio
import sys

from store.database import Database, Scope
from store.sends import Send, accept_send


async def accept_all(url: str, user_space: str, session_id: str, request_ids: list[str]) -> list[str]:
    """Accept all inputs at once, each in a transaction of its own."""
    database = Database(url)

    async def accept(request_id: str) -> str:
        async with database.write(Scope(user_space, "personal")) as tx:
            receipt = await accept_send(tx, Send(session_id, request_id, request_id), "owner")
            return str(receipt.turn_id)

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    turn_ids = await asyncio.gather(*(accept(request_id) for request_id in request_ids))
    await database.close()
    return turn_ids


if __name__ == "__main__":
    sys.stdout.write(" ".join(asyncio.run(accept_all(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))))
