"""Beginning the next turn (C1): by whoever knows first that the conversation is free, so that no reply waits for a hop.

The relay knows it of an input, the end of a turn of the one behind it, the submission of its delivery. The rows let one
turn run at a time, so all of them may try; the conversation's workflow tries too, and follows what runs.
"""

from activities.hints import Hints
from contracts.conversation import TurnRef
from contracts.starting import turn_start
from domain.turn import TurnKind
from store import turns
from store.database import Database, Scope
from store.tables_conversation import TurnRow


class TurnStarter:
    """Begins turns and starts their workflows."""

    def __init__(self, database: Database, hints: Hints, *, park_after_s: float) -> None:
        self._database = database
        self._hints = hints
        self._park_after_s = park_after_s

    async def begin_next(self, scope: Scope) -> TurnRef | None:
        """Begin the next turn in order of acceptance, or make sure that the one that runs has its workflow (D6)."""
        async with self._database.write(scope) as tx:
            turn = await turns.next_turn(tx)
        return None if turn is None else await self._started(turn)

    async def begin_next_if_any(self, scope: Scope) -> TurnRef | None:
        """The same where most often one runs or none waits, which a look tells without the write lock."""
        async with self._database.read_briefly(scope) as tx:
            turn = await turns.running_turn(tx)
            waits = turn is None and await turns.any_queued(tx)
        if waits:
            return await self.begin_next(scope)
        return None if turn is None else await self._started(turn)

    async def _started(self, turn: TurnRow) -> TurnRef:
        begun = TurnRef(
            run=turns.turn_run(turn),
            continues=turn.kind == TurnKind.CONTINUATION.value,
            park_after_s=self._park_after_s,
        )
        await self._hints.start(turn_start(begun))
        return begun
