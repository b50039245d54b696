"""Effects in SQL: proposal, gate, claim, start, outcome, withdrawal (E10-E14, I3, I4, I7)."""

import asyncio
import json

import pytest
from sqlalchemy import func, select

from domain.approval import ApprovalEvent
from domain.effect import EffectEvent
from domain.gate import Verdict
from domain.refusal import Refusal, Refused
from domain.run import RunRef
from store import audit, effects, gate, turn_ends, turn_stops
from store.effect_ends import UNKNOWN, Outcome
from store.effect_rows import effect_row, open_claim
from store.gate import Outside
from store.spaces import space_of
from store.tables_authority import ApprovalRow, AuditRow, ClaimRow, EffectRow
from store.tables_conversation import TurnRow
from store.tables_host import OutboxRow
from store.tables_work import AttemptRow, TaskRow
from tests.effect_world import SCOPE, World, count

DONE = Outcome(EffectEvent.SUCCEED, result={"path": "notes.txt", "operation": "created"})


async def pass_gate(world: World, effect: EffectRow, resource: Refusal | None = None) -> Verdict:
    async with world.database.write(SCOPE) as tx:
        row = await effect_row(tx, effect.effect_id)
        return (await gate.pass_gate(tx, row, Outside(resource), world.limits)).verdict


async def start(world: World, effect: EffectRow) -> bool:
    async with world.database.write(SCOPE) as tx:
        return await gate.start(tx, await effect_row(tx, effect.effect_id), Outside(), world.limits)


async def task_state(world: World, run: RunRef) -> tuple[str, AttemptRow]:
    async with world.database.read(SCOPE) as tx:
        task = await tx.session.get_one(TaskRow, run.task_id)
        attempt = await tx.session.get_one(AttemptRow, (run.task_id, run.requirement_version, run.attempt))
        return task.state, attempt


async def test_the_whole_path_leaves_a_whole_trail(world: World) -> None:
    """E12, E20: proposal, policy, gate, decision, claim, start and outcome, in this order."""
    effect = await world.proposed(await world.task())
    await world.decide(effect)
    assert await pass_gate(world, effect) is Verdict.CLAIM
    assert await start(world, effect)
    async with world.database.write(SCOPE) as tx:
        await effects.settle(tx, effect.effect_id, DONE)
    assert await world.trail(effect) == [
        ("proposal", "proposed"), ("policy", "allow"), ("authorization", "allow"), ("gate", "ask"),
        ("decision", "pending"), ("decision", "approved"), ("policy", "allow"), ("authorization", "allow"),
        ("gate", "claim"), ("lease", "acquired"), ("claim", "claimed"), ("start", "started"),
        ("outcome", "succeeded"),
    ]  # fmt: skip
    assert await world.result(effect) == {"ok": True, "path": "notes.txt", "operation": "created"}


async def test_nothing_passes_without_a_decision(world: World) -> None:
    """I3: until a person has decided, the gate asks and claims nothing."""
    effect = await world.proposed(await world.task())
    assert await pass_gate(world, effect) is Verdict.ASK
    assert not await start(world, effect)
    async with world.database.read(SCOPE) as tx:
        assert await count(tx, select(func.count()).select_from(ClaimRow)) == 0
        assert await count(tx, select(func.count()).select_from(ApprovalRow)) == 1


async def test_the_same_call_is_the_same_effect(world: World) -> None:
    """E14: a retry of a call returns its effect, a new call is a new one even if identical."""
    run = await world.turn()
    given = {"path": "a.txt", "content": "x"}
    first, second = await world.step(run, ("write_file", given), ("write_file", given))
    for point in (first, first, second, first):
        await world.proposals.propose(point)
    one, other = await world.effect(run, index=0), await world.effect(run, index=1)
    assert one is not None
    assert other is not None
    assert one.effect_id != other.effect_id
    assert one.action_digest == other.action_digest
    async with world.database.read(SCOPE) as tx:
        assert await count(tx, select(func.count()).select_from(EffectRow)) == 2


