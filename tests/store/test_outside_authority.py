"""An external provider's answer in the gate's transaction: fresh, about this grant, never instead of it (A4, A6)."""

from datetime import timedelta

import pytest

from domain.gate import Answer, Verdict
from domain.grant_bounds import Owner
from domain.refusal import Refused
from store import gate, grant_proposals, grants
from store.authority import FRESH_S, Authority, OutsideAnswer
from store.effect_rows import effect_row
from store.gate import GateLimits, Outside
from store.grants import Issuer
from store.tables_authority import EffectRow
from store.tables_grants import GrantRow
from store.tables_work import TaskRow
from tests.effect_world import SCOPE, World

ALICE = Owner("https://issuer.example", "tenant-7", "alice")
OIDC = Authority(provider="oidc", known=frozenset({"local", "oidc"}), owner=ALICE)


def limits(authority: Authority) -> GateLimits:
    return GateLimits(card_expiry_s=1800.0, claim_fresh_s=10.0, authority=authority)


async def granted(
    world: World, issuer: Issuer | None = None, *, natively: bool = True
) -> tuple[EffectRow, GrantRow]:
    """A task's effect that a grant covers exactly; `natively` adds a wide one of the native provider, as a trap."""
    world.limits = limits(OIDC)
    effect = await world.proposed(await world.task(granted=natively))
    assert await look(world, effect, None) is Verdict.LACK_AUTHORIZATION
    async with world.database.write(SCOPE) as tx:
        task = await tx.session.get_one(TaskRow, effect.task_id)
        [proposal] = await grant_proposals.open_proposals(tx, task.task_id)
        given = issuer or Issuer("oidc", "account_1", ALICE)
        _, grant = await grants.issue(tx, proposal.proposal_id, None, given, world.request_id(), "owner")
    return effect, grant


async def look(
    world: World,
    effect: EffectRow,
    answer: tuple[Answer, str | None] | None,
    *,
    grant: GrantRow | None = None,
    age_s: float = 0.0,
    authority: Authority = OIDC,
) -> Verdict:
    """What the gate says with an answer of this age, by the database's own time."""
    async with world.database.write(SCOPE) as tx:
        outside = None
        if answer is not None:
            grant_id = grant.grant_id if grant is not None else "grant_of_another_effect"
            outside = OutsideAnswer(grant_id, *answer, tx.now - timedelta(seconds=age_s))
        row = await effect_row(tx, effect.effect_id)
        return (await gate.pass_gate(tx, row, Outside(authority=outside), limits(authority))).verdict


async def test_a_task_with_an_external_provider_is_not_judged_before_it_was_asked(world: World) -> None:
    """A4: when an effect is proposed nobody could be asked yet, so that its workflow passes the gate at once."""
    world.limits = limits(OIDC)
    assert (await world.proposed(await world.task())).state == "proposed"
    assert (await world.proposed(await world.turn())).state == "waiting_decision"


async def test_a_fresh_yes_about_the_grant_lets_the_gate_go_on(world: World) -> None:
    """A4, A8: five seconds old is fresh."""
    effect, grant = await granted(world)
    assert await look(world, effect, (Answer.ALLOW, None), grant=grant, age_s=FRESH_S) is Verdict.ASK


@pytest.mark.parametrize("age_s", [FRESH_S + 0.001, -0.001])
async def test_a_yes_that_is_not_fresh_is_a_no(world: World, age_s: float) -> None:
    """A4: counted from the request's start; one from the future is no answer either."""
    effect, grant = await granted(world)
    assert await look(world, effect, (Answer.ALLOW, None), grant=grant, age_s=age_s) is Verdict.REFUSE


@pytest.mark.parametrize(
    "answer",
    [None, (Answer.DENY, "authorization_revoked"), (Answer.UNCERTAIN, "authorization_uncertain")],
    ids=["none", "no", "uncertain"],
)
async def test_only_a_yes_is_a_yes(world: World, answer: tuple[Answer, str | None] | None) -> None:
    """A2, A6: no answer, a no and an uncertain one refuse, with their code in the call's result."""
    effect, grant = await granted(world)
    assert await look(world, effect, answer, grant=grant) is Verdict.REFUSE
    code = answer[1] if answer is not None else "authorization_uncertain"
    assert code is not None
    assert code in str(await world.result(effect))


