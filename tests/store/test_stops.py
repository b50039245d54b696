"""Stop intents: effective at once, honest about what still runs, blind to what they do not cover (S1-S10, I6, I7)."""

import asyncio

import pytest

from domain.effect import EffectEvent
from store import effects, gate, outbox, stops
from store.database import Database, Transaction
from store.effect_ends import UNKNOWN, Outcome
from store.effect_rows import effect_row
from store.gate import Outside
from store.tables_authority import ApprovalRow, EffectRow
from store.tables_control import IntentRow, QuestionRow
from store.tables_conversation import MessageRow, TurnRow
from store.tables_host import OutboxRow
from store.tables_work import AttemptRow, CallRow, DeliveryRow, EvidenceRow
from store.turns import turn_run
from tests.control_acts import (
    asked,
    begun,
    code_of,
    delegated,
    deliveries_of,
    failed,
    finished,
    let_go,
    looked,
    resumed,
    retried,
    stopped,
    task_of,
    turn_failed,
    turn_stopped,
    within,
)
from tests.control_plane import GATE, Plane


async def test_a_stop_is_accepted_with_its_receipt_and_workflow(plane: Plane) -> None:
    """S1, S3: intent, receipt and outbox entry are one transaction; the task is `stopping` from then on."""
    run = await plane.attempt()
    intent = await stopped(plane, run.task_id, "stop")
    assert (intent.state, intent.outcome, intent.covered) == ("accepted", None, [run.task_id])
    assert (await task_of(plane, run.task_id)).state == "stopping"
    [entry] = await plane.rows(OutboxRow, OutboxRow.kind == outbox.STOP_START)
    assert entry.subject_id == intent.intent_id
    assert (await plane.follows(run)).model_dump(include={"kind", "reason"}) == {
        "kind": "ended",
        "reason": "task_stopped",
    }


async def test_a_stop_says_stopped_only_when_the_attempt_has_let_go(plane: Plane) -> None:
    """S3, S6, I6: it is reconciling until then, and then never anything else but done."""
    run = await plane.attempt()
    intent = await stopped(plane, run.task_id)
    for _ in range(2):
        row, remaining = await looked(plane, intent)
        assert (row.state, row.outcome, list(remaining.attempts)) == ("reconciling", None, [run.run_id])
        assert (await task_of(plane, run.task_id)).state == "stopping"
    assert await let_go(plane, run)
    assert not await let_go(plane, run)
    done = await finished(plane, intent)
    assert (done.outcome, done.unsettled) == ("stopped", [])
    assert (await task_of(plane, run.task_id)).state == "stopped"
    attempt = await plane.only(AttemptRow, AttemptRow.task_id == run.task_id)
    assert (attempt.state, attempt.reason) == ("stopped", "task_stopped")
    assert await deliveries_of(plane, run.task_id) == []
    again = await finished(plane, intent)
    assert (again.outcome, again.done_at) == ("stopped", done.done_at)


async def test_a_task_that_never_began_is_stopped_by_the_first_look(plane: Plane) -> None:
    """S4: nothing runs of it, and its late start is refused by its rows."""
    task = await plane.task()
    await finished(plane, await stopped(plane, task.task_id))
    run = await begun(plane, task.task_id)
    assert (await task_of(plane, task.task_id)).state == "stopped"
    assert (await plane.follows(run)).kind == "ended"


async def test_what_arrives_late_from_a_stopped_attempt_changes_nothing(plane: Plane) -> None:
    """S11, I7: a late answer of a model that hung is ignored, before and after the stop is done."""
    run = await plane.attempt()
    intent = await stopped(plane, run.task_id)
    assert await code_of(plane.succeed(run)) == "task_stopping"
    assert await code_of(failed(plane, run)) == "task_stopping"
    await let_go(plane, run)
    await finished(plane, intent)
    assert await code_of(plane.succeed(run)) == "stale_result"
    assert await code_of(failed(plane, run)) == "stale_result"
    assert (await task_of(plane, run.task_id)).state == "stopped"


async def test_a_stop_is_idempotent_and_a_second_one_joins_it(plane: Plane) -> None:
    """S7, I2: the same request reads its receipt; another request joins the intent, also when that is done."""
    run, other = await plane.attempt(), await plane.attempt()
    intent = await stopped(plane, run.task_id, "stop")
    assert (await stopped(plane, run.task_id, "stop")).intent_id == intent.intent_id
    assert (await stopped(plane, run.task_id, "again")).intent_id == intent.intent_id
    assert await code_of(stopped(plane, other.task_id, "stop")) == "request_id_conflict"
    await let_go(plane, run)
    await finished(plane, intent)
    joined = await stopped(plane, run.task_id, "late")
    assert (joined.intent_id, joined.state, joined.outcome) == (intent.intent_id, "done", "stopped")
    assert len(await plane.rows(IntentRow)) == 1
    assert len(await plane.rows(OutboxRow, OutboxRow.kind == outbox.STOP_START)) == 1


