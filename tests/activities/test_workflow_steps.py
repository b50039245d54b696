"""The SQL steps of conversation, task and delivery workflows: repeated, late, and whom they tell (C1, D11, T18, I7)."""

import pytest
from temporalio.testing import ActivityEnvironment

from activities.conversation import ConversationWork
from activities.deliveries import DeliveryWork
from activities.tasks import TaskWork
from activities.turn_start import TurnStarter
from contracts.conversation import ConversationRef, ParkRequest, TurnOutcome, TurnRef
from contracts.deliveries import DeliveryRef
from contracts.tasks import AttemptEnd, TaskRef
from domain.refusal import Refused
from domain.run import RunRef
from store import turns
from store.tables_conversation import TurnRow
from store.tables_work import DeliveryRow, TaskRow
from store.tasks import run_of
from tests.activities.conftest import Told
from tests.control_plane import Plane


@pytest.fixture
def conversation(plane: Plane, told: Told) -> ConversationWork:
    return ConversationWork(plane.database, told, TurnStarter(plane.database, told, park_after_s=60.0))


@pytest.fixture
def work(plane: Plane, told: Told) -> TaskWork:
    return TaskWork(plane.database, told)


@pytest.fixture
def carrying(plane: Plane, told: Told) -> DeliveryWork:
    return DeliveryWork(plane.database, told, TurnStarter(plane.database, told, park_after_s=60.0))


def space(plane: Plane) -> ConversationRef:
    return ConversationRef(user_space=plane.scope.user_space, domain=plane.scope.domain)


def task_ref(run: RunRef) -> TaskRef:
    return TaskRef(user_space=run.user_space, domain=run.domain, task_id=run.task_id or "")


def delivery_ref(delivery: DeliveryRow) -> DeliveryRef:
    return DeliveryRef(
        user_space=delivery.user_space, domain=delivery.domain, delivery_id=delivery.delivery_id,
        owner_kind=delivery.owner_kind, owner_id=delivery.owner_id,
    )  # fmt: skip


async def test_the_next_turn_is_begun_and_started(plane: Plane, conversation: ConversationWork, told: Told) -> None:
    """C1, D6: repeated, the same turn is returned and its workflow started again if it is gone; then None."""
    assert await conversation.next_turn(space(plane)) is None
    receipt = await plane.send()
    first = await conversation.next_turn(space(plane))
    assert isinstance(first, TurnRef)
    assert (first.run.turn_id, first.continues, first.park_after_s) == (receipt.turn_id, False, 60.0)
    assert await conversation.next_turn(space(plane)) == first
    assert told.hints == [(f"turn:{receipt.turn_id}", "start", ())] * 2


@pytest.mark.parametrize("outcome", ["reply", "failed", "stopped"])
async def test_an_end_is_stored_once_and_told_again(
    plane: Plane, conversation: ConversationWork, told: Told, outcome: str
) -> None:
    """I7, T18: repeated after a crash, the end only tells; whom it tells is the conversation."""
    run = await plane.turn()
    await plane.step(run, "said")
    end = TurnOutcome(run=run, outcome=outcome)  # type: ignore[arg-type]
    await conversation.end(end)
    stored = await plane.messages()
    assert len(stored) == 2
    await conversation.end(end)
    assert await plane.messages() == stored
    name = f"conversation:{plane.scope.user_space}:{plane.scope.domain}"
    assert told.hints == [(name, "turn_ended", (run.turn_id,))] * 2


@pytest.mark.parametrize(
    ("text", "reason", "expected"),
    [
        ("hello there", "model_unavailable", "I could not answer: the language model did not respond"),
        ("你好，请帮我写", "model_unavailable", "我没能回答：语言模型没有回应"),
        ("hello there", "bounds_exceeded", "The task reached its limit"),
        ("hello there", None, "The reply could not be written."),
    ],
)
async def test_a_failure_is_said_in_the_users_language(
    plane: Plane, conversation: ConversationWork, text: str, reason: str | None, expected: str
) -> None:
    """O3: a clear message is the reply; no code is shown to a person."""
    run = await plane.turn(text)
    await conversation.end(TurnOutcome(run=run, outcome="failed", reason=reason))
    [_, (_, role, said)] = await plane.messages()
    assert role == "assistant"
    assert said.startswith(expected)


async def test_the_end_of_a_delivery_tells_its_workflow(
    plane: Plane, conversation: ConversationWork, carrying: DeliveryWork, told: Told
) -> None:
    """D11, T18: the delivery's workflow hears of the turn's end, then the task's of the settled delivery."""
    run = await plane.delivery_turn()
    delivery = await plane.only(DeliveryRow)
    assert await carrying.conclude(delivery_ref(delivery)) == "submitted"
    assert told.hints == []
    await plane.step(run, "It is done.")
    await conversation.end(TurnOutcome(run=run, outcome="reply"))
    assert (f"delivery:{delivery.delivery_id}", "settled", ()) in told.hints
    told.hints.clear()
    for _ in range(2):
        assert await carrying.conclude(delivery_ref(delivery)) == "delivered"
    assert told.hints == [(f"task:{delivery.owner_id}", "delivery_settled", ())] * 2


