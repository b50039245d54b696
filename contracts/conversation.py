"""Conversation and turns on the wire (C1)."""

from typing import Literal

from temporalio import activity

from contracts.run import RunRef, Wire


class ConversationRef(Wire):
    """The one conversation of a user space and domain."""

    user_space: str
    domain: str


class TurnRef(Wire):
    """A turn that the conversation has begun."""

    run: RunRef
    continues: bool = False
    park_after_s: float = 60.0


class ParkRequest(Wire):
    """Park a turn whose card waits; with `only_if_queued` just when something else is queued (C1)."""

    run: RunRef
    only_if_queued: bool = False


class TurnEnded(Wire):
    """Signal of a turn to its conversation: it ended or was parked."""

    turn_id: str


class TurnOutcome(Wire):
    """How a turn ends: its reply, a failure that the reply says in words, or a stop."""

    run: RunRef
    outcome: Literal["reply", "failed", "stopped"]
    reason: str | None = None


class ConversationActivities:
    """The order of turns, and how one begins, parks and ends."""

    @activity.defn(name="conversation.next_turn")
    async def next_turn(self, conversation: ConversationRef) -> TurnRef | None:
        """Begin the next turn in order of acceptance and start its workflow; None when nothing waits.

        While a turn runs it is returned again, and its workflow started again if it is gone (D6).
        """
        raise NotImplementedError

    @activity.defn(name="turn.park")
    async def park(self, request: ParkRequest) -> bool:
        """Park a turn whose card still waits: store its reply with the card, let the queue go on. False: not parked."""
        raise NotImplementedError

    @activity.defn(name="turn.end")
    async def end(self, outcome: TurnOutcome) -> None:
        """Store the turn's end in one transaction and tell the conversation and the delivery's workflow."""
        raise NotImplementedError