async def test_a_task_shows_that_it_waits_and_its_clock_stands_still(world: World) -> None:
    """T3, T4: `waiting_approval` while the card is open; the time until the decision is not counted."""
    run = await world.task()
    effect = await world.proposed(run)
    assert (await task_state(world, run))[0] == "waiting_approval"
    world.clock.advance(100.0)
    await world.decide(effect)
    state, attempt = await task_state(world, run)
    assert state == "running"
    assert attempt.waiting_since is None
    # PostgreSQL tells its own time, which no test moves.
    assert attempt.waited_seconds >= (100.0 if world.database.sqlite else 0.0)


async def test_a_denied_effect_never_runs(world: World) -> None:
    """E10, E13: a denial ends the effect at once; the model is told, and the workflow is woken."""
    effect = await world.proposed(await world.task())
    await world.decide(effect, ApprovalEvent.DENY)
    assert (await world.reread(effect)).state == "refused"
    assert (await world.result(effect))["error"]["code"] == "approval_denied"
    assert await pass_gate(world, effect) is Verdict.PAST
    assert not await start(world, effect)
    async with world.database.read(SCOPE) as tx:
        told = select(func.count()).select_from(OutboxRow).where(OutboxRow.kind == "effect.decided")
        assert await count(tx, told) == 1


async def test_a_changed_file_voids_the_decision(world: World) -> None:
    """E10: at the gate the file is another one, so the card is invalidated and the effect refused."""
    effect = await world.proposed(await world.task())
    await world.decide(effect)
    assert await pass_gate(world, effect, Refusal("precondition_changed", "…")) is Verdict.REFUSE
    card = await world.card(effect)
    assert card is not None
    assert (card.state, card.reason) == ("invalidated", "precondition_changed")
    assert (await world.reread(effect)).reason == "approval_invalidated"
    assert (await world.result(effect))["error"]["code"] == "approval_invalidated"


async def test_a_claim_is_given_once(world: World) -> None:
    """E12: a repeated gate keeps the claim; racing gates give one winner."""
    effect = await world.proposed(await world.turn())
    await world.decide(effect)
    verdicts = await asyncio.gather(*(pass_gate(world, effect) for _ in range(8)))
    assert sorted(verdicts) == ["claim", *["past"] * 7]
    async with world.database.read(SCOPE) as tx:
        assert await count(tx, select(func.count()).select_from(ClaimRow)) == 1
    started = await asyncio.gather(*(start(world, effect) for _ in range(8)))
    assert sorted(started) == [False] * 7 + [True]


async def test_a_stale_claim_is_withdrawn_and_claimed_again(world: World) -> None:
    """E12: older than 10 s it does not start; the effect waits again, under the same approval."""
    world.limits = gate.GateLimits(card_expiry_s=1800.0, claim_fresh_s=-1.0 if not world.database.sqlite else 10.0)
    effect = await world.proposed(await world.task())
    await world.decide(effect)
    await pass_gate(world, effect)
    world.clock.advance(11.0)
    assert not await start(world, effect)
    assert (await world.reread(effect)).state == "waiting_decision"
    card = await world.card(effect)
    assert card is not None
    assert card.state == "approved"
    world.limits = gate.GateLimits(card_expiry_s=1800.0, claim_fresh_s=10.0)
    assert await pass_gate(world, effect) is Verdict.CLAIM
    assert await start(world, effect)
    async with world.database.read(SCOPE) as tx:
        states = await tx.session.scalars(select(ClaimRow.state).order_by(ClaimRow.claimed_at))
        assert list(states) == ["withdrawn", "started"]


async def test_a_stop_of_the_turn_bars_the_start(world: World) -> None:
    """I3, S8: a claim that has not started is withdrawn in the transaction that accepts the stop."""
    run = await world.turn()
    effect = await world.proposed(run)
    await world.decide(effect)
    await pass_gate(world, effect)
    async with world.database.write(SCOPE) as tx:
        space = await space_of(tx)
        await turn_stops.stop_turn(tx, space.main_session_id, run.turn_id or "", "stop-1", "owner")
    assert not await start(world, effect)
    found = await world.reread(effect)
    assert (found.state, found.reason) == ("withdrawn", "turn_stopped")
    card = await world.card(effect)
    assert card is not None
    assert (card.state, card.reason) == ("invalidated", "stopped")


