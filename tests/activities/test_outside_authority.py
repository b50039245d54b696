"""The external provider is asked right before the gate: whatever it does, there is an answer (A2, A4, A6, A8)."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from activities.authority import OutsideAuthority
from contracts.authorization import ANSWER_TIMEOUT_S, Allow, AuthorizationProvider, Deny, Lease, Reference, Uncertain
from domain.automation import Binding
from domain.gate import Answer, Verdict
from domain.grant import Execution
from domain.grant_bounds import Owner
from domain.schedule import Schedule
from store import automations, gate, grant_proposals, grants, tasks
from store.authority import Authority, OutsideAnswer
from store.automations import NewAutomation
from store.effect_rows import effect_row
from store.gate import GateLimits, Outside
from store.grants import Issuer
from store.tables_authority import EffectRow
from store.tables_work import TaskRow
from store.tasks import NewTask
from tests.effect_world import SCOPE, World
from tests.oidc_provider import INTROSPECTION, running_provider
from tests.oidc_sign_in import accounts_in, authorization, sign_in

OIDC = Authority(provider="oidc", known=frozenset({"local", "oidc"}), owner=Owner("https://i.example", "t", "alice"))
LIMITS = GateLimits(card_expiry_s=1800.0, claim_fresh_s=10.0, authority=OIDC)
Reply = Allow[Lease] | Deny | Uncertain


class Stand:
    """A provider whose `acquire` is the test's; the rest of the contract is not used by an effect."""

    name = "oidc"
    local_only = True

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.answer = answer
        self.asked: list[tuple[Reference, Execution]] = []

    async def acquire(self, ref: Reference, execution: Execution) -> Reply:
        self.asked.append((ref, execution))
        answer = self.answer()
        reply: Reply = (await answer) if asyncio.iscoroutine(answer) else answer
        return reply

    async def _unused(self, *_given: Any) -> Any:
        raise AssertionError("not part of an effect's path")

    issue = release = revoke = describe = _unused


def outside(world: World, provider: AuthorizationProvider | None, authority: Authority = OIDC) -> OutsideAuthority:
    return OutsideAuthority(world.database, authority, provider, timeout_s=60.0)


async def granted(world: World, issuer: Issuer) -> EffectRow:
    """A task's effect that a grant of the external provider covers."""
    world.limits = LIMITS
    effect = await world.proposed(await world.task(granted=False))
    async with world.database.write(SCOPE) as tx:
        await gate.pass_gate(tx, await effect_row(tx, effect.effect_id), Outside(), LIMITS)
        task = await tx.session.get_one(TaskRow, effect.task_id)
        [proposal] = await grant_proposals.open_proposals(tx, task.task_id)
        await grants.issue(tx, proposal.proposal_id, None, issuer, world.request_id(), "owner")
    return await world.reread(effect)


async def look(world: World, effect: EffectRow, answer: OutsideAnswer | None) -> Verdict:
    async with world.database.write(SCOPE) as tx:
        row = await effect_row(tx, effect.effect_id)
        return (await gate.pass_gate(tx, row, Outside(authority=answer), LIMITS)).verdict


async def test_a_real_issuer_lets_an_effect_through_until_it_disables_the_account(world: World, tmp_path: Path) -> None:
    """A4, A8: the whole way, from the sign-in over the grant to the gate; each effect is asked about anew."""
    with running_provider() as provider:
        account, accounts = await sign_in(provider), accounts_in(tmp_path)
        accounts.keep(account)
        issuer = Issuer("oidc", account.account_id, account.owner)
        asker = outside(world, authorization(provider, accounts))
        effect, later = await granted(world, issuer), await granted(world, issuer)
        answer = await asker.ask(effect.effect_id, SCOPE)
        assert answer is not None
        assert answer.answer is Answer.ALLOW
        assert await look(world, effect, answer) is Verdict.ASK
        provider.disable()
        no = await asker.ask(later.effect_id, SCOPE)
        assert (no and no.code) == "authorization_revoked"
        assert await look(world, later, no) is Verdict.REFUSE


