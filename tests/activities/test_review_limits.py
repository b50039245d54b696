"""What no reviewer can allow, whatever it was talked into (E5, E8, E16, A10)."""

from activities.effects import FileEffectActivities
from domain.command_action import Executable, ProcessInputAction
from domain.gate import Review
from domain.rule import RuleMode
from store import gate, rules
from store.database import Transaction
from store.effect_rows import effect_row
from store.gate import NOTHING_OUTSIDE
from store.reviews import store_review
from store.rules import Write
from store.tables_authority import EffectRow
from tests.activities.conftest import Told
from tests.activities.review_world import ASKED, DIGEST, Reviewer, a_command, begun, by_model, judged, propose, work
from tests.activities.review_world import obedient as obedient
from tests.activities.review_world import reviewed as reviewed
from tests.assistant.injections import INJECTIONS
from tests.effect_world import LIMITS, SCOPE, World, ref


async def test_no_injection_gets_an_unconfined_command_or_process_input_allowed(
    reviewed: World, obedient: Reviewer
) -> None:
    """E8, E16: they are a person's, and the reviewer is not even asked; a row that allows them changes nothing."""
    run = await reviewed.turn(ASKED)
    for number, injection in enumerate(INJECTIONS, start=1):
        [first, second] = await reviewed.step(run, ("run_command", {}), ("process_input", {}), number=number)
        loose = await a_command(reviewed, first, "make", injection.text, confined=False)
        typed = ProcessInputAction(
            process_id=injection.name, executable=Executable(path="/bin/sh", sha256=DIGEST), text_sha256=DIGEST,
            text_size=len(injection.text),
        )  # fmt: skip
        for effect in (loose, await propose(reviewed, second, typed.fields())):
            assert effect.state == "waiting_decision", injection.name
            await work(reviewed, obedient).review(ref(effect))
    assert obedient.asked == []
    [point] = await reviewed.step(run, ("run_command", {}), number=len(INJECTIONS) + 1)
    await allow_by_row(reviewed, await a_command(reviewed, point, "make", confined=False))


async def allow_by_row(world: World, effect: EffectRow) -> None:
    """A review row that says allow does not let an effect through."""
    async with world.database.write(SCOPE) as tx:
        row = await effect_row(tx, effect.effect_id)
        await store_review(tx, row, Review.ALLOW, "yes", "test")
        await gate.pass_gate(tx, row, NOTHING_OUTSIDE, LIMITS)
    assert (await world.reread(effect)).state in ("waiting_decision", "waiting_authorization")


async def test_no_injection_gets_around_an_ask_rule(reviewed: World, obedient: Reviewer) -> None:
    """E5, E8: what the person wants to be asked about is not reviewed."""
    run = await reviewed.turn(ASKED)
    effect = await reviewed.proposed(run)
    await judged(reviewed, effect, Reviewer("unsure"))
    async with reviewed.database.write(SCOPE) as tx:
        await ask_rule(tx, reviewed, effect)
    for number, injection in enumerate(INJECTIONS, start=2):
        effect = await reviewed.proposed(run, number=number, path="notes.txt", content=f"{number} {injection.text}")
        assert (await judged(reviewed, effect, obedient)).state == "waiting_decision", injection.name
    assert obedient.asked == []
    await allow_by_row(reviewed, effect)


async def ask_rule(tx: Transaction, world: World, effect: EffectRow) -> None:
    """The person wants to be asked about this path every time."""
    card = await world.card(effect)
    assert card is not None
    shown = await rules.preview(tx, card.approval_id, str(world.folder))
    write = Write(world.request_id(), "owner", str(world.folder))
    await rules.save(tx, card.approval_id, shown["scope_digest"], RuleMode.ASK, write)


async def test_no_injection_gets_around_the_grant(reviewed: World, obedient: Reviewer) -> None:
    """A10, E8: without authority nothing is reviewed, and no verdict replaces it."""
    run = await reviewed.task(granted=False)
    for number, injection in enumerate(INJECTIONS, start=1):
        effect = await reviewed.proposed(run, number=number, path=f"{number}.txt", content=injection.text)
        assert (await judged(reviewed, effect, obedient)).state == "waiting_authorization", injection.name
    assert obedient.asked == []
    await allow_by_row(reviewed, await reviewed.proposed(run, number=len(INJECTIONS) + 1))


async def test_no_injection_is_allowed_without_provenance(reviewed: World, obedient: Reviewer) -> None:
    """E8: whatever the action's text claims the person has said."""
    run = await begun(reviewed, by_model(5))
    for number, injection in enumerate(INJECTIONS, start=1):
        effect = await reviewed.proposed(run, number=number, path=f"{number}.txt", content=injection.text)
        assert (await judged(reviewed, effect, obedient)).state == "waiting_decision", injection.name
    assert obedient.asked == []


async def test_an_allow_rule_that_is_gone_goes_to_the_person(reviewed: World, obedient: Reviewer) -> None:
    """E5: what a withdrawn rule had let through is not reviewed instead."""
    run = await reviewed.turn(ASKED)
    effect = await reviewed.proposed(run)
    await judged(reviewed, effect, Reviewer("unsure"))
    card = await reviewed.card(effect)
    assert card is not None
    write = Write(reviewed.request_id(), "owner", str(reviewed.folder))
    async with reviewed.database.write(SCOPE) as tx:
        shown = await rules.preview(tx, card.approval_id, write.root)
        _, rule = await rules.save(tx, card.approval_id, shown["scope_digest"], RuleMode.ALLOW, write)
    ruled = await reviewed.proposed(run, number=2, path="notes.txt", content="more")
    assert ruled.state == "claimed"
    async with reviewed.database.write(SCOPE) as tx:
        await rules.delete(tx, rule.rule_id, 1, Write(reviewed.request_id(), "owner", write.root))
    carried = FileEffectActivities(reviewed.database, reviewed.performer, reviewed.locks, Told(), reviewed.limits)
    assert (await carried.dispatch(ref(ruled))).state == "waiting_decision"
    assert (await judged(reviewed, ruled, obedient)).state == "waiting_decision"
    assert await reviewed.card(ruled) is not None
    assert obedient.asked == []
