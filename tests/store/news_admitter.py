"""A process that is killed between two events that it admits at once: argv are address, user space, session, agents.

Says `admitted AGENT` for each that is acknowledged, and `inside` when the last one has done its work and stays in its
transaction, which it may share with others that have ended and are not acknowledged.
"""

import asyncio
import sys

from domain.notification import message_at
from store import attention
from store.database import Database, Scope, Transaction
from store.messages import append

ADMITTED, INSIDE = "admitted", "inside"


async def admit_all(url: str, user_space: str, session_id: str, agents: list[str]) -> None:
    """Admit an event of each agent; the last comes while another one is inside, and never ends."""
    database, scope = Database(url), Scope(user_space, "personal")
    comes = asyncio.Event()
    left = set(agents[:-1])

    async def work(tx: Transaction, agent_id: str) -> None:
        message = await append(tx, session_id, role="assistant", origin="delivery", text="news")
        await attention.admit_event(tx, attention.Event(agent_id, message_at(session_id, message.seq)))
        await tx.session.flush()

    async def admit(agent_id: str) -> None:
        async with database.write(scope) as tx:
            await work(tx, agent_id)
            left.remove(agent_id)
            if not left:
                group.create_task(stay(agents[-1]))
                await comes.wait()
        say(f"{ADMITTED} {agent_id}")

    async def stay(agent_id: str) -> None:
        comes.set()
        async with database.write(scope) as tx:
            await work(tx, agent_id)
            say(INSIDE)
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        for agent_id in agents[:-1]:
            group.create_task(admit(agent_id))


def say(line: str) -> None:
    """Tell whoever reads this process's output, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(admit_all(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
