"""A user space of a test's own in a real control plane, whose schema the product's own migrations have made.

Tests share a database and never meet in it: each has its own user space (I8).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, select
from ulid import ULID

from contracts.model_io import ModelReply, ToolCall
from domain.effect import EffectKind
from domain.run import Bounds, Following, Place, RunRef
from store import deliveries, effects, run_steps, sends, spaces, tasks, turn_ends, turns
from store.attachments import add_upload
from store.columns import Table
from store.database import Database, Scope
from store.effects import Proposal
from store.gate import GateLimits
from store.sends import Send
from store.tables_conversation import AttachmentRow, MessageRow, SpaceRow, TurnRow
from store.tables_host import ReceiptRow
from store.tables_work import DeliveryRow, TaskRow
from store.tasks import NewTask
from tests.own_choices import choose
from tests.wide_grants import grant_widely

Row = TypeVar("Row", bound=Table)

BOUNDS = Bounds()
GATE = GateLimits(card_expiry_s=1800.0, claim_fresh_s=10.0)


@dataclass
class Plane:
    """The opened user space `scope`."""

    database: Database
    scope: Scope
    main_session_id: str
    requests: int = 0

    def request_id(self) -> str:
        """A request id that was not used in this space."""
        self.requests += 1
        return f"request-{self.requests}"

    def wanted(self, text: str = "hello", **choices: Any) -> Send:
        """An input; what is not chosen is ordinary."""
        choices = {"session_id": self.main_session_id, "request_id": self.request_id()} | choices
        return Send(text=text, **choices)

    async def send(self, text: str = "hello", **choices: Any) -> ReceiptRow:
        """Accept an input."""
        wanted = self.wanted(text, **choices)
        async with self.database.write(self.scope) as tx:
            return await sends.accept_send(tx, wanted, "owner")

    async def next_turn(self) -> TurnRow | None:
        """Begin the next turn."""
        async with self.database.write(self.scope) as tx:
            return await turns.next_turn(tx)

    async def turn(self, text: str = "hello", **choices: Any) -> RunRef:
        """A running turn that answers a new input; nothing else may be queued."""
        receipt = await self.send(text, **choices)
        begun = await self.next_turn()
        assert begun is not None
        assert begun.turn_id == receipt.turn_id
        return turns.turn_run(begun)

    async def task(self, title: str = "title", instructions: str = "instructions", **choices: Any) -> TaskRow:
        """An accepted task."""
        new = NewTask(title, instructions, self.request_id(), **choices)
        async with self.database.write(self.scope) as tx:
            return (await tasks.accept_task(tx, new, "owner"))[1]

    async def grant(self, task_id: str | None) -> None:
        """A wide grant for a task."""
        async with self.database.write(self.scope) as tx:
            await grant_widely(tx, await tasks.task_row(tx, task_id or ""))

    async def attempt(self, title: str = "title", **choices: Any) -> RunRef:
        """A running attempt of a new task."""
        task = await self.task(title, **choices)
        async with self.database.write(self.scope) as tx:
            return tasks.run_of(await tasks.begin(tx, task.task_id))

    async def succeed(self, run: RunRef, summary: str = "the result") -> DeliveryRow:
        """Complete an attempt; the delivery that this opens."""
        async with self.database.write(self.scope) as tx:
            await tasks.succeed(tx, run, summary, [])
        return (await self.rows(DeliveryRow, DeliveryRow.owner_id == run.task_id))[-1]

    async def submit(self, delivery: DeliveryRow) -> DeliveryRow:
        """Have the conversation accept a delivery."""
        async with self.database.write(self.scope) as tx:
            return await deliveries.submit(tx, delivery.delivery_id)

    async def delivery_turn(self, summary: str = "the result") -> RunRef:
        """The running turn of a new task's result; nothing else may be queued."""
        delivery = await self.submit(await self.succeed(await self.attempt(), summary))
        begun = await self.next_turn()
        assert begun is not None
        assert begun.delivery_id == delivery.delivery_id
        return turns.turn_run(begun)

    async def step(
        self, run: RunRef, text: str = "", *calls: tuple[str, object], number: int = 1, place: Place = Place.SHARED
    ) -> None:
        """A stored model step with these calls; arguments that are no text are written as JSON."""
        made = tuple(
            ToolCall(call_id=f"c{at}", name=name, arguments=given if isinstance(given, str) else json.dumps(given))
            for at, (name, given) in enumerate(calls)
        )
        reply = ModelReply(text=text, calls=made, response_json="", model="test")
        async with self.database.write(self.scope) as tx:
            await run_steps.store_step(tx, run, number, reply, [place] * len(made), {})

    async def card(self, run: RunRef) -> str:
        """An effect that waits for a decision, made of a first step's only call; its id."""
        await self.step(run, "may I?", ("write_file", {"path": "a", "content": "b"}), place=Place.EFFECT)
        if run.task_id is not None:
            await self.grant(run.task_id)
        action = {"operation": "create", "path": "/a"}
        proposal = Proposal(run, 1, 0, EffectKind.FILE, action, b"b", {"en": "write"}, {"en": "1 file"}, None)
        async with self.database.write(self.scope) as tx:
            return (await effects.propose(tx, proposal, GATE)).effect_id

    async def follows(self, run: RunRef, bounds: Bounds = BOUNDS) -> Following:
        """What follows in a run."""
        async with self.database.read(self.scope) as tx:
            return await run_steps.following(tx, run, bounds)

    async def complete(self, run: RunRef) -> TurnRow:
        """Store a turn's reply."""
        async with self.database.write(self.scope) as tx:
            return await turn_ends.complete(tx, run)

    async def upload(self, name: str = "report.pdf", size: int = 3) -> AttachmentRow:
        """An upload that nothing refers to yet."""
        async with self.database.write(self.scope) as tx:
            return add_upload(tx, tx.new_id("att"), name=name, media_type="application/pdf", size=size, sha256="0" * 64)

    async def rows(self, table: type[Row], *conditions: ColumnElement[bool]) -> Sequence[Row]:
        """Rows of a table, of this space where it has one, in the order of their keys."""
        query = select(table).where(*conditions).order_by(*table.__mapper__.primary_key)
        if "user_space" in table.__mapper__.columns:
            query = query.where(table.__mapper__.columns["user_space"] == self.scope.user_space)
        async with self.database.read(self.scope) as tx:
            return (await tx.session.scalars(query)).all()

    async def only(self, table: type[Row], *conditions: ColumnElement[bool]) -> Row:
        """The one row there is."""
        [row] = await self.rows(table, *conditions)
        return row

    async def messages(self) -> list[tuple[int, str, str]]:
        """The main conversation: sequence, role and text of each message."""
        rows = await self.rows(MessageRow, MessageRow.session_id == self.main_session_id)
        return [(row.seq, row.role, row.text) for row in rows]


async def open_plane(database: Database) -> Plane:
    """Open a new user space in a database that has its schema."""
    scope = Scope(f"space-{ULID()}", "personal")
    async with database.write(scope) as tx:
        space: SpaceRow = await spaces.open_space(tx, "test")
        await choose(tx, auto_review=False)
    return Plane(database, scope, space.main_session_id)