async def test_stop_and_completion_one_after_the_other(plane: Plane) -> None:
    """S10: both orders are legal; each leaves a consistent record and says which won."""
    first = await plane.attempt()
    intent = await stopped(plane, first.task_id)
    assert await code_of(plane.succeed(first)) == "task_stopping"
    await let_go(plane, first)
    assert (await finished(plane, intent)).outcome == "stopped"
    assert await plane.rows(EvidenceRow, EvidenceRow.task_id == first.task_id) == []
    second = await plane.attempt()
    await plane.succeed(second)
    late = await finished(plane, await stopped(plane, second.task_id))
    assert late.outcome == "already_terminal"
    task = await task_of(plane, second.task_id)
    assert (task.state, task.result_summary) == ("completed", "the result")
    assert [row.state for row in await deliveries_of(plane, second.task_id)] == ["cancelled"]


async def test_stop_and_completion_at_once_have_one_winner(plane: Plane, prepared_url: str) -> None:
    """S10: over two connections, in both orders."""
    databases = [Database(prepared_url) for _ in range(2)]
    left, right = (Plane(database, plane.scope, plane.main_session_id, 1000) for database in databases)
    for number in range(4):
        run = await plane.attempt()
        racers = [code_of(left.succeed(run)), code_of(stopped(right, run.task_id, f"stop-{number}"))]
        codes = await asyncio.gather(*(racers if number % 2 else racers[::-1]))
        completed, stop = codes if number % 2 else codes[::-1]
        intent = await plane.only(IntentRow, IntentRow.task_id == run.task_id)
        await let_go(plane, run)
        done = await finished(plane, intent)
        state = (await task_of(plane, run.task_id)).state
        assert stop == ""
        won = ("completed", "already_terminal") if completed == "" else ("stopped", "stopped")
        assert (state, done.outcome) == won
        assert completed in ("", "task_stopping")
    for database in databases:
        await database.close()


@pytest.mark.parametrize("end", ["completed", "failed"])
async def test_a_stop_of_an_ended_task_cancels_only_what_was_not_delivered(plane: Plane, end: str) -> None:
    """S3, S5: the saved result stays; `already_terminal`."""
    run = await plane.attempt()
    await (plane.succeed(run) if end == "completed" else failed(plane, run))
    done = await finished(plane, await stopped(plane, run.task_id))
    [delivery] = await deliveries_of(plane, run.task_id)
    task = await task_of(plane, run.task_id)
    assert (done.outcome, task.state) == ("already_terminal", end)
    assert (delivery.state, delivery.reason) == ("cancelled", "task_stopped")
    assert (await plane.submit(delivery)).state == "cancelled"
    if end == "completed":
        assert (await plane.only(EvidenceRow, EvidenceRow.task_id == run.task_id)).summary == "the result"


async def test_a_delivered_result_is_left_alone(plane: Plane) -> None:
    """S3, S5: with everything delivered there is `nothing_to_stop`."""
    turn = await plane.delivery_turn()
    await plane.step(turn, "Here it is.")
    await plane.complete(turn)
    [delivery] = await plane.rows(DeliveryRow)
    done = await finished(plane, await stopped(plane, delivery.owner_id))
    assert (done.outcome, (await plane.only(DeliveryRow)).state) == ("nothing_to_stop", "delivered")


async def test_a_failed_delivery_of_an_ended_task_is_cancelled_and_cannot_be_retried(plane: Plane) -> None:
    """D3, S5: failed is not delivered; after the stop it is final."""
    turn = await plane.delivery_turn()
    await turn_failed(plane, turn)
    delivery = await plane.only(DeliveryRow)
    assert delivery.state == "failed"
    assert (await finished(plane, await stopped(plane, delivery.owner_id))).outcome == "already_terminal"
    assert await code_of(retried(plane, delivery.delivery_id)) == "delivery_not_failed"
    assert (await plane.only(DeliveryRow)).state == "cancelled"