async def test_a_stop_of_an_ancestor_covers_the_effect(world: World) -> None:
    """S1, S2: what is covered is computed by ancestry when the gate is asked."""
    parent, child = await world.task(), await world.task()
    effect = await world.proposed(child)
    await world.decide(effect)
    async with world.database.write(SCOPE) as tx:
        (await tx.session.get_one(TaskRow, child.task_id)).parent_task_id = parent.task_id
        (await tx.session.get_one(TaskRow, parent.task_id)).state = "stopping"
    assert await pass_gate(world, effect) is Verdict.WITHDRAW
    assert (await world.reread(effect)).state == "withdrawn"


async def test_an_older_requirement_has_no_effects(world: World) -> None:
    """I3: the claim needs the task's current requirement version, also between claim and start."""
    run = await world.task()
    effect = await world.proposed(run)
    await world.decide(effect)
    await pass_gate(world, effect)
    async with world.database.write(SCOPE) as tx:
        (await tx.session.get_one(TaskRow, run.task_id)).requirement_version = 2
    assert not await start(world, effect)
    assert await pass_gate(world, effect) is Verdict.REFUSE
    assert (await world.reread(effect)).reason == "stale_result"


@pytest.mark.parametrize("kind", ["turn", "task"])
async def test_read_only_runs_have_no_effects(world: World, kind: str) -> None:
    """E3, api.md: in mode `read_only` every effect is `policy_denied`, without a card."""
    run = await (world.turn(permission_mode="read_only") if kind == "turn" else world.task("read_only"))
    effect = await world.proposed(run)
    assert (effect.state, effect.reason) == ("refused", "policy_denied")
    assert await world.card(effect) is None
    assert (await world.result(effect))["error"]["code"] == "policy_denied"


async def test_an_unknown_effect_is_not_claimed_again(world: World) -> None:
    """I4, T12: the model is told, the claim stays open, and only knowledge settles it."""
    effect = await world.proposed(await world.task())
    await world.decide(effect)
    await pass_gate(world, effect)
    await start(world, effect)
    async with world.database.write(SCOPE) as tx:
        await effects.settle(tx, effect.effect_id, UNKNOWN)
    assert (await world.result(effect))["error"]["code"] == "effect_outcome_unknown"
    assert await pass_gate(world, effect) is Verdict.PAST
    assert not await start(world, effect)
    async with world.database.write(SCOPE) as tx:
        claim = await open_claim(tx, effect.effect_id)
        assert claim is not None
        settled = await effects.settle_by_owner(tx, effect.effect_id, "succeeded", "looked", "settle-1", "owner")
        assert settled.state == "succeeded"
        again = await effects.settle_by_owner(tx, effect.effect_id, "succeeded", "looked", "settle-1", "owner")
        assert again.effect_id == effect.effect_id
    with pytest.raises(Refused, match="Only an unknown effect"):
        async with world.database.write(SCOPE) as tx:
            await effects.settle_by_owner(tx, effect.effect_id, "failed", "", "settle-2", "owner")
    assert (await world.result(effect))["error"]["code"] == "effect_outcome_unknown"


async def test_an_outcome_never_changes(world: World) -> None:
    """I7: what arrives late changes nothing."""
    effect = await world.proposed(await world.task())
    await world.decide(effect)
    await pass_gate(world, effect)
    await start(world, effect)
    for outcome in (DONE, UNKNOWN, Outcome(EffectEvent.FAIL, Refusal("protected_path", "…"))):
        async with world.database.write(SCOPE) as tx:
            await effects.settle(tx, effect.effect_id, outcome)
    assert (await world.reread(effect)).state == "succeeded"