async def test_a_sign_out_refuses_the_next_effect(world: World, tmp_path: Path) -> None:
    """A8: a grant rests on an account that is signed in."""
    with running_provider() as provider:
        account, accounts = await sign_in(provider), accounts_in(tmp_path)
        accounts.keep(account)
        effect = await granted(world, Issuer("oidc", account.account_id, account.owner))
        accounts.forget(account.account_id)
        no = await outside(world, authorization(provider, accounts)).ask(effect.effect_id, SCOPE)
        assert (no and no.code) == "authorization_revoked"


async def test_an_issuer_that_stalls_is_uncertain(world: World, tmp_path: Path) -> None:
    """A6: three seconds are the limit; the answer is no, and the age is counted from before the request (A4)."""
    assert ANSWER_TIMEOUT_S == 3.0
    with running_provider() as provider:
        account, accounts = await sign_in(provider), accounts_in(tmp_path)
        accounts.keep(account)
        effect = await granted(world, Issuer("oidc", account.account_id, account.owner))
        provider.instead[INTROSPECTION] = provider.stall
        asker = OutsideAuthority(world.database, OIDC, authorization(provider, accounts))
        answer = await asker.ask(effect.effect_id, SCOPE)
        assert answer is not None
        assert (answer.answer, answer.code) == (Answer.UNCERTAIN, "authorization_uncertain")
        assert await look(world, effect, answer) is Verdict.REFUSE


async def test_a_slow_answer_is_as_old_as_its_question(world: World) -> None:
    """A4: the time of the answer is that of the database before the provider was asked."""
    effect = await granted(world, Issuer("oidc", "account_1"))

    def slowly() -> Reply:
        world.clock.advance(4.0)
        return Allow(Lease("", ""))

    answer = await outside(world, Stand(slowly)).ask(effect.effect_id, SCOPE)
    assert answer is not None
    assert world.clock() - answer.asked_at >= timedelta(seconds=4)
    world.clock.advance(1.5)
    assert await look(world, effect, answer) is Verdict.REFUSE


async def never() -> Reply:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def broken() -> Reply:
    raise RuntimeError("secret of the provider")


async def test_a_provider_that_never_answers_is_given_up(world: World) -> None:
    """A6: whatever it waits for."""
    effect = await granted(world, Issuer("oidc", "account_1"))
    answer = await OutsideAuthority(world.database, OIDC, Stand(never), timeout_s=0.01).ask(effect.effect_id, SCOPE)
    assert answer is not None
    assert answer.answer is Answer.UNCERTAIN