async def test_a_queued_reply_is_removed(plane: Plane) -> None:
    """D3, S2: its turn ends before it began; its delivery's workflow is told by the outbox."""
    delivery = await plane.submit(await plane.succeed(await plane.attempt()))
    intent = await stopped(plane, delivery.owner_id)
    turn = await plane.only(TurnRow)
    assert (turn.state, turn.message_seq) == ("stopped", None)
    assert await plane.next_turn() is None
    assert (await finished(plane, intent)).outcome == "already_terminal"
    told = await plane.rows(OutboxRow, OutboxRow.kind == outbox.DELIVERY_START)
    assert [entry.subject_id for entry in told] == [delivery.delivery_id, delivery.delivery_id]


async def test_a_running_reply_is_cut_and_waited_for(plane: Plane) -> None:
    """D3, S2, I6: cancelled at once, but not done while the turn runs; nothing partial is stored."""
    turn = await plane.delivery_turn()
    await plane.step(turn, "Half of ")
    delivery = await plane.only(DeliveryRow)
    intent = await stopped(plane, delivery.owner_id)
    assert (await plane.only(DeliveryRow)).state == "cancelled"
    row, remaining = await looked(plane, intent)
    assert (row.state, list(remaining.replies)) == ("reconciling", [turn.turn_id])
    assert (await plane.complete(turn)).state == "stopped"
    assert (await finished(plane, intent)).outcome == "already_terminal"
    assert await plane.rows(MessageRow, MessageRow.session_id == plane.main_session_id) == []
    await turn_stopped(plane, turn)
    assert (await plane.only(DeliveryRow)).state == "cancelled"


async def test_the_stored_reply_wins_over_a_later_stop(plane: Plane) -> None:
    """D3, S10: the transaction that stores and the one that cancels decide between them."""
    turn = await plane.delivery_turn()
    await plane.step(turn, "Here it is.")
    await plane.complete(turn)
    delivery = await plane.only(DeliveryRow)
    await stopped(plane, delivery.owner_id)
    assert (await plane.only(DeliveryRow)).state == "delivered"
    assert [text for _, _, text in await plane.messages()] == ["Here it is."]


async def test_descendants_are_stopped_and_nothing_else_is_touched(plane: Plane) -> None:
    """S2, T13, I6: children and grandchildren; a sibling task, its question and its reply go on."""
    parent = await plane.attempt()
    child = await begun(plane, (await delegated(plane, parent)).task_id)
    grandchild = await begun(plane, (await delegated(plane, child)).task_id)
    sibling = await plane.attempt()
    question = await asked(plane, sibling)
    ended = await plane.submit(await plane.succeed(await plane.attempt()))
    intent = await stopped(plane, parent.task_id)
    family = [parent, child, grandchild]
    assert sorted(intent.covered) == sorted(run.task_id or "" for run in family)
    assert {(await task_of(plane, run.task_id)).state for run in family} == {"stopping"}
    for run in family:
        _row, remaining = await looked(plane, intent)
        assert run.run_id in remaining.attempts
        await let_go(plane, run)
    assert (await finished(plane, intent)).outcome == "stopped"
    assert {(await task_of(plane, run.task_id)).state for run in family} == {"stopped"}
    assert (await task_of(plane, sibling.task_id)).state == "waiting_user"
    assert (await plane.only(QuestionRow, QuestionRow.question_id == question.question_id)).state == "open"
    assert (await plane.only(DeliveryRow, DeliveryRow.delivery_id == ended.delivery_id)).state == "submitted"


async def test_no_sub_task_is_made_under_a_stop(plane: Plane) -> None:
    """S2: refused in its transaction, also for a descendant whose own row nobody has touched."""
    parent = await plane.attempt()
    child = await begun(plane, (await delegated(plane, parent)).task_id)
    await stopped(plane, parent.task_id)
    assert await code_of(delegated(plane, child)) == "task_stopping"
    assert await code_of(delegated(plane, parent, number=2)) == "task_stopping"


async def test_a_stop_of_a_sub_task_is_the_answer_of_the_call_that_made_it(plane: Plane) -> None:
    """S2, T13: the parent is not covered; it is told and goes on."""
    parent = await plane.attempt()
    child = await begun(plane, (await delegated(plane, parent)).task_id)
    intent = await stopped(plane, child.task_id)
    await let_go(plane, child)
    await finished(plane, intent)
    call = await plane.only(CallRow, CallRow.run_id == parent.run_id)
    assert '"state": "stopped"' in (call.result or "")
    assert (await task_of(plane, parent.task_id)).state == "running"
    assert (await plane.follows(parent)).kind == "model"


