"""Retrying deliveries: the original reply first, the executor never again, at most once in all (D3, D5, D6, I2, I5)."""

import pytest

from domain.delivery import DeliveryEvent
from store import deliveries, outbox, receipts
from store.database import Transaction
from store.tables_conversation import TurnRow
from store.tables_host import OutboxRow, ReceiptRow
from store.tables_work import AttemptRow, DeliveryRow, StepRow
from store.turns import turn_run
from tests.control_acts import code_of, retried, stopped, turn_failed, turn_stopped, within
from tests.control_plane import Plane


async def failed_delivery(plane: Plane) -> DeliveryRow:
    """A delivery whose turn ended without a message."""
    await turn_failed(plane, await plane.delivery_turn())
    return await plane.only(DeliveryRow)


async def test_a_failed_delivery_goes_again_under_its_own_id(plane: Plane) -> None:
    """D3, D5: a new turn of the same delivery; attempt and steps are what they were."""
    before = await failed_delivery(plane)
    assert (before.state, before.reason) == ("failed", "model_unavailable")
    again = await retried(plane, before.delivery_id)
    assert (again.delivery_id, again.state, again.reason) == (before.delivery_id, "submitted", None)
    assert again.turn_id != before.turn_id
    turn = await plane.next_turn()
    assert turn is not None
    assert turn.turn_id == again.turn_id
    await plane.step(turn_run(turn), "Here it is.")
    await plane.complete(turn_run(turn))
    after = await plane.only(DeliveryRow)
    assert (after.state, after.message_seq) == ("delivered", 1)
    assert [text for _, _, text in await plane.messages()] == ["Here it is."]
    assert [row.attempt for row in await plane.rows(AttemptRow, AttemptRow.task_id == before.owner_id)] == [1]
    assert await plane.rows(StepRow, StepRow.run_id.startswith(before.owner_id)) == []


async def test_the_same_retry_is_accepted_once(plane: Plane) -> None:
    """I2: one turn, whoever asks how often; the receipt names the delivery."""
    before = await failed_delivery(plane)
    first = await retried(plane, before.delivery_id, "retry")
    second = await retried(plane, before.delivery_id, "retry")
    assert first.turn_id == second.turn_id
    assert await code_of(retried(plane, before.delivery_id, "another")) == "delivery_not_failed"
    assert len(await plane.rows(TurnRow)) == 2
    receipt = await plane.only(ReceiptRow, ReceiptRow.request_id == "retry")
    assert (receipt.state, receipt.delivery_id, receipt.task_id) == ("done", before.delivery_id, before.owner_id)
    starts = await plane.rows(OutboxRow, OutboxRow.kind == outbox.DELIVERY_START)
    assert [entry.subject_id for entry in starts] == [before.delivery_id] * 2


@pytest.mark.parametrize("state", ["waiting", "queued", "running", "delivered", "cancelled"])
async def test_only_a_failed_delivery_is_retried(plane: Plane, state: str) -> None:
    """D5: any other state is `delivery_not_failed`; a turn known to be queued or running is not uncertain."""
    delivery = await plane.succeed(await plane.attempt())
    if state != "waiting":
        delivery = await plane.submit(delivery)
    if state in ("running", "delivered"):
        turn = await plane.next_turn()
        assert turn is not None
        if state == "delivered":
            await plane.step(turn_run(turn), "Here it is.")
            await plane.complete(turn_run(turn))
    if state == "cancelled":
        await stopped(plane, delivery.owner_id)
    assert await code_of(retried(plane, delivery.delivery_id)) == "delivery_not_failed"


async def test_an_uncertain_outcome_is_not_guessed(plane: Plane) -> None:
    """D5, D6: submitted, and nobody can tell what became of its turn."""
    delivery = await plane.submit(await plane.succeed(await plane.attempt()))

    async def lose(tx: Transaction) -> None:
        (await deliveries.delivery_row(tx, delivery.delivery_id)).turn_id = "turn_lost"

    await within(plane, lose)
    assert await code_of(retried(plane, delivery.delivery_id)) == "delivery_outcome_unknown"


async def test_a_reply_that_is_stored_after_all_is_found(plane: Plane) -> None:
    """D3, D5: failed -> delivered without a new turn."""
    turn = await plane.delivery_turn()
    await plane.step(turn, "Here it is.")
    await plane.complete(turn)

    async def forget(tx: Transaction) -> None:
        delivery = await deliveries.delivery_row(tx, delivery_id)
        delivery.state, delivery.message_seq = "failed", None

    delivery_id = (await plane.only(DeliveryRow)).delivery_id
    await within(plane, forget)
    found = await retried(plane, delivery_id)
    assert (found.state, found.message_seq) == ("delivered", 1)
    assert len(await plane.rows(TurnRow)) == 1


async def test_a_stopped_reply_may_be_retried(plane: Plane) -> None:
    """S8, D5: it stored nothing, and its receipt is accepted again until the new turn ends."""
    turn = await plane.delivery_turn()
    await turn_stopped(plane, turn)
    delivery = await plane.only(DeliveryRow)
    assert (delivery.state, delivery.reason) == ("failed", "turn_stopped")
    again = await retried(plane, delivery.delivery_id)
    async with plane.database.read(plane.scope) as tx:
        receipt = await receipts.find(tx, delivery.request_id)
    assert receipt is not None
    assert (receipt.state, receipt.turn_id) == ("accepted", again.turn_id)


async def test_the_end_of_an_earlier_turn_says_nothing_about_a_retried_delivery(plane: Plane) -> None:
    """I7: only the turn it was submitted with settles it."""
    first = await plane.delivery_turn()
    await turn_failed(plane, first)
    delivery = await plane.only(DeliveryRow)
    await retried(plane, delivery.delivery_id)
    old = await plane.only(TurnRow, TurnRow.turn_id == first.turn_id)
    await within(plane, lambda tx: deliveries.settle_turn(tx, old, DeliveryEvent.FAIL, reason="turn_failed"))
    assert (await plane.only(DeliveryRow)).state == "submitted"


async def test_a_foreign_delivery_is_not_found(plane: Plane, other: Plane) -> None:
    """P1, I8: absent and foreign are alike."""
    foreign = await failed_delivery(other)
    for delivery_id in (foreign.delivery_id, "delivery_none"):
        assert await code_of(retried(plane, delivery_id)) == "not_found"
