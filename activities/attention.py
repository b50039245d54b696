"""The rows behind an agent's attention (N10)."""

from temporalio import activity

from activities.scopes import scope_of
from contracts.attention import AttentionActivities, AttentionNext, AttentionRef
from store import attention_looks
from store.database import Database


class AttentionWork(AttentionActivities):
    """The looks of an agent's attention over the control plane."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @activity.defn(name="attention.look")
    async def look(self, agent: AttentionRef) -> AttentionNext:
        """Announce, hold or drop the agent's group if it is due, and read what comes next (N4, N8)."""
        async with self._database.write(scope_of(agent)) as tx:
            standing = await attention_looks.look(tx, agent.agent_id)
        return AttentionNext(state=standing.state, until=standing.until, count=standing.count, locator=standing.locator)
