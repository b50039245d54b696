"""Recovery from the rows alone: everything that is not at its end is told again, once (T10, D6, D12, S9, O10)."""

from datetime import timedelta

import pytest

from store import outbox
from store.database import Transaction
from store.deliveries import delivery_row
from store.figures import Figures, figures
from store.recovery import recover
from store.relay_queue import admit
from store.tables_host import OutboxRow
from store.tables_work import DeliveryRow
from tests.control_acts import asked, begun, delegated, failed, finished, let_go, looked, stopped, turn_failed, within
from tests.control_plane import Plane


async def relayed(plane: Plane) -> None:
    """Everything that waits was told to Temporal."""
    waiting = [entry.entry_id for entry in await plane.rows(OutboxRow)]
    await within(plane, lambda tx: outbox.done(tx, waiting))


async def told_again(plane: Plane) -> list[tuple[str, str]]:
    """What a start of the host posts, as kinds and subjects."""
    await within(plane, recover)
    entries = await plane.rows(OutboxRow, OutboxRow.done_at.is_(None))
    return [(entry.kind, entry.subject_id) for entry in entries]


async def test_everything_that_is_not_at_its_end_is_told_again(plane: Plane, other: Plane) -> None:
    """T10, D12, S9: tasks, deliveries, stops and the conversation; not what ended, and nothing foreign (I8)."""
    foreign = await other.attempt()
    await within(other, lambda tx: admit(tx, [foreign.task_id or ""]))
    running, asking, stopping, done = [await plane.attempt() for _ in range(4)]
    admitted = [run.task_id or "" for run in (running, asking, stopping, done)]
    await within(plane, lambda tx: admit(tx, admitted))
    await asked(plane, asking)
    question = await plane.only(DeliveryRow)
    intent = await stopped(plane, stopping.task_id)
    ended = await failed_and_delivered(plane)
    result = await plane.submit(await plane.succeed(done))
    await plane.send()
    never_admitted = await plane.task()
    await relayed(plane)
    found = await told_again(plane)
    starts = {subject for kind, subject in found if kind == outbox.TASK_START}
    assert starts == {running.task_id, asking.task_id, stopping.task_id}
    assert never_admitted.task_id not in starts
    open_deliveries = {subject for kind, subject in found if kind == outbox.DELIVERY_START}
    assert open_deliveries == {question.delivery_id, result.delivery_id}
    assert ended not in open_deliveries
    assert [subject for kind, subject in found if kind == outbox.STOP_START] == [intent.intent_id]
    assert len([kind for kind, _ in found if kind == outbox.CONVERSATION_WAKE]) == 2
    assert await told_again(plane) == found
    assert (await other.rows(OutboxRow))[-1].kind == outbox.TASK_START


async def failed_and_delivered(plane: Plane) -> str:
    """A delivery that is settled; its id."""
    run = await plane.attempt()
    await failed(plane, run)
    [row] = await plane.rows(DeliveryRow, DeliveryRow.owner_id == run.task_id)

    async def end(tx: Transaction) -> None:
        (await delivery_row(tx, row.delivery_id)).state = "failed"

    await within(plane, end)
    return row.delivery_id


async def test_at_rest_nothing_is_told(plane: Plane) -> None:
    """T10: a space in which everything ended starts nothing."""
    turn = await plane.delivery_turn()
    await plane.step(turn, "Here it is.")
    await plane.complete(turn)
    run = await plane.attempt()
    intent = await stopped(plane, run.task_id)
    await let_go(plane, run)
    await finished(plane, intent)
    await relayed(plane)
    assert await told_again(plane) == []


@pytest.mark.parametrize("stored", [True, False])
async def test_a_submitted_delivery_whose_turn_ended_is_settled(plane: Plane, stored: bool) -> None:
    """D6: the message is in the conversation, or the turn is known to have ended without one."""
    turn = await plane.delivery_turn()
    if stored:
        await plane.step(turn, "Here it is.")
        await plane.complete(turn)
    else:
        await turn_failed(plane, turn)

    async def forget(tx: Transaction) -> None:
        row = await delivery_row(tx, delivery_id)
        row.state, row.reason, row.message_seq = "submitted", None, None

    delivery_id = (await plane.only(DeliveryRow)).delivery_id
    await within(plane, forget)
    await within(plane, recover)
    row = await plane.only(DeliveryRow)
    expected = ("delivered", None, 1) if stored else ("failed", "model_unavailable", None)
    assert (row.state, row.reason, row.message_seq) == expected


async def read_later(plane: Plane, seconds: float) -> Figures:
    """The figures as they will be."""
    async with plane.database.read(plane.scope) as tx:
        return await figures(Transaction(tx.session, tx.scope, tx.now + timedelta(seconds=seconds), tx.new_id))


async def test_what_is_stuck_is_seen_and_since_when(plane: Plane) -> None:
    """O10, S9: a silent task, a stop that is not done, a submitted delivery; a waiting task is none of them."""
    calm = await read_later(plane, 1000)
    assert (calm.oldest_idle_task_s, calm.oldest_stop_s, calm.oldest_submitted_s) == (0.0, 0.0, 0.0)
    waiting = await plane.attempt()
    await within(plane, lambda tx: admit(tx, [waiting.task_id or ""]))
    await asked(plane, waiting)
    parent = await plane.attempt()
    await within(plane, lambda tx: admit(tx, [parent.task_id or ""]))
    child = await begun(plane, (await delegated(plane, parent)).task_id)
    assert (await read_later(plane, 1000)).oldest_idle_task_s == 0.0
    await within(plane, lambda tx: admit(tx, [child.task_id or ""]))
    assert 990 < (await read_later(plane, 1000)).oldest_idle_task_s < 1100
    await plane.submit(await plane.succeed(await plane.attempt()))
    intent = await stopped(plane, waiting.task_id)
    await looked(plane, intent)
    later = await read_later(plane, 1000)
    assert 990 < later.oldest_stop_s < 1100
    assert 990 < later.oldest_submitted_s < 1100
