"""The conversation's queue and how turns end (C1, C4, D3, D7, S8, S10, I7)."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from domain.approval import ApprovalEvent
from domain.refusal import Refused
from domain.run import Following, RunRef
from store import approvals, outbox, turn_ends, turn_stops, turns
from store.approvals import CardDecision
from store.database import Database, Transaction
from store.tables_authority import ApprovalRow, EffectRow
from store.tables_conversation import MessageRow, TurnRow
from store.tables_host import ChangeRow, OutboxRow, ReceiptRow
from store.tables_work import DeliveryRow
from store.turns import turn_run
from store.views import message_views
from tests.control_plane import Plane

End = Callable[[Transaction, RunRef], Awaitable[TurnRow]]


async def fail(tx: Transaction, run: RunRef) -> TurnRow:
    return await turn_ends.fail(tx, run, "model_unavailable", "no model")


ENDS: dict[str, End] = {"completed": turn_ends.complete, "failed": fail, "stopped": turn_ends.stop}


async def end(plane: Plane, run: RunRef, how: str) -> TurnRow:
    async with plane.database.write(plane.scope) as tx:
        return await ENDS[how](tx, run)


async def stop_turn(plane: Plane, turn_id: str, request_id: str | None = None) -> str | None:
    async with plane.database.write(plane.scope) as tx:
        receipt = await turn_stops.stop_turn(
            tx, plane.main_session_id, turn_id, request_id or plane.request_id(), "owner"
        )
        return receipt.outcome


async def order_of_turns(plane: Plane) -> list[str]:
    """Run everything that is queued, one after the other; what each turn answered."""
    answered = []
    while (turn := await plane.next_turn()) is not None:
        answered.append(turn.delivery_id or f"input {turn.input_seq}")
        await plane.complete(turn_run(turn))
    return answered


async def test_inputs_are_answered_one_at_a_time_in_order(plane: Plane) -> None:
    """C1: order of acceptance, exactly one running."""
    for number in range(3):
        await plane.send(str(number))
    first = await plane.next_turn()
    assert first is not None
    assert first.input_seq == 1
    again = await plane.next_turn()
    assert again is not None
    assert (again.turn_id, again.started_at) == (first.turn_id, first.started_at)
    assert await order_of_turns(plane) == ["input 1", "input 2", "input 3"]
    assert await plane.next_turn() is None


async def test_many_ask_for_the_next_turn_and_one_begins(plane: Plane, prepared_url: str) -> None:
    """C1: repeated and concurrent, the answer is the same turn; it begins once."""
    await plane.send("one")
    await plane.send("two")
    databases = [Database(prepared_url) for _ in range(8)]

    async def begin(database: Database) -> str:
        async with database.write(plane.scope) as tx:
            begun = await turns.next_turn(tx)
            assert begun is not None
            return begun.turn_id

    begun = await asyncio.gather(*(begin(database) for database in databases))
    await asyncio.gather(*(database.close() for database in databases))
    assert len(set(begun)) == 1
    states = [row.body["state"] for row in await plane.rows(ChangeRow, ChangeRow.topic == "turn.state")]
    assert states == ["queued", "queued", "running"]


async def test_a_delivery_takes_its_place_when_the_task_completes(plane: Plane) -> None:
    """D7: the order is that of completion among inputs and results alike, whenever it is submitted."""
    slow, quick = await plane.attempt("slow"), await plane.attempt("quick")
    await plane.send("before")
    first = await plane.succeed(quick)
    await plane.send("between")
    second = await plane.succeed(slow)
    await plane.send("after")
    await plane.submit(second)
    assert await order_of_turns(plane) == [
        "input 1", first.delivery_id, "input 2", second.delivery_id, "input 3"
    ]  # fmt: skip


async def test_waiting_results_alone_begin_no_turn_by_themselves(plane: Plane) -> None:
    """D3, D12: a delivery that was not accepted yet waits; accepted, it is the next turn."""
    delivery = await plane.succeed(await plane.attempt())
    assert await plane.next_turn() is None
    await plane.submit(delivery)
    assert await order_of_turns(plane) == [delivery.delivery_id]


async def test_a_reply_is_stored_with_its_turns_end(plane: Plane) -> None:
    """C4: the texts of the turn's steps are its one stored message; receipt and notice say so."""
    run = await plane.turn()
    await plane.step(run, "Let me see.", ("list_tasks", {}))
    await plane.step(run, "Nothing there.", number=2)
    ended = await end(plane, run, "completed")
    assert await plane.messages() == [(1, "user", "hello"), (2, "assistant", "Let me see.\n\nNothing there.")]
    assert (ended.state, ended.message_seq) == ("completed", 2)
    assert (await plane.only(ReceiptRow)).state == "done"
    assert (await plane.rows(ChangeRow))[-1].body == {"turn_id": run.turn_id, "state": "completed", "message_seq": 2}


