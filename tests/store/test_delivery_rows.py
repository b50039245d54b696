"""Deliveries: opened with the fact, submitted once, delivered once, or failed with their turn (D1-D7, I5)."""

import asyncio

import pytest

from domain.delivery import DeliveryEvent, DeliveryKind
from domain.refusal import Refused
from store import deliveries, outbox, tasks, turn_ends, views
from store.database import Database
from store.tables_conversation import MessageRow, TurnRow
from store.tables_host import OutboxRow, ReceiptRow
from store.tables_work import DeliveryRow
from tests.control_plane import Plane


async def test_a_delivery_is_opened_with_its_fact(plane: Plane) -> None:
    """D1, D2, I5: it waits from the transaction of the result on, under its own request id, and is started."""
    run = await plane.attempt()
    delivery = await plane.succeed(run)
    assert (delivery.state, delivery.kind, delivery.owner_kind, delivery.owner_id) == (
        "waiting", "result", "task", run.task_id
    )  # fmt: skip
    assert (delivery.requirement_version, delivery.attempt) == (1, 1)
    started = await plane.rows(OutboxRow, OutboxRow.kind == outbox.DELIVERY_START)
    assert [row.subject_id for row in started] == [delivery.delivery_id]
    assert await plane.rows(ReceiptRow, ReceiptRow.request_id == delivery.request_id) == []


async def test_submission_is_a_receipt_with_a_queued_turn(plane: Plane) -> None:
    """D2, D3: submitted means accepted: a receipt with a turn id exists; nothing is in the conversation yet."""
    delivery = await plane.submit(await plane.succeed(await plane.attempt()))
    receipt = await plane.only(ReceiptRow, ReceiptRow.request_id == delivery.request_id)
    turn = await plane.only(TurnRow)
    assert delivery.state == "submitted"
    assert (receipt.turn_id, receipt.delivery_id, receipt.state) == (turn.turn_id, delivery.delivery_id, "accepted")
    assert (turn.kind, turn.position, turn.delivery_id) == ("delivery", delivery.position, delivery.delivery_id)
    assert turn.run_id == turn.turn_id
    assert await plane.messages() == []


async def test_submission_at_once_is_one_turn(plane: Plane, prepared_url: str) -> None:
    """D7, I2: submitted again, also by many at the same moment, a delivery keeps its one turn."""
    delivery = await plane.succeed(await plane.attempt())
    databases = [Database(prepared_url) for _ in range(8)]

    async def submit(database: Database) -> str | None:
        async with database.write(plane.scope) as tx:
            return (await deliveries.submit(tx, delivery.delivery_id)).turn_id

    found = await asyncio.gather(*(submit(database) for database in databases))
    await asyncio.gather(*(database.close() for database in databases))
    assert set(found) == {(await plane.only(TurnRow)).turn_id}


async def test_delivered_means_stored(plane: Plane) -> None:
    """D3: a running turn is not delivery; the message in the history is, with its sequence, and once."""
    run = await plane.delivery_turn()
    await plane.step(run, "It is done: the result.")
    assert (await plane.only(DeliveryRow)).state == "submitted"
    await plane.complete(run)
    await plane.complete(run)
    delivery = await plane.only(DeliveryRow)
    message = await plane.only(MessageRow, MessageRow.session_id == plane.main_session_id)
    assert (delivery.state, delivery.message_seq) == ("delivered", message.seq)
    assert (message.origin, message.delivery_id) == ("delivery", delivery.delivery_id)
    assert (await plane.submit(delivery)).state == "delivered"
    async with plane.database.read(plane.scope) as tx:
        [shown], _ = await views.message_views(tx, plane.main_session_id, None, None, 10)
    assert shown["delivery"] == {
        "delivery_id": delivery.delivery_id, "kind": "result", "task_id": delivery.owner_id
    }  # fmt: skip


@pytest.mark.parametrize("stopped", [False, True])
async def test_a_turn_without_a_message_fails_its_delivery(plane: Plane, stopped: bool) -> None:
    """D3, S8: known not to be in the history, with the reason; nothing partial is ever stored."""
    run = await plane.delivery_turn()
    await plane.step(run, "half of the", ("list_tasks", {}))
    async with plane.database.write(plane.scope) as tx:
        if stopped:
            await turn_ends.stop(tx, run)
        else:
            await turn_ends.fail(tx, run, "model_unavailable", "words for an input")
    delivery = await plane.only(DeliveryRow)
    assert (delivery.state, delivery.reason) == ("failed", "turn_stopped" if stopped else "model_unavailable")
    assert delivery.message_seq is None
    assert await plane.messages() == []
    await plane.complete(run)
    assert (await plane.only(DeliveryRow)).state == "failed"


async def test_two_results_are_two_messages(plane: Plane) -> None:
    """D7: never merged, in the order of completion."""
    for summary in ("one", "two"):
        run = await plane.delivery_turn(summary)
        await plane.step(run, summary)
        await plane.complete(run)
    assert [text for _, _, text in await plane.messages()] == ["one", "two"]


async def test_one_row_per_fact(plane: Plane) -> None:
    """D1: owner, version, attempt, kind and subject name one delivery; a second row is impossible."""
    run = await plane.attempt()
    await plane.succeed(run)
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        async with plane.database.write(plane.scope) as tx:
            await deliveries.open_delivery(
                tx, DeliveryKind.RESULT,
                task_id=run.task_id or "", requirement_version=1, attempt=1, subject_id=run.run_id,
            )  # fmt: skip
    assert len(await plane.rows(DeliveryRow)) == 1


async def test_a_failure_has_its_delivery(plane: Plane) -> None:
    """D1, D10: a failed task tells so by itself."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        await tasks.fail(tx, run, "bounds_exceeded")
    assert (await plane.only(DeliveryRow)).kind == "failure"


async def test_open_deliveries_are_counted_until_they_are_settled(plane: Plane) -> None:
    """T18, D2: a task's workflow waits for its deliveries: waiting and submitted are open, the settled ones are not."""

    async def open_count(task_id: str) -> int:
        async with plane.database.read(plane.scope) as tx:
            return await deliveries.open_count(tx, task_id)

    attempt = await plane.attempt()
    task_id = attempt.task_id or ""
    assert await open_count(task_id) == 0
    delivery = await plane.succeed(attempt)
    assert await open_count(task_id) == 1
    await plane.submit(delivery)
    assert await open_count(task_id) == 1
    async with plane.database.write(plane.scope) as tx:
        deliveries.settle(tx, await deliveries.delivery_row(tx, delivery.delivery_id), DeliveryEvent.FAIL, reason="x")
    assert await open_count(task_id) == 0


async def test_foreign_deliveries_are_absent(plane: Plane, other: Plane) -> None:
    """P1, I8: another space's delivery answers like one that never was, and is not submitted."""
    foreign = await other.succeed(await other.attempt())
    refusals = []
    for delivery_id in (foreign.delivery_id, "delivery_never"):
        async with plane.database.write(plane.scope) as tx:
            with pytest.raises(Refused) as refused:
                await deliveries.submit(tx, delivery_id)
        refusals.append(refused.value.refusal)
    assert refusals[0] == refusals[1]
    assert (await other.only(DeliveryRow)).state == "waiting"


async def test_one_spaces_queue_does_not_submit_anothers_results(plane: Plane, other: Plane) -> None:
    """I8, D7: results that wait before an input's place are those of its own space."""
    await other.succeed(await other.attempt())
    await plane.send("one")
    await plane.send("two")
    assert await plane.next_turn() is not None
    assert (await other.only(DeliveryRow)).state == "waiting"
