"""Grants in the control plane: A10 waiting, binding once, revocation and expiry at every point of the path (A)."""

from typing import Any

import pytest
from sqlalchemy import select

from domain.effect import EffectState
from domain.gate import Verdict
from domain.refusal import Refused
from domain.run import RunRef
from store import effects, gate, grant_rows, grants, stops, tasks
from store.authority import LOCAL_OWNER, Authority
from store.database import Scope
from store.effect_rows import effect_row
from store.gate import GateLimits, Outside
from store.grant_proposals import open_proposals, propose_for_task, propose_for_text
from store.grants import Issuer
from store.resumes import Resume, resume_task
from store.tables_authority import AuditRow, EffectRow
from store.tables_grants import GrantProposalRow, GrantRow, LeaseRow
from store.tables_work import DeliveryRow, TaskRow
from store.tasks import NewTask
from tests.effect_world import SCOPE, World
from tests.store.test_effects import DONE, pass_gate, start
from tests.wide_grants import grant_widely


async def waiting(world: World, run: RunRef | None = None, **given: Any) -> tuple[RunRef, EffectRow]:
    """A task's effect that no grant covers."""
    run = run or await world.task(granted=False)
    effect = await world.proposed(run, **given)
    assert effect.state == EffectState.WAITING_AUTHORIZATION
    return run, effect


async def proposals(world: World, task_id: str | None) -> list[GrantProposalRow]:
    async with world.database.read(SCOPE) as tx:
        return await open_proposals(tx, task_id or "")


async def issue(world: World, proposal_id: str, lifetime_s: int | None = None, request_id: str = "issue-1") -> GrantRow:
    async with world.database.write(SCOPE) as tx:
        return (await grants.issue(tx, proposal_id, lifetime_s, Issuer(), request_id, "owner"))[1]


async def revoke(world: World, grant: GrantRow) -> None:
    async with world.database.write(SCOPE) as tx:
        await grants.revoke(tx, grant.grant_id, "no more", f"revoke:{grant.grant_id}", "owner")


async def expire(world: World, grant: GrantRow) -> None:
    """Its time has come, by the clock of whichever database."""
    async with world.database.write(SCOPE) as tx:
        row = await grant_rows.grant_row(tx, grant.grant_id)
        row.expires_at = tx.now


async def task_of(world: World, run: RunRef) -> TaskRow:
    async with world.database.read(SCOPE) as tx:
        return await tx.session.get_one(TaskRow, run.task_id)


async def grant_of(world: World, run: RunRef) -> GrantRow:
    async with world.database.read(SCOPE) as tx:
        return (await grant_rows.grants_of(tx, run.task_id or ""))[0]


async def code_of(world: World, effect: EffectRow) -> str | None:
    """The code of the gate's last word."""
    async with world.database.read(SCOPE) as tx:
        query = select(AuditRow).where(AuditRow.subject_id == effect.effect_id, AuditRow.kind == "effect.gate")
        return (await tx.session.scalars(query.order_by(AuditRow.sequence.desc()))).all()[0].code


async def test_an_effect_without_a_grant_waits_and_asks_for_exactly_itself(world: World) -> None:
    """A10: before a person is asked for the card; the owner gets the exact bounds by a delivery."""
    run, effect = await waiting(world)
    assert await world.card(effect) is None
    assert (await task_of(world, run)).state == "waiting_authorization"
    [proposal] = await proposals(world, run.task_id)
    assert proposal.effect_id == effect.effect_id
    assert proposal.bounds["actions"] == ["file.create"]
    assert proposal.bounds["resources"] == [{"kind": "path", "value": str(world.folder / "notes.txt")}]
    async with world.database.read(SCOPE) as tx:
        [delivery] = (await tx.session.scalars(select(DeliveryRow).where(DeliveryRow.owner_id == run.task_id))).all()
    assert (delivery.kind, delivery.subject_id) == ("authorization", proposal.proposal_id)
    assert await pass_gate(world, effect) is Verdict.LACK_AUTHORIZATION
    assert len(await proposals(world, run.task_id)) == 1, "asked again for the same, nothing is asked twice"


