"""A small world for tests of effects: a real database and files folder, and runs with the calls a model made."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from activities.effect_proposal import EffectProposals
from activities.file_effect import FileEffect
from adapters.dispatch_lock import DispatchLocks
from adapters.files_root import FilesRoot
from contracts.effects import EffectRef
from contracts.model_io import ModelReply, ToolCall
from contracts.run import RunPoint
from domain.approval import ApprovalEvent
from domain.run import Place, RunRef
from store import approvals, run_steps, sends, spaces, tasks, turns
from store.approvals import CardDecision
from store.database import Database, Scope, Transaction, utc_now
from store.effect_rows import effect_at, newest_card
from store.gate import GateLimits
from store.sends import Send
from store.tables_authority import ApprovalRow, EffectRow, EffectTrailRow
from store.tables_work import CallRow
from store.tasks import NewTask
from tests.own_choices import choose
from tests.wide_grants import grant_widely

SCOPE = Scope("local", "personal")
LIMITS = GateLimits(card_expiry_s=1800.0, claim_fresh_s=10.0)


class Clock:
    """A clock that tests move; it stands at the present until then."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return utc_now() + self.ahead

    def advance(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)


@dataclass
class World:
    """One space with its files; `folder` is the files root."""

    database: Database
    folder: Path
    state: Path
    clock: Clock
    requests: int = 0
    limits: GateLimits = field(default=LIMITS)

    @property
    def files(self) -> FilesRoot:
        return FilesRoot(self.folder, (self.state,))

    @property
    def performer(self) -> FileEffect:
        return FileEffect(self.files)

    @property
    def locks(self) -> DispatchLocks:
        return DispatchLocks(self.state / "dispatch")

    @property
    def proposals(self) -> EffectProposals:
        return EffectProposals(self.database, self.files, self.limits)

    def request_id(self) -> str:
        self.requests += 1
        return f"request-{self.requests}"

    async def turn(self, text: str = "write it", permission_mode: str | None = None) -> RunRef:
        """A running turn of the conversation."""
        async with self.database.write(SCOPE) as tx:
            space = await spaces.space_of(tx)
            send = Send(space.main_session_id, self.request_id(), text, permission_mode=permission_mode)
            await sends.accept_send(tx, send, "owner")
            turn = await turns.next_turn(tx)
            assert turn is not None
            return turns.turn_run(turn)

    async def task(self, permission_mode: str | None = None, *, granted: bool = True) -> RunRef:
        """A running attempt of a hidden task, with a wide grant unless it shall have none."""
        async with self.database.write(SCOPE) as tx:
            new = NewTask("title", "instructions", self.request_id(), permission_mode=permission_mode)
            _, row = await tasks.accept_task(tx, new, "owner")
            if granted:
                await grant_widely(tx, row)
            return tasks.run_of(await tasks.begin(tx, row.task_id))

    async def step(self, run: RunRef, *calls: tuple[str, dict[str, Any]], number: int = 1) -> list[RunPoint]:
        """A stored model step that made these calls."""
        made = tuple(
            ToolCall(call_id=f"c{at}", name=name, arguments=json.dumps(given)) for at, (name, given) in enumerate(calls)
        )
        reply = ModelReply(text="", calls=made, response_json="{}", model="test")
        async with self.database.write(SCOPE) as tx:
            await run_steps.store_step(tx, run, number, reply, [Place.EFFECT] * len(made), {})
        return [RunPoint(run=run, step=number, index=at) for at in range(len(made))]

    async def proposed(self, run: RunRef, name: str = "write_file", number: int = 1, **arguments: Any) -> EffectRow:
        """The effect that a call becomes."""
        given = arguments or {"path": "notes.txt", "content": "new\n"}
        [point] = await self.step(run, (name, given), number=number)
        await self.proposals.propose(point)
        effect = await self.effect(run, number)
        assert effect is not None
        return effect

    async def effect(self, run: RunRef, number: int = 1, index: int = 0) -> EffectRow | None:
        async with self.database.read(SCOPE) as tx:
            return await effect_at(tx, run.run_id, number, index)

    async def reread(self, effect: EffectRow) -> EffectRow:
        async with self.database.read(SCOPE) as tx:
            return await tx.session.get_one(EffectRow, effect.effect_id)

    async def card(self, effect: EffectRow) -> ApprovalRow | None:
        async with self.database.read(SCOPE) as tx:
            return await newest_card(tx, effect.effect_id)

    async def trail(self, effect: EffectRow) -> list[tuple[str, str]]:
        """The effect's trail, as steps and verdicts."""
        query = select(EffectTrailRow).where(EffectTrailRow.effect_id == effect.effect_id)
        async with self.database.read(SCOPE) as tx:
            return [(row.step, row.verdict) for row in await tx.session.scalars(query.order_by(EffectTrailRow.place))]

    async def result(self, point_or_effect: RunPoint | EffectRow) -> dict[str, Any]:
        """What the model is told of a call."""
        if isinstance(point_or_effect, RunPoint):
            key = (point_or_effect.run.run_id, point_or_effect.step, point_or_effect.index)
        else:
            key = (point_or_effect.run_id, point_or_effect.step, point_or_effect.place_in_step)
        async with self.database.read(SCOPE) as tx:
            call = await tx.session.get_one(CallRow, key)
        assert call.result is not None
        told: dict[str, Any] = json.loads(call.result)
        return told

    async def decide(self, effect: EffectRow, event: ApprovalEvent = ApprovalEvent.ALLOW_ONCE) -> ApprovalRow:
        """The owner decides the effect's card."""
        async with self.database.write(SCOPE) as tx:
            card = await newest_card(tx, effect.effect_id)
            assert card is not None
            return (await approvals.decide(tx, self.decision(card, event), "owner"))[1]

    def decision(self, card: ApprovalRow, event: ApprovalEvent = ApprovalEvent.ALLOW_ONCE) -> CardDecision:
        return CardDecision(card.approval_id, card.version, card.action_digest, event, self.request_id())


async def open_world(database: Database, home: Path) -> World:
    """Open the space in an empty database, by the world's own clock."""
    clock = Clock()
    database.clock = clock
    async with database.write(SCOPE) as tx:
        await spaces.open_space(tx, "test")
        await choose(tx, auto_review=False)
    (home / "files").mkdir(parents=True)
    (home / "state").mkdir()
    return World(database, home / "files", home / "state", clock)


def ref(effect: EffectRow) -> EffectRef:
    """The effect on the wire."""
    return EffectRef(user_space=SCOPE.user_space, domain=SCOPE.domain, effect_id=effect.effect_id)


async def count(tx: Transaction, query: Any) -> int:
    """How many rows a counting query finds."""
    return int(await tx.session.scalar(query) or 0)