@pytest.mark.parametrize("first", ENDS)
@pytest.mark.parametrize("late", ENDS)
async def test_the_first_end_stands(plane: Plane, first: str, late: str) -> None:
    """I7: whatever ends a turn again, repeated or late, changes no row and stores no message."""
    run = await plane.turn()
    await plane.step(run, "said")
    ended = await end(plane, run, first)
    messages = await plane.messages()
    again = await end(plane, run, late)
    assert (again.state, again.reason, again.ended_at) == (first, ended.reason, ended.ended_at)
    assert await plane.messages() == messages
    assert await plane.follows(run) == Following(kind="ended")


async def test_a_failed_turn_says_why(plane: Plane) -> None:
    """O3: what was said is kept, and the words of the failure are one stored reply with it."""
    run = await plane.turn()
    await plane.step(run, "Let me see.", ("list_tasks", {}))
    ended = await end(plane, run, "failed")
    assert (ended.state, ended.reason) == ("failed", "model_unavailable")
    assert (await plane.messages())[1:] == [(2, "assistant", "Let me see.\n\nno model")]


async def test_a_stopped_reply_is_stored_as_interrupted(plane: Plane) -> None:
    """S8: what was streamed until then is kept and marked; nothing said stores nothing; the queue goes on."""
    run = await plane.turn("first")
    await plane.send("second")
    assert await stop_turn(plane, run.turn_id or "") == "stopping"
    assert await plane.follows(run) == Following(kind="ended", reason="turn_stopped")
    async with plane.database.write(plane.scope) as tx:
        (await turns.turn_row(tx, run.turn_id or "")).partial_text = "I was about to"
    ended = await end(plane, run, "stopped")
    message = await plane.only(MessageRow, MessageRow.turn_id == run.turn_id, MessageRow.role == "assistant")
    assert (message.text, message.interrupted) == ("I was about to", True)
    assert (ended.state, ended.reason, ended.partial_text) == ("stopped", "turn_stopped", None)
    following = await plane.next_turn()
    assert following is not None
    assert following.input_seq == 2
    assert (await end(plane, turn_run(following), "stopped")).message_seq is None


@pytest.mark.parametrize("late", ["completed", "failed"])
@pytest.mark.parametrize("kind", ["input", "delivery"])
async def test_a_stop_that_was_accepted_has_won(plane: Plane, late: str, kind: str) -> None:
    """S8, S10: an answer after the stop's transaction ends the turn as stopped; a delivery stores nothing."""
    run = await (plane.turn() if kind == "input" else plane.delivery_turn())
    await plane.step(run, "the whole answer")
    assert await stop_turn(plane, run.turn_id or "") == "stopping"
    assert (await end(plane, run, late)).state == "stopped"
    replies = await plane.rows(MessageRow, MessageRow.turn_id == run.turn_id, MessageRow.role == "assistant")
    assert [(row.text, row.interrupted) for row in replies] == ([("the whole answer", True)] if kind == "input" else [])
    if kind == "delivery":
        delivery = await plane.only(DeliveryRow)
        assert (delivery.state, delivery.reason) == ("failed", "turn_stopped")


async def test_a_late_stop_hits_nothing(plane: Plane) -> None:
    """S8: a turn that has ended, or is queued, is not running; its receipt says so again; the running one goes on."""
    ended = await plane.turn("first")
    await end(plane, ended, "completed")
    running = await plane.turn("second")
    queued = (await plane.send("third")).turn_id or ""
    assert await stop_turn(plane, ended.turn_id or "", "late") == "turn_not_running"
    assert await stop_turn(plane, queued) == "turn_not_running"
    assert await stop_turn(plane, ended.turn_id or "", "late") == "turn_not_running"
    assert (await plane.follows(running)).kind == "model"
    assert [row.subject_id for row in await plane.rows(OutboxRow, OutboxRow.kind == outbox.TURN_STOP)] == []


async def test_a_repeated_stop_reads_its_receipt(plane: Plane) -> None:
    """S8, I2: also when the turn has ended meanwhile, the first answer stands; another turn under that id conflicts."""
    run = await plane.turn()
    assert await stop_turn(plane, run.turn_id or "", "stop") == "stopping"
    await end(plane, run, "stopped")
    assert await stop_turn(plane, run.turn_id or "", "stop") == "stopping"
    other = await plane.turn("next")
    with pytest.raises(Refused) as refused:
        await stop_turn(plane, other.turn_id or "", "stop")
    assert refused.value.refusal.code == "request_id_conflict"
    assert (await plane.follows(other)).kind == "model"


async def test_unknown_and_foreign_turns_are_alike(plane: Plane, other: Plane) -> None:
    """P1, I8, S8: `not_found` for both, word for word; the foreign turn runs on."""
    foreign = await other.turn()
    refusals = []
    for turn_id in (foreign.turn_id or "", "turn_never"):
        with pytest.raises(Refused) as refused:
            await stop_turn(plane, turn_id)
        refusals.append(refused.value.refusal)
    assert refusals[0] == refusals[1]
    assert refusals[0].code == "not_found"
    assert await plane.rows(ReceiptRow) == []
    assert (await other.follows(foreign)).kind == "model"


async def park(plane: Plane, run: RunRef, *, only_if_queued: bool = False) -> bool:
    async with plane.database.write(plane.scope) as tx:
        return await turn_ends.park(tx, run, only_if_queued=only_if_queued)