async def test_an_issue_lets_it_go_on_to_the_card(world: World) -> None:
    """A10, A14, E20: after the admission the person decides the exact action; trail and lease name all of it."""
    run, effect = await waiting(world)
    [proposal] = await proposals(world, run.task_id)
    grant = await issue(world, proposal.proposal_id)
    task = await task_of(world, run)
    assert (task.state, task.grant_ref, task.grant_expires_at) == ("running", grant.grant_id, grant.expires_at)
    assert await proposals(world, run.task_id) == []
    assert await pass_gate(world, effect) is Verdict.ASK
    assert (await task_of(world, run)).state == "waiting_approval"
    await world.decide(await world.reread(effect))
    assert await pass_gate(world, effect) is Verdict.CLAIM
    assert await start(world, effect)
    async with world.database.write(SCOPE) as tx:
        await effects.settle(tx, effect.effect_id, DONE)
    async with world.database.read(SCOPE) as tx:
        [lease] = (await tx.session.scalars(select(LeaseRow))).all()
    assert (lease.grant_id, lease.outcome) == (grant.grant_id, "succeeded")
    assert ("authorization", "lacking") in await world.trail(effect)
    assert ("lease", "acquired") in await world.trail(effect)


async def test_a_reply_needs_no_grant(world: World) -> None:
    """A13: the main conversation acts under the admission of its input."""
    effect = await world.proposed(await world.turn())
    assert effect.state == EffectState.WAITING_DECISION


@pytest.mark.parametrize("when", ["before_card", "approved", "claimed"])
@pytest.mark.parametrize("how", ["revoked", "expired"])
async def test_an_end_of_the_grant_stops_at_every_point_before_the_start(world: World, when: str, how: str) -> None:
    """A4, A5: an earlier yes is never reused; the approval stays valid for its digest, and a new admission goes on."""
    run = await world.task()
    effect = await world.proposed(run)
    if when != "before_card":
        await world.decide(effect)
    if when == "claimed":
        assert await pass_gate(world, effect) is Verdict.CLAIM
    grant = await grant_of(world, run)
    if how == "revoked":
        await revoke(world, grant)
    else:
        await expire(world, grant)
    assert not await start(world, effect)
    verdict = await pass_gate(world, effect)
    assert verdict is Verdict.LACK_AUTHORIZATION
    assert await code_of(world, effect) == f"authorization_{how}"
    [proposal] = await proposals(world, run.task_id)
    await issue(world, proposal.proposal_id)
    assert await pass_gate(world, effect) is (Verdict.ASK if when == "before_card" else Verdict.CLAIM)


async def test_a_started_effect_is_not_recalled(world: World) -> None:
    """A5: revocation stops new admissions only."""
    run = await world.task()
    effect = await world.proposed(run)
    await world.decide(effect)
    assert await pass_gate(world, effect) is Verdict.CLAIM
    assert await start(world, effect)
    await revoke(world, await grant_of(world, run))
    async with world.database.write(SCOPE) as tx:
        assert (await effects.settle(tx, effect.effect_id, DONE)).state == EffectState.SUCCEEDED


async def test_a_grant_for_other_things_does_not_cover(world: World) -> None:
    """A2, A10: the exact effect is asked for; a newer request closes the older one."""
    run, effect = await waiting(world)
    [proposal] = await proposals(world, run.task_id)
    await issue(world, proposal.proposal_id)
    other = await world.proposed(run, number=2, path="other.txt", content="x", name="write_file")
    assert other.state == EffectState.WAITING_AUTHORIZATION
    assert await code_of(world, other) == "authorization_bounds_exceeded"
    [newer] = await proposals(world, run.task_id)
    assert newer.effect_id == other.effect_id
    with pytest.raises(Refused) as refused:
        await issue(world, proposal.proposal_id, request_id="issue-2")
    assert refused.value.refusal.code == "authorization_requirement_mismatch"
    assert await pass_gate(world, effect) is Verdict.ASK


async def test_a_newer_grant_takes_nothing_away(world: World) -> None:
    """A10: two effects wait, each gets its grant; each goes on under its own, and nobody is asked in turns."""
    run, first = await waiting(world)
    [proposal] = await proposals(world, run.task_id)
    await issue(world, proposal.proposal_id)
    second = await world.proposed(run, number=2, path="other.txt", content="x", name="write_file")
    [proposal] = await proposals(world, run.task_id)
    await issue(world, proposal.proposal_id, request_id="issue-2")
    assert await pass_gate(world, second) is Verdict.ASK
    assert await pass_gate(world, first) is Verdict.ASK
    assert await proposals(world, run.task_id) == []


