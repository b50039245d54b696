"""Attention on the wire (N10): ids, states, counts and times; locators and settings stay in SQL (I9)."""

from datetime import datetime
from typing import Literal

from temporalio import activity

from contracts.run import Wire


class AttentionRef(Wire):
    """Names the news of one agent."""

    user_space: str
    domain: str
    agent_id: str


class AttentionNext(Wire):
    """What an agent's attention waits for: nothing, a time, or a channel.

    `count` is how many events are in the open group, `locator` what kind of place its newest event names.
    """

    state: Literal["idle", "wait", "send"]
    until: datetime | None = None
    count: int = 0
    locator: Literal["message", "card"] | None = None


class AttentionSent(Wire):
    """What became of the sends that were due: how many of each."""

    sent: int = 0
    merged: int = 0
    later: int = 0
    failed: int = 0


class AttentionActivities:
    """The rows and channels behind an agent's attention."""

    @activity.defn(name="attention.look")
    async def look(self, agent: AttentionRef) -> AttentionNext:
        """Announce, hold or drop the agent's group if it is due, and read what comes next (N4, N8)."""
        raise NotImplementedError

    @activity.defn(name="attention.send")
    async def send(self, agent: AttentionRef) -> AttentionSent:
        """Try the channels that are due for the agent's announced groups, each after a fresh check (N4, N9).

        A process that dies between a channel's answer and its record repeats one attempt.
        """
        raise NotImplementedError