async def test_every_verdict_is_in_the_audit_chain(world: World) -> None:
    """A14: asked, decided, claimed, started and refused, each with the digest, in an unbroken chain."""
    effect = await world.proposed(await world.task())
    await world.decide(effect)
    await pass_gate(world, effect, Refusal("precondition_changed", "…"))
    async with world.database.read(SCOPE) as tx:
        rows = (await tx.session.scalars(select(AuditRow).order_by(AuditRow.sequence))).all()
    assert [(row.kind, row.verdict, row.code) for row in rows] == [
        ("grant.issue", "allow", None), ("effect.gate", "ask", None), ("approval", "allow", None),
        ("effect.gate", "deny", "approval_invalidated"),
    ]  # fmt: skip
    assert {row.action_digest for row in rows[1:]} == {effect.action_digest}
    assert [rows[0].principal, rows[2].principal] == ["owner", "owner"]
    assert audit.broken_at(rows) is None


@pytest.mark.parametrize("event", [ApprovalEvent.ALLOW_ONCE, ApprovalEvent.DENY])
async def test_deciding_the_card_of_a_parked_turn_queues_its_continuation(world: World, event: ApprovalEvent) -> None:
    """C1, A13: the continuation has a turn id of its own, the run and the principal of the parked turn."""
    run = await world.turn()
    effect = await world.proposed(run)
    async with world.database.write(SCOPE) as tx:
        assert await turn_ends.park(tx, run, only_if_queued=False)
    await world.decide(effect, event)
    async with world.database.read(SCOPE) as tx:
        turns_of_run = (
            await tx.session.scalars(select(TurnRow).where(TurnRow.run_id == run.run_id).order_by(TurnRow.position))
        ).all()
    assert [(row.kind, row.state) for row in turns_of_run] == [("input", "completed"), ("continuation", "queued")]
    assert turns_of_run[1].effect_id == effect.effect_id
    assert turns_of_run[0].principal == turns_of_run[1].principal == "owner"
    if event is ApprovalEvent.ALLOW_ONCE:
        assert await pass_gate(world, effect) is Verdict.CLAIM
        assert await start(world, effect)


async def test_stopping_a_parked_turn_withdraws_its_card_without_a_continuation(world: World) -> None:
    """C1, S8: the card is void, a late decision says so, and no continuation is queued."""
    run = await world.turn()
    effect = await world.proposed(run)
    async with world.database.write(SCOPE) as tx:
        await turn_ends.park(tx, run, only_if_queued=False)
        space = await space_of(tx)
        receipt = await turn_stops.stop_turn(tx, space.main_session_id, run.turn_id or "", "stop-1", "owner")
        assert receipt.outcome == "stopped"
    with pytest.raises(Refused) as refused:
        await world.decide(effect)
    assert refused.value.refusal.code == "approval_invalidated"
    async with world.database.read(SCOPE) as tx:
        assert await count(tx, select(func.count()).select_from(TurnRow)) == 1


async def test_effects_of_another_space_are_not_found(world: World) -> None:
    """P1, I8: a foreign effect is absent."""
    effect = await world.proposed(await world.task())
    other = type(SCOPE)("other", "personal")
    with pytest.raises(Refused) as refused:
        async with world.database.read(other) as tx:
            await effect_row(tx, effect.effect_id)
    assert refused.value.refusal.code == "not_found"


async def test_no_row_that_leaves_the_database_has_the_text(world: World) -> None:
    """I9: notices, audit rows and outbox entries hold ids, states and codes; never a path or content."""
    effect = await world.proposed(await world.task(), path="MARKER-path.txt", content="MARKER-content")
    await world.decide(effect)
    await pass_gate(world, effect)
    async with world.database.read(SCOPE) as tx:
        rows = [*(await tx.session.scalars(select(AuditRow))), *(await tx.session.scalars(select(OutboxRow)))]
    text = json.dumps([{key: str(value) for key, value in vars(row).items()} for row in rows])
    assert "MARKER" not in text