@pytest.mark.parametrize(
    ("authority", "code"),
    [
        (Authority(provider="corporate"), "authorization_provider_missing"),
        (Authority(complete=False), "authorization_contract_unsupported"),
    ],
)
async def test_a_provider_that_cannot_be_asked_refuses(world: World, authority: Authority, code: str) -> None:
    """A2, A6: no other provider steps in, although a grant of the native one is there."""
    run = await world.task()
    world.limits = GateLimits(card_expiry_s=1800.0, claim_fresh_s=10.0, authority=authority)
    effect = await world.proposed(run)
    assert (effect.state, effect.reason) == (EffectState.REFUSED, code)


async def test_new_instructions_need_their_own_grant(world: World) -> None:
    """T11, A1: a grant is held by one requirement version."""
    run = await world.task()
    async with world.database.write(SCOPE) as tx:
        await tasks.fail(tx, run, "no_result_submitted")
        _, task = await resume_task(tx, Resume(run.task_id or "", "resume-1", instructions="else"), "owner")
        assert task.grant_ref is None
        again = tasks.run_of(await tasks.begin(tx, task.task_id))
    _, effect = await waiting(world, again)
    assert await code_of(world, effect) == "authorization_requirement_mismatch"


async def test_a_grant_for_a_proposal_is_bound_once(world: World) -> None:
    """A15: by the first create that names it; any other use is a mismatch; a resume can take it too."""
    async with world.database.write(SCOPE) as tx:
        row = propose_for_text(tx, "write a.txt", LOCAL_OWNER, str(world.folder), models="offline")
    grant = await issue(world, row.proposal_id)
    async with world.database.read(SCOPE) as tx:
        assert grant_rows.state_of(tx, await grant_rows.grant_row(tx, grant.grant_id)) == "unbound"
    async with world.database.write(SCOPE) as tx:
        named = NewTask("t", "i", "create-1", grant_ref=grant.grant_id)
        _, task = await tasks.accept_task(tx, named, "owner")
        assert task.grant_ref == grant.grant_id
        again = (await tasks.accept_task(tx, named, "owner"))[1]
        assert again.task_id == task.task_id
        run = tasks.run_of(await tasks.begin(tx, task.task_id))
    with pytest.raises(Refused) as refused:
        async with world.database.write(SCOPE) as tx:
            await tasks.accept_task(tx, NewTask("t", "i", "create-2", grant_ref=grant.grant_id), "owner")
    assert refused.value.refusal.code == "authorization_requirement_mismatch"
    effect = await world.proposed(run, name="write_file", path="a.txt", content="x")
    assert effect.state == EffectState.WAITING_DECISION


async def test_a_sub_task_acts_under_its_parents_grant_and_ends_with_it(world: World) -> None:
    """A15: derived when it is needed, narrowed, revoked at once with its parent."""
    parent = await world.task()
    async with world.database.write(SCOPE) as tx:
        child = (await tasks.accept_task(tx, NewTask("c", "i", "child-1"), "owner"))[1]
        child.parent_task_id, child.parent_requirement_version, child.parent_attempt = parent.task_id, 1, 1
        run = tasks.run_of(await tasks.begin(tx, child.task_id))
    effect = await world.proposed(run)
    assert effect.state == EffectState.WAITING_DECISION
    derived, above = await grant_of(world, run), await grant_of(world, parent)
    assert derived.parent_grant_id == above.grant_id
    assert derived.expires_at == above.expires_at
    await revoke(world, above)
    assert await pass_gate(world, effect) is Verdict.LACK_AUTHORIZATION
    assert await code_of(world, effect) == "authorization_revoked"


