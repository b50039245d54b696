"""The order of turns, and how one begins, parks and ends."""

import asyncio

from temporalio import activity

from activities.hints import Hints
from activities.scopes import scope_of
from activities.turn_start import TurnStarter
from assistant.deliveries import language_of, model_unavailable_text, reason_in_words
from contracts.conversation import ConversationActivities, ConversationRef, ParkRequest, TurnOutcome, TurnRef
from store import turn_ends, turns
from store.database import Database, Transaction
from store.run_reading import message_at
from store.tables_conversation import TurnRow


class ConversationWork(ConversationActivities):
    """The conversation's activities over the control plane."""

    def __init__(self, database: Database, hints: Hints, turn_starter: TurnStarter) -> None:
        self._database = database
        self._hints = hints
        self._turn_starter = turn_starter

    @activity.defn(name="conversation.next_turn")
    async def next_turn(self, conversation: ConversationRef) -> TurnRef | None:
        """Begin the next turn in order of acceptance, or return the one that already runs."""
        return await self._turn_starter.begin_next_if_any(scope_of(conversation))

    @activity.defn(name="turn.park")
    async def park(self, request: ParkRequest) -> bool:
        """Park a turn whose card still waits, and let the queue go on."""
        run = request.run
        async with self._database.write(scope_of(run)) as tx:
            parked = await turn_ends.park(tx, run, only_if_queued=request.only_if_queued)
        if parked:
            await asyncio.gather(
                self._turn_starter.begin_next(scope_of(run)),
                self._hints.turn_ended(run.user_space, run.domain, run.turn_id or ""),
            )
        return parked

    @activity.defn(name="turn.end")
    async def end(self, outcome: TurnOutcome) -> None:
        """Store the turn's end, then tell the conversation and the delivery's workflow; repeated, it only tells."""
        run = outcome.run
        async with self._database.write(scope_of(run)) as tx:
            if outcome.outcome == "reply":
                turn = await turn_ends.complete(tx, run)
            elif outcome.outcome == "stopped":
                turn = await turn_ends.stop(tx, run)
            else:
                turn = await turns.turn_row(tx, run.turn_id or "")
                reason = outcome.reason or "turn_failed"
                turn = await turn_ends.fail(tx, run, reason, await _in_words(tx, turn, reason))
            delivery_id = turn.delivery_id
        told = self._hints.delivery_settled(delivery_id) if delivery_id is not None else asyncio.sleep(0)
        # At once: none of them waits for another.
        await asyncio.gather(
            self._turn_starter.begin_next_if_any(scope_of(run)),
            self._hints.turn_ended(run.user_space, run.domain, run.turn_id or ""),
            told,
        )


async def _in_words(tx: Transaction, turn: TurnRow, reason: str) -> str:
    said = await message_at(tx, turn.session_id, turn.input_seq or 0)
    language = language_of(said.text if said is not None else "")
    return model_unavailable_text(language) if reason == "model_unavailable" else reason_in_words(reason, language)