async def test_a_provider_that_fails_is_uncertain_and_its_text_goes_nowhere(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A6, I9: an exception is neither a yes nor a failed activity, and its words are not logged."""
    effect = await granted(world, Issuer("oidc", "account_1"))
    answer = await outside(world, Stand(broken)).ask(effect.effect_id, SCOPE)
    assert answer is not None
    assert answer.answer is Answer.UNCERTAIN
    assert "secret" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("reply", "answer", "code"),
    [
        (Allow(Lease("g", "d")), Answer.ALLOW, None),
        (Deny("authorization_expired"), Answer.DENY, "authorization_expired"),
        (Uncertain(), Answer.UNCERTAIN, "authorization_uncertain"),
    ],
    ids=["yes", "no", "uncertain"],
)
async def test_an_answer_is_passed_on_as_it_is(world: World, reply: Reply, answer: Answer, code: str | None) -> None:
    """A2: about the effect's own grant, with what it was asked about."""
    effect = await granted(world, Issuer("oidc", "account_1", Owner("i", "t", "s")))
    stand = Stand(lambda: reply)
    told = await outside(world, stand).ask(effect.effect_id, SCOPE)
    assert told is not None
    assert (told.answer, told.code) == (answer, code)
    [(ref, execution)] = stand.asked
    assert (ref.grant_ref, ref.account, ref.owner) == (told.grant_id, "account_1", Owner("i", "t", "s"))
    assert execution.action_digest == effect.action_digest


async def test_a_sub_task_is_asked_about_under_its_narrowed_grant(world: World) -> None:
    """A15: the grant is derived before the question, and rests on the same account."""
    parent_effect = await granted(world, Issuer("oidc", "account_1", Owner("i", "t", "s")))
    async with world.database.write(SCOPE) as tx:
        _, child = await tasks.accept_task(tx, NewTask("sub", "instructions", world.request_id()), "owner")
        child.parent_task_id, child.parent_requirement_version, child.parent_attempt = parent_effect.task_id, 1, 1
        run = tasks.run_of(await tasks.begin(tx, child.task_id))
    effect = await world.proposed(run)
    stand = Stand(lambda: Allow(Lease("", "")))
    told = await outside(world, stand).ask(effect.effect_id, SCOPE)
    assert told is not None
    assert stand.asked[0][0].account == "account_1"
    assert await look(world, effect, told) is Verdict.ASK


@pytest.mark.parametrize(
    "authority",
    [Authority(), Authority(provider="oidc"), Authority(provider="oidc", known=OIDC.known, complete=False)],
    ids=["native", "missing", "incomplete"],
)
async def test_nobody_is_asked_where_no_external_provider_is_in_force(world: World, authority: Authority) -> None:
    """A2, A6: the gate knows what that means; a provider that is not the selected one is never asked."""
    effect = await granted(world, Issuer("oidc", "account_1"))
    stand = Stand(lambda: Allow(Lease("", "")))
    assert await outside(world, stand, authority).ask(effect.effect_id, SCOPE) is None
    assert await outside(world, None).ask(effect.effect_id, SCOPE) is None
    assert stand.asked == []


async def test_nobody_is_asked_about_what_needs_no_grant_or_has_none(world: World) -> None:
    """A10, A13: a reply acts under its input's admission; without a grant there is nothing to ask about."""
    world.limits = LIMITS
    stand = Stand(lambda: Allow(Lease("", "")))
    for run in (await world.turn(), await world.task(granted=True)):
        effect = await world.proposed(run)
        assert await outside(world, stand).ask(effect.effect_id, SCOPE) is None
    assert stand.asked == []


@pytest.mark.parametrize(
    ("answer", "refused"),
    [(Allow(Lease("", "")), False), (Deny("authorization_revoked"), True), (Uncertain(), False)],
)
async def test_a_binding_is_refused_only_by_a_clear_no(world: World, answer: Reply, refused: bool) -> None:
    """U6, A8: asked before a firing about the grants of what the automation does; unsure is left to its effects."""
    provider = Stand(lambda: answer)
    ids = []
    async with world.database.write(SCOPE) as tx:
        binding = Binding("Morning", "summarise notes.txt")
        wanted = NewAutomation(binding, Schedule.model_validate({"every": {"seconds": 900}}))
        _, row = await automations.create(tx, wanted, automations.Write("automation-1", "owner"))
        for issuer in (Issuer("oidc", "account_1", OIDC.owner), Issuer()):
            proposal = await grant_proposals.propose_for_automation(tx, row, OIDC.owner, "offline", "/files")
            given = await grants.issue(tx, proposal.proposal_id, None, issuer, f"issue-{issuer.provider}", "owner")
            ids.append(given[1].grant_id)
    found = await outside(world, provider).refused_of_binding(row.automation_id, SCOPE)
    assert found == (frozenset({ids[0]}) if refused else frozenset())
    assert [ref.grant_ref for ref, _ in provider.asked] == [ids[0]]
    assert await outside(world, provider).refused_of_binding("automation_of_nobody", SCOPE) == frozenset()
    assert await outside(world, None).refused_of_binding(row.automation_id, SCOPE) == frozenset()