async def decide(plane: Plane, event: ApprovalEvent = ApprovalEvent.DENY) -> None:
    card = await plane.only(ApprovalRow)
    decision = CardDecision(card.approval_id, card.version, card.action_digest, event, plane.request_id())
    async with plane.database.write(plane.scope) as tx:
        await approvals.decide(tx, decision, "owner")


async def test_a_turn_parks_with_its_card_when_others_wait(plane: Plane) -> None:
    """C1: with `only_if_queued` just when something else is queued; the reply ends with the card; the queue goes on."""
    run = await plane.turn("first")
    await plane.card(run)
    assert not await park(plane, run, only_if_queued=True)
    await plane.send("second")
    assert await park(plane, run, only_if_queued=True)
    assert await park(plane, run, only_if_queued=True)
    reply = await plane.only(MessageRow, MessageRow.turn_id == run.turn_id, MessageRow.role == "assistant")
    assert (reply.text, reply.approval_id) == ("may I?", (await plane.only(ApprovalRow)).approval_id)
    assert await order_of_turns(plane) == ["input 2"]


async def test_a_turn_without_an_open_card_does_not_park(plane: Plane) -> None:
    """C1: a card decided before parking goes on in the same turn; a turn that was stopped does not park either."""
    run = await plane.turn()
    assert not await park(plane, run)
    await plane.card(run)
    await decide(plane)
    assert not await park(plane, run)
    assert (await turns_of(plane))[0].state == "running"


async def turns_of(plane: Plane) -> list[TurnRow]:
    return sorted(await plane.rows(TurnRow), key=lambda turn: turn.position)


async def test_the_decision_queues_the_continuation(plane: Plane) -> None:
    """C1: own turn id, same run, at the end of the queue; the parked reply has had its say."""
    run = await plane.turn("first")
    effect_id = await plane.card(run)
    await plane.send("second")
    assert await park(plane, run)
    await decide(plane)
    parked, second, continuation = await turns_of(plane)
    assert (parked.state, second.kind) == ("completed", "input")
    assert (continuation.kind, continuation.run_id, continuation.effect_id) == ("continuation", run.run_id, effect_id)
    assert continuation.turn_id != run.turn_id
    assert continuation.input_seq == parked.input_seq
    begun = await plane.next_turn()
    assert begun is not None
    assert begun.turn_id == second.turn_id


@pytest.mark.parametrize("event", [ApprovalEvent.DENY, ApprovalEvent.ALLOW_ONCE])
async def test_a_turn_that_parked_and_lost_the_answer_is_parked_also_after_the_decision(
    plane: Plane, event: ApprovalEvent
) -> None:
    """C1, I7: its worker died before it knew; the continuation goes on, and the parked turn must not wait for ever."""
    run = await plane.turn("first")
    await plane.card(run)
    assert await park(plane, run)
    await decide(plane, event)
    before = await plane.messages()
    assert await park(plane, run)
    assert await park(plane, run, only_if_queued=True)
    assert await plane.messages() == before


async def test_stopping_a_parked_turn_withdraws_its_card(plane: Plane) -> None:
    """S8: outcome `stopped`, its stored reply stays, no continuation is queued, nothing of it can start (I3)."""
    run = await plane.turn()
    await plane.card(run)
    assert await park(plane, run)
    before = await plane.messages()
    assert await stop_turn(plane, run.turn_id or "") == "stopped"
    assert (await plane.only(TurnRow)).state == "stopped"
    assert (await plane.only(EffectRow)).state == "withdrawn"
    assert (await plane.only(ApprovalRow)).state != "pending"
    assert await park(plane, run), "said again after its worker died"
    assert await plane.messages() == before


async def test_stopping_a_running_turn_withdraws_its_card(plane: Plane) -> None:
    """S8, I3: from the stop's transaction on nothing of the turn starts; the turn does not park any more."""
    run = await plane.turn()
    await plane.card(run)
    assert await stop_turn(plane, run.turn_id or "") == "stopping"
    assert (await plane.only(EffectRow)).state == "withdrawn"
    assert not await park(plane, run)
    assert [row.subject_id for row in await plane.rows(OutboxRow, OutboxRow.kind == outbox.TURN_STOP)] == [run.turn_id]


@pytest.mark.parametrize(("spoken", "trace"), [(None, "stopped"), ("Once upon", None)])
async def test_an_input_whose_reply_was_stopped_says_so_where_nothing_else_does(
    plane: Plane, spoken: str | None, trace: str | None
) -> None:
    """S8: a reply stopped before its first word stores no message, so the input itself carries the turn's state."""
    run = await plane.turn("first")
    if spoken is not None:
        await plane.step(run, spoken)
    await stop_turn(plane, run.turn_id or "")
    async with plane.database.write(plane.scope) as tx:
        await turn_ends.stop(tx, run)
    async with plane.database.read(plane.scope) as tx:
        shown, _more = await message_views(tx, plane.main_session_id, None, None, 10)
    assert shown[0].get("turn_state") == trace
    assert [message.get("interrupted") for message in shown[1:]] == ([True] if spoken else [])
