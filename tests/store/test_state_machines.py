"""Tasks, attempts, questions, deliveries, turns and stops together, in any order (I2, I5, I6, I7, T3, D3, S3).

Hypothesis makes the orders; after every event the real store on SQLite is compared with tests/store/control_model.py.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from domain.run import RunKind, RunRef
from store import turn_stops
from store.database import Database
from store.schema import prepare
from store.tables_control import IntentRow, QuestionRow
from store.tables_conversation import MessageRow, TurnRow
from store.tables_work import AttemptRow, DeliveryRow, EvidenceRow, TaskRow
from store.turns import turn_run
from tests.control_acts import (
    asked,
    begun,
    code_of,
    deliveries_of,
    failed,
    let_go,
    looked,
    resumed,
    retried,
    settled,
    stopped,
    turn_failed,
    turn_stopped,
    within,
)
from tests.control_plane import Plane, open_plane
from tests.store.control_model import Delivery, Model, Question, Task, Turn

Answer = TypeVar("Answer")
PICK = st.integers(min_value=0, max_value=11)
TASKS = 2


class Work(RuleBasedStateMachine):
    """One user space; every rule is one event, in the store and in the model."""

    loop: ClassVar[asyncio.AbstractEventLoop]
    database: ClassVar[Database]

    @initialize()
    def open(self) -> None:
        """Begin with an empty space."""
        self.plane: Plane = self.wait(open_plane(self.database))
        self.model = Model()
        self.again: list[Callable[[], Awaitable[Any]]] = []
        self.steps = 0

    def wait(self, work: Awaitable[Answer]) -> Answer:
        async def run() -> Answer:
            return await work

        return self.loop.run_until_complete(run())

    def accepted(self, make: Callable[[], Awaitable[Any]], expected: str) -> bool:
        """Do what a request asks for; whether it was accepted, as expected."""
        assert self.wait(code_of(make())) == expected
        if not expected:
            self.again.append(make)
        return not expected

    def task(self, pick: int) -> Task:
        tasks = list(self.model.tasks.values())
        return tasks[pick % len(tasks)]

    def run(self, task: Task, pick: int) -> RunRef:
        """The run of the current version, or, late, of an earlier one."""
        version = 1 + pick % task.version if pick % 4 == 0 else task.version
        return RunRef(
            kind=RunKind.ATTEMPT, user_space=self.plane.scope.user_space, domain=self.plane.scope.domain,
            run_id=f"{task.task_id}:{version}:1", task_id=task.task_id, requirement_version=version, attempt=1,
        )  # fmt: skip

    def opened(self, task: Task) -> None:
        """Take over the delivery that the last event opened."""
        known = {row.delivery_id for row in task.deliveries}
        for row in self.wait(deliveries_of(self.plane, task.task_id)):
            if row.delivery_id not in known:
                task.deliveries.append(Delivery(row.delivery_id, row.position, row.requirement_version))

    def queued(self, delivery: Delivery) -> None:
        """Take over the turn that a submission or a retry queued."""
        row = self.wait(self.plane.only(DeliveryRow, DeliveryRow.delivery_id == delivery.delivery_id))
        turn = self.wait(self.plane.only(TurnRow, TurnRow.turn_id == row.turn_id))
        delivery.state, delivery.turn_id = "submitted", turn.turn_id
        self.model.turns[turn.turn_id] = Turn(turn.turn_id, turn.position, delivery.delivery_id)

    @precondition(lambda self: len(self.model.tasks) < TASKS)
    @rule(begins=st.sampled_from([True, True, False]))
    def create(self, begins: bool) -> None:
        """A new task, mostly one that begins at once."""
        task = self.wait(self.plane.task())
        made = self.model.tasks[task.task_id] = Task(task.task_id)
        if begins:
            self.wait(begun(self.plane, task.task_id))
            made.state = "running"
            made.began.add(1)

    @precondition(lambda self: self.model.tasks)
    @rule(pick=PICK)
    def begin(self, pick: int) -> None:
        """The task's workflow begins the attempt, or begins it again."""
        task = self.task(pick)
        self.wait(begun(self.plane, task.task_id))
        if task.state == "accepted":
            task.state = "running"
            task.began.add(task.version)

    @precondition(lambda self: self.model.tasks)
    @rule(pick=PICK, late=PICK)
    def ask(self, pick: int, late: int) -> None:
        """An executor asks, perhaps one of an earlier version."""
        task = self.task(pick)
        run = self.run(task, late)
        self.steps += 1
        expected = task.refuses(run.requirement_version)
        assert self.wait(code_of(asked(self.plane, run, "March", number=self.steps))) == expected
        if not expected:
            task.state = "waiting_user"
            [question] = self.wait(self.plane.rows(QuestionRow, QuestionRow.step == self.steps))
            task.questions.append(Question(question.question_id, task.version))
            self.opened(task)

    @precondition(lambda self: any(task.questions for task in self.model.tasks.values()))
    @rule(pick=PICK, answers=st.booleans(), wrong=st.sampled_from([0, 0, 0, 1]))
    def settle(self, pick: int, answers: bool, wrong: int) -> None:
        """Answer or cancel any question, with the revision that was shown, or a wrong one."""
        pairs = [(task, question) for task in self.model.tasks.values() for question in task.questions]
        task, question = pairs[pick % len(pairs)]
        row = self.wait(self.plane.only(QuestionRow, QuestionRow.question_id == question.question_id))
        request_id, said = self.plane.request_id(), {"text": "March"} if answers else {}
        expected = "question_closed" if question.state != "open" else "revision_conflict" if wrong else ""
        revision = row.revision + wrong
        if self.accepted(lambda: settled(self.plane, row, request_id, revision=revision, **said), expected):
            question.state = "answered" if answers else "cancelled"
            task.state = "running"

    @precondition(lambda self: self.model.tasks)
    @rule(pick=PICK, late=PICK)
    def submit_result(self, pick: int, late: int) -> None:
        """A result, perhaps of an earlier version."""
        task = self.task(pick)
        run = self.run(task, late)
        expected = task.refuses(run.requirement_version)
        assert self.wait(code_of(self.plane.succeed(run))) == expected
        if not expected:
            task.end("completed", "succeeded")
            self.opened(task)

    @precondition(lambda self: self.model.tasks)
    @rule(pick=PICK, late=PICK)
    def fail(self, pick: int, late: int) -> None:
        """A failure, perhaps of an earlier version."""
        task = self.task(pick)
        run = self.run(task, late)
        expected = task.refuses_failure(run.requirement_version)
        assert self.wait(code_of(failed(self.plane, run))) == expected
        if not expected:
            task.end("failed", "failed")
            self.opened(task)

    @precondition(lambda self: self.model.tasks)
    @rule(pick=PICK)
    def stop(self, pick: int) -> None:
        """A stop; a second one of the same version joins the first."""
        task = self.task(pick)
        request_id = self.plane.request_id()
        self.accepted(lambda: stopped(self.plane, task.task_id, request_id), "")
        row = self.wait(self.plane.only(IntentRow, IntentRow.task_id == task.task_id,
                                        IntentRow.requirement_version == task.version))  # fmt: skip
        if task.intent is None:
            self.model.stop(task, row.intent_id)
        assert task.intent is not None
        assert task.intent.intent_id == row.intent_id

    @precondition(lambda self: any(task.state == "stopping" for task in self.model.tasks.values()))
    @rule(pick=PICK)
    def let_go_of_attempt(self, pick: int) -> None:
        """A stopped attempt's workflow has ended."""
        stopping = [task for task in self.model.tasks.values() if task.state == "stopping"]
        task = stopping[pick % len(stopping)]
        self.wait(let_go(self.plane, self.run(task, 1)))
        task.attempts[task.version] = "stopped"

    @precondition(lambda self: any(task.intents for task in self.model.tasks.values()))
    @rule(pick=PICK)
    def reconcile(self, pick: int) -> None:
        """The stop's workflow looks, perhaps once more after the end."""
        pairs = [(task, intent) for task in self.model.tasks.values() for intent in task.intents]
        task, intent = pairs[pick % len(pairs)]
        row = self.wait(self.plane.only(IntentRow, IntentRow.intent_id == intent.intent_id))
        self.wait(looked(self.plane, row))
        self.model.reconcile(task, intent)

    @precondition(lambda self: self.model.tasks)
    @rule(pick=PICK)
    def resume(self, pick: int) -> None:
        """An explicit resume."""
        task = self.task(pick)
        request_id = self.plane.request_id()
        if self.accepted(lambda: resumed(self.plane, task.task_id, request_id), task.refuses_resume()):
            task.resume()
            self.wait(begun(self.plane, task.task_id))
            task.state = "running"
            task.began.add(task.version)

    @rule()
    def send(self) -> None:
        """An input of the user stands in the same queue."""
        receipt = self.wait(self.plane.send())
        turn = self.wait(self.plane.only(TurnRow, TurnRow.turn_id == receipt.turn_id))
        self.model.turns[turn.turn_id] = Turn(turn.turn_id, turn.position)

    @precondition(lambda self: any(task.deliveries for task in self.model.tasks.values()))
    @rule(pick=PICK)
    def submit(self, pick: int) -> None:
        """A delivery's workflow submits it, perhaps once more."""
        delivery = self.any_delivery(pick)
        row = self.wait(self.plane.only(DeliveryRow, DeliveryRow.delivery_id == delivery.delivery_id))
        self.wait(self.plane.submit(row))
        if delivery.state == "waiting":
            self.queued(delivery)

    @precondition(lambda self: any(task.deliveries for task in self.model.tasks.values()))
    @rule(pick=PICK)
    def retry(self, pick: int) -> None:
        """A retry of any delivery."""
        delivery = self.any_delivery(pick)
        request_id = self.plane.request_id()
        expected = "" if delivery.state == "failed" else "delivery_not_failed"
        if self.accepted(lambda: retried(self.plane, delivery.delivery_id, request_id), expected):
            self.queued(delivery)

    def any_delivery(self, pick: int) -> Delivery:
        deliveries = [row for task in self.model.tasks.values() for row in task.deliveries]
        return deliveries[pick % len(deliveries)]

    @rule()
    def next_turn(self) -> None:
        """The conversation takes the next turn; deliveries with an earlier place are submitted before it (D7)."""
        row = self.wait(self.plane.next_turn())
        running, queued = self.model.first("running"), self.model.first("queued")
        if running is None and queued is not None:
            waiting = [d for task in self.model.tasks.values() for d in task.deliveries if d.state == "waiting"]
            for delivery in sorted(waiting, key=lambda one: one.position):
                if delivery.position < queued.position:
                    self.queued(delivery)
            running = self.model.first("queued")
            assert running is not None
            running.state = "running"
        assert (row.turn_id if row else None) == (running.turn_id if running else None)

    @precondition(lambda self: self.model.turns)
    @rule(pick=PICK, end=st.sampled_from(["completed", "completed", "failed"]))
    def end_turn(self, pick: int, end: str) -> None:
        """A turn ends, perhaps once more, or one that was never begun."""
        turn = self.any_turn(pick)
        run = turn_run(self.wait(self.plane.only(TurnRow, TurnRow.turn_id == turn.turn_id)))
        self.wait(self.plane.complete(run) if end == "completed" else turn_failed(self.plane, run))
        self.model.end_turn(turn, end)

    @precondition(lambda self: self.model.turns)
    @rule(pick=PICK)
    def stop_turn(self, pick: int) -> None:
        """A person stops exactly the named turn."""
        turn = self.any_turn(pick)
        request_id, session = self.plane.request_id(), self.plane.main_session_id

        def make() -> Awaitable[Any]:
            work = lambda tx: turn_stops.stop_turn(tx, session, turn.turn_id, request_id, "owner")  # noqa: E731
            return within(self.plane, work)

        self.accepted(make, "")
        if turn.state == "running":
            turn.stop_requested = True

    @precondition(lambda self: any(turn.stop_requested for turn in self.model.turns.values()))
    @rule(pick=PICK)
    def end_stopped_turn(self, pick: int) -> None:
        """The workflow of a stopped turn ends it, perhaps once more."""
        stopped_turns = [turn for turn in self.model.turns.values() if turn.stop_requested]
        turn = stopped_turns[pick % len(stopped_turns)]
        run = turn_run(self.wait(self.plane.only(TurnRow, TurnRow.turn_id == turn.turn_id)))
        self.wait(turn_stopped(self.plane, run))
        self.model.end_turn(turn, "stopped")

    def any_turn(self, pick: int) -> Turn:
        """Mostly the running one."""
        turns = list(self.model.turns.values())
        running = self.model.first("running")
        return running if running is not None and pick % 3 else turns[pick % len(turns)]

    @precondition(lambda self: self.again)
    @rule(pick=PICK)
    def repeat(self, pick: int) -> None:
        """I2: a request that was accepted is sent again, however long ago; the comparison below sees any effect."""
        assert self.wait(code_of(self.again[-1 - pick % len(self.again)]())) == ""

    @invariant()
    def rows_are_as_the_model_says(self) -> None:
        """I5, I6, I7: all rows together, after every event."""
        if hasattr(self, "model"):
            self.wait(self.compare())

    async def compare(self) -> None:
        tasks = list(self.model.tasks.values())
        rows = await self.plane.rows(TaskRow)
        assert {r.task_id: (r.state, r.requirement_version) for r in rows} == {
            t.task_id: (t.state, t.version) for t in tasks
        }
        ids = [task.task_id for task in tasks]
        attempts = await self.plane.rows(AttemptRow, AttemptRow.task_id.in_(ids))
        assert {(a.task_id, a.requirement_version): a.state for a in attempts} == {
            (t.task_id, version): state for t in tasks for version, state in t.attempts.items()
        }
        assert {q.question_id: q.state for q in await self.plane.rows(QuestionRow)} == {
            q.question_id: q.state for t in tasks for q in t.questions
        }
        assert {i.intent_id: (i.state, i.outcome) for i in await self.plane.rows(IntentRow)} == {
            i.intent_id: (i.state, i.outcome) for t in tasks for i in t.intents
        }
        assert {d.delivery_id: (d.state, d.turn_id) for d in await self.plane.rows(DeliveryRow)} == {
            d.delivery_id: (d.state, d.turn_id) for t in tasks for d in t.deliveries
        }
        turns = {t.turn_id: (t.state, t.stop_requested_at is not None) for t in await self.plane.rows(TurnRow)}
        assert turns == {t.turn_id: (t.state, t.stop_requested) for t in self.model.turns.values()}
        messages = await self.plane.rows(MessageRow, MessageRow.session_id == self.plane.main_session_id)
        assert [m.delivery_id for m in messages if m.delivery_id is not None] == self.model.told
        assert max(Counter(self.model.told).values(), default=1) == 1
        evidence = await self.plane.rows(EvidenceRow, EvidenceRow.task_id.in_(ids))
        assert {(e.task_id, e.requirement_version) for e in evidence} == {
            key for key, state in {(a.task_id, a.requirement_version): a.state for a in attempts}.items()
            if state == "succeeded"
        }  # fmt: skip
        for task in tasks:
            # I6, said by the rows alone: nothing is called stopped while an attempt of it runs.
            if task.state == "stopped":
                assert "running" not in task.attempts.values()


@pytest.fixture
def prepared_machine(tmp_path: Path) -> Iterator[type[Work]]:
    """The machine with a loop and a prepared database of its own."""
    loop = asyncio.new_event_loop()
    database = Database(f"sqlite+aiosqlite:///{tmp_path}/steward.sqlite")
    loop.run_until_complete(prepare(database))
    Work.loop, Work.database = loop, database
    yield Work
    loop.run_until_complete(database.close())
    loop.close()


def test_any_order_of_events_keeps_the_store_and_the_model_together(prepared_machine: type[Work]) -> None:
    """I2, I5, I6, I7, T3, T8, T9, D3, S3, S7, S10: no illegal move, one winner, at most one message per delivery."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    small = settings(max_examples=25, stateful_step_count=40, deadline=None, suppress_health_check=slow)
    run_state_machine_as_test(prepared_machine, settings=small)