async def test_a_delivery_is_submitted_once(plane: Plane, carrying: DeliveryWork) -> None:
    """D3, D11: the activity may be repeated at any time; there is one turn."""
    delivery = await plane.succeed(await plane.attempt())
    assert [await carrying.submit(delivery_ref(delivery)) for _ in range(3)] == ["submitted"] * 3
    assert len(await plane.rows(TurnRow)) == 1


async def test_parking_tells_the_conversation_once_it_is_stored(
    plane: Plane, conversation: ConversationWork, told: Told
) -> None:
    """C1: the queue goes on after a parked turn; one that did not park tells nobody; repeated, it tells again."""
    run = await plane.turn()
    await plane.card(run)
    assert not await conversation.park(ParkRequest(run=run, only_if_queued=True))
    assert told.hints == []
    for _ in range(2):
        assert await conversation.park(ParkRequest(run=run))
    assert [signal for _, signal, _ in told.hints] == ["turn_ended"] * 2
    async with plane.database.read(plane.scope) as tx:
        assert (await turns.turn_row(tx, run.turn_id or "")).state == "parked"


async def test_a_task_begins_and_its_attempt_is_started(plane: Plane, work: TaskWork, told: Told) -> None:
    """T10, T18: repeated, the same attempt; once terminal, no attempt is started and deliveries are counted."""
    task = await plane.task()
    ref = TaskRef(user_space=task.user_space, domain=task.domain, task_id=task.task_id)
    for _ in range(2):
        status = await work.begin(ref)
        assert (status.state, status.terminal, status.open_deliveries) == ("running", False, 0)
    assert told.hints == [(f"attempt:{task.task_id}:1:1", "start", ())] * 2
    await plane.succeed(run_of(task))
    status = await work.begin(ref)
    assert (status.state, status.terminal, status.open_deliveries) == ("completed", True, 1)
    assert len(told.hints) == 2


async def test_a_late_failure_does_not_undo_a_result(plane: Plane, work: TaskWork, told: Told) -> None:
    """I7: the attempt's workflow failed after the result was accepted: the result stands, and the task is told."""
    run = await plane.attempt()
    await plane.succeed(run)
    end = AttemptEnd(run=run, reason="turn_failed")
    assert await ActivityEnvironment().run(work.end_attempt, end) == "succeeded"
    assert (await plane.only(TaskRow)).state == "completed"
    assert told.hints == [(f"task:{run.task_id}", "attempt_ended", ())]


async def test_an_attempt_fails_once(plane: Plane, work: TaskWork) -> None:
    """I7, D1: repeated, the first reason stands and there is one delivery."""
    run = await plane.attempt()
    for reason in ("bounds_exceeded", "turn_failed"):
        assert await ActivityEnvironment().run(work.end_attempt, AttemptEnd(run=run, reason=reason)) == "failed"
    assert (await plane.only(TaskRow)).reason == "bounds_exceeded"
    assert len(await plane.rows(DeliveryRow)) == 1


async def test_an_attempt_of_an_earlier_version_ends_nothing(plane: Plane, work: TaskWork) -> None:
    """T5, T11: its late failure does not touch the newer requirement."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        (await tx.session.get_one(TaskRow, run.task_id)).requirement_version = 2
    await ActivityEnvironment().run(work.end_attempt, AttemptEnd(run=run, reason="turn_failed"))
    assert (await plane.only(TaskRow)).state == "running"
    assert await plane.rows(DeliveryRow) == []


@pytest.mark.parametrize("kind", ["turn", "task", "delivery"])
async def test_references_of_another_space_reach_nothing(
    plane: Plane, other: Plane, conversation: ConversationWork, work: TaskWork, carrying: DeliveryWork, kind: str
) -> None:
    """I8, P1: a reference that names this space and another's object is `not_found`; the object stays as it was."""
    here = {"user_space": plane.scope.user_space, "domain": plane.scope.domain}
    turn, attempt = await other.turn(), await other.attempt()

    async def reach() -> None:
        if kind == "turn":
            await conversation.end(TurnOutcome(run=turn.model_copy(update=here), outcome="reply"))
        elif kind == "task":
            await work.begin(task_ref(attempt).model_copy(update=here))
        else:
            foreign = delivery_ref(await other.succeed(attempt))
            await carrying.submit(foreign.model_copy(update=here))

    with pytest.raises(Refused) as refused:
        await reach()
    assert refused.value.refusal.code == "not_found"
    assert (await other.only(TurnRow)).state == "running"
    assert (await other.only(TaskRow)).state == ("completed" if kind == "delivery" else "running")