async def test_a_stop_closes_the_request(world: World) -> None:
    """A10: the request is closed by a stop; nothing can be issued for it."""
    run, effect = await waiting(world)
    [proposal] = await proposals(world, run.task_id)
    async with world.database.write(SCOPE) as tx:
        await stops.accept_stop(tx, run.task_id or "", "stop-1", "owner")
    assert await proposals(world, run.task_id) == []
    assert (await world.reread(effect)).state == EffectState.WITHDRAWN
    with pytest.raises(Refused):
        await issue(world, proposal.proposal_id)


async def test_issue_and_revoke_are_idempotent_by_their_request(world: World) -> None:
    """I2, A9: the same request gives the same grant; another content is a conflict; revoked again nothing changes."""
    run, _ = await waiting(world)
    [proposal] = await proposals(world, run.task_id)
    grant = await issue(world, proposal.proposal_id, 120)
    assert (grant.expires_at - grant.issued_at).total_seconds() == 120
    assert (await issue(world, proposal.proposal_id, 120)).grant_id == grant.grant_id
    with pytest.raises(Refused) as refused:
        await issue(world, proposal.proposal_id, 121)
    assert refused.value.refusal.code == "request_id_conflict"
    await revoke(world, grant)
    await revoke(world, grant)
    async with world.database.read(SCOPE) as tx:
        kinds = (await tx.session.scalars(select(AuditRow.kind).where(AuditRow.subject_id == grant.grant_id))).all()
    assert sorted(kinds) == ["grant.issue", "grant.revoke"]


async def test_a_task_is_proposed_what_its_instructions_name(world: World) -> None:
    """A11: no wider than asked, and the same request as long as it is open."""
    async with world.database.write(SCOPE) as tx:
        task = (await tasks.accept_task(tx, NewTask("t", "Write out/a.md", "create-1"), "owner"))[1]
        row = await propose_for_task(tx, task, LOCAL_OWNER, "offline", str(world.folder))
        again = await propose_for_task(tx, task, LOCAL_OWNER, "offline", str(world.folder))
        assert row.proposal_id == again.proposal_id
        assert row.bounds["resources"] == [{"kind": "path", "value": str(world.folder / "out/a.md")}]
        assert row.bounds["permission_ceiling"] == "standard"


@pytest.mark.parametrize("state", ["completed", "failed", "stopped"])
async def test_nothing_is_proposed_for_a_task_that_has_ended(world: World, state: str) -> None:
    """A10, T11: nobody grants what nothing can use; the next version of the task needs its own."""
    async with world.database.write(SCOPE) as tx:
        task = (await tasks.accept_task(tx, NewTask("t", "Write out/a.md", "create-1"), "owner"))[1]
        task.state = state
        with pytest.raises(Refused) as refused:
            await propose_for_task(tx, task, LOCAL_OWNER, "offline", str(world.folder))
        assert refused.value.refusal.code == "authorization_requirement_mismatch"
        assert await open_proposals(tx, task.task_id) == []


async def test_a_wider_model_or_mode_is_not_covered(world: World) -> None:
    """A1: a grant for one model is none for another."""
    run = await world.task(granted=False)
    async with world.database.write(SCOPE) as tx:
        await grant_widely(tx, await tasks.task_row(tx, run.task_id or ""), models=frozenset({"another"}))
    _, effect = await waiting(world, run)
    assert await code_of(world, effect) == "authorization_bounds_exceeded"


async def test_a_foreign_space_finds_no_grant(world: World) -> None:
    """P1, I8: absent and foreign are alike."""
    run = await world.task()
    grant = await grant_of(world, run)
    with pytest.raises(Refused) as refused:
        async with world.database.write(Scope("other", "personal")) as tx:
            await grants.revoke(tx, grant.grant_id, None, "r", "owner")
    assert refused.value.refusal.code == "not_found"


async def test_the_gate_reads_the_row_in_its_own_transaction(world: World) -> None:
    """I3, A4: what was allowed when it was looked at is not what counts."""
    run = await world.task()
    effect = await world.proposed(run)
    await world.decide(effect)
    async with world.database.write(SCOPE) as tx:
        grant = (await grant_rows.grants_of(tx, run.task_id or ""))[0]
        await grants.revoke(tx, grant.grant_id, None, "r", "owner")
        row = await effect_row(tx, effect.effect_id)
        assert (await gate.pass_gate(tx, row, Outside(), world.limits)).verdict is Verdict.LACK_AUTHORIZATION