async def approved(plane: Plane, run_effect: str) -> None:
    """Approve the effect's card and claim it."""
    async with plane.database.write(plane.scope) as tx:
        effect = await effect_row(tx, run_effect)
        (await tx.session.get_one(ApprovalRow, (await _card(plane, run_effect)).approval_id)).state = "approved"
        await tx.session.flush()
        await gate.pass_gate(tx, effect, Outside(), GATE)


async def _card(plane: Plane, effect_id: str) -> ApprovalRow:
    return await plane.only(ApprovalRow, ApprovalRow.effect_id == effect_id)


async def started(plane: Plane, effect_id: str) -> bool:
    """Begin the dispatch of a claimed effect, if its rows let it."""
    return await within(plane, lambda tx: _start(tx, effect_id))


async def _start(tx: Transaction, effect_id: str) -> bool:
    return await gate.start(tx, await effect_row(tx, effect_id), Outside(), GATE)


@pytest.mark.parametrize("claimed", [False, True])
async def test_an_effect_that_has_not_started_is_withdrawn(plane: Plane, claimed: bool) -> None:
    """S1, S6, I3: waiting or claimed, it never happens; its card is void, the intent does not wait for it."""
    run = await plane.attempt()
    effect_id = await plane.card(run)
    if claimed:
        await approved(plane, effect_id)
        assert (await plane.only(EffectRow)).state == "claimed"
    intent = await stopped(plane, run.task_id)
    effect = await plane.only(EffectRow)
    assert (effect.state, effect.reason) == ("withdrawn", "task_stopping")
    if not claimed:
        assert (await _card(plane, effect_id)).state == "invalidated"
    assert not await started(plane, effect_id)
    _row, remaining = await looked(plane, intent)
    assert list(remaining.effects) == []


async def test_a_started_effect_is_waited_for(plane: Plane) -> None:
    """S6, I6: its outcome is reported by the effect itself; only then is the stop done."""
    run = await plane.attempt()
    effect_id = await plane.card(run)
    await approved(plane, effect_id)
    assert await started(plane, effect_id)
    intent = await stopped(plane, run.task_id)
    following = await plane.follows(run)
    assert (following.kind, following.effect_id) == ("effect", effect_id)
    await let_go(plane, run)
    row, remaining = await looked(plane, intent)
    assert (row.state, list(remaining.effects)) == ("reconciling", [effect_id])
    await within(plane, lambda tx: effects.settle(tx, effect_id, Outcome(EffectEvent.SUCCEED, result={"path": "a"})))
    done = await finished(plane, intent)
    assert (done.outcome, done.unsettled) == ("stopped", [])
    assert (await plane.only(EffectRow)).state == "succeeded"


async def test_an_unknown_effect_is_named_and_holds_nothing_up(plane: Plane) -> None:
    """S6, I4: the intent is done and says what nobody knows."""
    run = await plane.attempt()
    effect_id = await plane.card(run)
    await approved(plane, effect_id)
    await started(plane, effect_id)
    await within(plane, lambda tx: effects.settle(tx, effect_id, UNKNOWN))
    intent = await stopped(plane, run.task_id)
    await let_go(plane, run)
    done = await finished(plane, intent)
    assert (done.outcome, done.unsettled) == ("stopped", [effect_id])


async def test_a_stop_of_the_newer_requirement_leaves_the_older_ones_reply(plane: Plane) -> None:
    """S2, T11, I5: the intent covers the current requirement version; an earlier result still goes out."""
    run = await plane.attempt()
    old = await plane.submit(await plane.succeed(run))
    await resumed(plane, run.task_id)
    second = await begun(plane, run.task_id)
    intent = await stopped(plane, run.task_id)
    await let_go(plane, second)
    assert (await finished(plane, intent)).outcome == "stopped"
    turn = await plane.next_turn()
    assert turn is not None
    assert turn.delivery_id == old.delivery_id
    await plane.step(turn_run(turn), "The first result.")
    await plane.complete(turn_run(turn))
    [delivery] = await deliveries_of(plane, run.task_id)
    assert (delivery.state, delivery.requirement_version) == ("delivered", 1)


async def test_a_foreign_task_or_intent_is_not_found(plane: Plane, other: Plane) -> None:
    """P1, I8: absent and foreign are alike."""
    run = await other.attempt()
    intent = await stopped(other, run.task_id)
    assert await code_of(stopped(plane, run.task_id)) == "not_found"
    assert await code_of(stopped(plane, "task_none")) == "not_found"
    assert await code_of(within(plane, lambda tx: stops.intent_row(tx, intent.intent_id))) == "not_found"
    assert await plane.rows(IntentRow) == []