async def test_a_yes_about_another_grant_is_a_no(world: World) -> None:
    """A4: the answer counts for the grant that was asked about."""
    effect, _ = await granted(world)
    assert await look(world, effect, (Answer.ALLOW, None)) is Verdict.REFUSE


async def test_a_revocation_after_the_answer_wins(world: World) -> None:
    """A4, A5: the local state is read again in the transaction."""
    effect, grant = await granted(world)
    async with world.database.write(SCOPE) as tx:
        await grants.revoke(tx, grant.grant_id, None, world.request_id(), "owner")
    assert await look(world, effect, (Answer.ALLOW, None), grant=grant) is Verdict.LACK_AUTHORIZATION


async def test_an_answer_that_is_too_old_does_not_start_a_claim(world: World) -> None:
    """A4, I3: the start asks again, with an answer of its own; the claim is taken back."""
    effect, grant = await granted(world)
    assert await look(world, effect, (Answer.ALLOW, None), grant=grant) is Verdict.ASK
    await world.decide(effect)
    assert await look(world, effect, (Answer.ALLOW, None), grant=grant) is Verdict.CLAIM
    async with world.database.write(SCOPE) as tx:
        row = await effect_row(tx, effect.effect_id)
        old = OutsideAnswer(grant.grant_id, Answer.ALLOW, None, tx.now - timedelta(seconds=FRESH_S + 1))
        assert not await gate.start(tx, row, Outside(authority=old), limits(OIDC))
    assert await look(world, effect, (Answer.ALLOW, None), grant=grant) is Verdict.CLAIM
    async with world.database.write(SCOPE) as tx:
        row = await effect_row(tx, effect.effect_id)
        new = OutsideAnswer(grant.grant_id, Answer.ALLOW, None, tx.now)
        assert await gate.start(tx, row, Outside(authority=new), limits(OIDC))


async def test_a_grant_carries_who_was_signed_in_when_it_was_issued(world: World) -> None:
    """A1, A8: issuer, tenant and subject are fixed at the admission, not at the proposal."""
    bob = Owner("https://issuer.example", "tenant-8", "bob")
    _, grant = await granted(world, Issuer("oidc", "account_2", bob))
    assert (grant.provider, grant.account) == ("oidc", "account_2")
    assert [grant.bounds[name] for name in ("issuer", "tenant", "subject")] == [bob.issuer, "tenant-8", "bob"]


@pytest.mark.parametrize(
    ("authority", "code"),
    [
        (Authority(provider="oidc"), "authorization_provider_missing"),
        (Authority(provider="other", known=OIDC.known), "authorization_provider_missing"),
        (Authority(provider="oidc", known=OIDC.known, complete=False), "authorization_contract_unsupported"),
    ],
    ids=["removed", "unknown", "incomplete"],
)
async def test_no_other_provider_steps_in(world: World, authority: Authority, code: str) -> None:
    """A6, A2: with the selected provider gone, a grant and a yes are worth nothing; neither is the native one."""
    effect, grant = await granted(world)
    assert await look(world, effect, (Answer.ALLOW, None), grant=grant, authority=authority) is Verdict.REFUSE
    assert code in str(await world.result(effect))
    with pytest.raises(Refused) as caught:
        authority.check()
    assert caught.value.refusal.code == code


async def test_a_grant_of_one_provider_is_worth_nothing_with_another(world: World) -> None:
    """A6: after a change of the provider, in either direction, a new grant is needed."""
    effect, _ = await granted(world, natively=False)
    assert await look(world, effect, None, authority=Authority()) is Verdict.LACK_AUTHORIZATION
    other, grant = await granted(world, Issuer(), natively=False)
    assert await look(world, other, (Answer.ALLOW, None), grant=grant) is Verdict.LACK_AUTHORIZATION
