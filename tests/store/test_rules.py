"""Rules in the gate and by their owner (E5-E7, E10): shown, saved, consulted twice, withdrawn; on both databases."""

from typing import Any

import pytest
from sqlalchemy import func, select

from domain.approval import ApprovalEvent
from domain.command_action import CommandAction, Environment, Executable, Permissions, ProcessInputAction
from domain.effect import EffectKind
from domain.refusal import Refused
from domain.rule import RuleMode
from domain.run import RunRef
from store import effects, gate, receipts, rules
from store.database import Scope
from store.effect_rows import effect_row
from store.effects import Proposal
from store.gate import NOTHING_OUTSIDE
from store.rules import Write
from store.tables_authority import ApprovalRow, AuditRow, EffectRow
from store.tables_host import ChangeRow
from store.tables_rules import RuleRow
from tests.effect_world import LIMITS, SCOPE, World

DIGEST = "a" * 64


def by(world: World, request_id: str | None = None) -> Write:
    """A write of the owner."""
    return Write(request_id or world.request_id(), "owner", str(world.folder))


async def shown(world: World, effect: EffectRow) -> dict[str, Any]:
    """The preview of an effect's card."""
    card = await world.card(effect)
    assert card is not None
    async with world.database.read(SCOPE) as tx:
        return await rules.preview(tx, card.approval_id, str(world.folder))


async def saved(world: World, effect: EffectRow, mode: RuleMode = RuleMode.ALLOW) -> RuleRow:
    """A rule saved from an effect's card as it was shown."""
    card, preview = await world.card(effect), await shown(world, effect)
    assert card is not None
    async with world.database.write(SCOPE) as tx:
        return (await rules.save(tx, card.approval_id, preview["scope_digest"], mode, by(world)))[1]


async def refused_as(world: World, work: Any, code: str) -> Refused:
    """The refusal of some work in a transaction, with this code."""
    with pytest.raises(Refused) as caught:
        async with world.database.write(SCOPE) as tx:
            await work(tx)
    assert caught.value.refusal.code == code
    return caught.value


async def passed(world: World, effect: EffectRow) -> EffectRow:
    """The effect after the gate was asked again."""
    async with world.database.write(SCOPE) as tx:
        await gate.pass_gate(tx, await effect_row(tx, effect.effect_id), NOTHING_OUTSIDE, LIMITS)
    return await world.reread(effect)


async def started(world: World, effect: EffectRow) -> bool:
    """Whether the claimed effect may start now."""
    async with world.database.write(SCOPE) as tx:
        return await gate.start(tx, await effect_row(tx, effect.effect_id), NOTHING_OUTSIDE, LIMITS)


async def a_command(world: World, run: RunRef, number: int, **changes: Any) -> EffectRow:
    """A proposed command."""
    [point] = await world.step(run, ("run_command", {"argv": ["make"]}), number=number)
    fields: dict[str, Any] = {
        "argv": ("make", "all"),
        "executable": Executable(path="/usr/bin/make", sha256=DIGEST),
        "cwd": str(world.folder),
        "environment": Environment(names=("PATH",), sha256=DIGEST),
        "permissions": Permissions(network=False, confined=True),
        "stdin_sha256": DIGEST,
    }
    return await propose(world, point, CommandAction(**fields | changes).fields())


async def propose(world: World, point: Any, action: dict[str, Any]) -> EffectRow:
    """An effect of kind `command` made of a call."""
    words = {"en": "Run it.", "zh": "运行。"}
    proposal = Proposal(
        point.run, point.step, point.index, EffectKind.COMMAND, action, b"{}", words, words, "details"
    )  # fmt: skip
    async with world.database.write(SCOPE) as tx:
        return await effects.propose(tx, proposal, LIMITS)


async def test_the_scope_shown_is_the_one_saved_and_the_card_stays(world: World) -> None:
    """E5, E7: by its digest; saving decides nothing, a new rule never approves a card that waits already."""
    effect = await world.proposed(await world.task())
    preview = await shown(world, effect)
    assert preview["scope"] == {"kind": "file", "path": "notes.txt", "operations": ["file.create", "file.replace"]}
    assert "“notes.txt”" in preview["words"]
    assert preview["words"] == preview["words_by_language"]["en"]
    rule = await saved(world, effect)
    assert (rule.revision, rule.mode, rule.paused) == (1, "allow", False)
    assert rule.scope_digest == preview["scope_digest"]
    assert (await passed(world, effect)).state == "waiting_decision"
    card = await world.card(effect)
    assert card is not None
    assert card.state == "pending"
    assert (await world.decide(effect)).state == "approved"


async def test_a_rule_lets_the_next_one_through_and_nothing_near_it(world: World) -> None:
    """E5, E6: the same path with other content needs no card; another path, or a command, does."""
    run = await world.task()
    await saved(world, await world.proposed(run))
    again = await world.proposed(run, number=2, path="notes.txt", content="other\n")
    assert (again.state, await world.card(again)) == ("claimed", None)
    assert ("rule", "allow") in await world.trail(again)
    near = await world.proposed(run, number=3, path="notes.txt.bak", content="other\n")
    assert near.state == "waiting_decision"


async def test_a_command_rule_is_exact(world: World) -> None:
    """E6: arguments, program, folder, environment, input and permissions; a near miss of any asks."""
    run = await world.turn()
    await saved(world, await a_command(world, run, 1))
    assert (await a_command(world, run, 2)).state == "claimed"
    misses: list[dict[str, Any]] = [
        {"argv": ("make",)},
        {"argv": ("make", "all", "")},
        {"argv": ("make all",)},
        {"executable": Executable(path="/usr/bin/make", sha256="b" * 64)},
        {"executable": Executable(path="/usr/local/bin/make", sha256=DIGEST)},
        {"cwd": str(world.folder / "a")},
        {"environment": Environment(names=("PATH",), sha256="b" * 64)},
        {"permissions": Permissions(network=True, confined=True)},
        {"permissions": Permissions(network=False, confined=False)},
        {"stdin_sha256": "b" * 64},
        {"interactive": True},
    ]
    for number, change in enumerate(misses, start=3):
        assert (await a_command(world, run, number, **change)).state == "waiting_decision", change


async def test_ask_beats_allow_and_pausing_or_deleting_takes_a_rule_back(world: World) -> None:
    """E5, E6: in whatever order they were saved."""
    run = await world.task()
    first = await world.proposed(run)
    ask, allow = await saved(world, first, RuleMode.ASK), await saved(world, first)
    assert (await world.proposed(run, number=2, path="notes.txt", content="2")).state == "waiting_decision"
    async with world.database.write(SCOPE) as tx:
        await rules.update(tx, ask.rule_id, 1, None, True, by(world))
    assert (await world.proposed(run, number=3, path="notes.txt", content="3")).state == "claimed"
    async with world.database.write(SCOPE) as tx:
        await rules.update(tx, allow.rule_id, 1, RuleMode.ASK, None, by(world))
    assert (await world.proposed(run, number=4, path="notes.txt", content="4")).state == "waiting_decision"
    async with world.database.write(SCOPE) as tx:
        await rules.update(tx, allow.rule_id, 2, RuleMode.ALLOW, None, by(world))
        await rules.delete(tx, ask.rule_id, 2, by(world))
    assert (await world.proposed(run, number=5, path="notes.txt", content="5")).state == "claimed"
    async with world.database.write(SCOPE) as tx:
        await rules.delete(tx, allow.rule_id, 3, by(world))
    assert (await world.proposed(run, number=6, path="notes.txt", content="6")).state == "waiting_decision"
    async with world.database.read(SCOPE) as tx:
        assert (await rules.rule_page(tx, 50, None, str(world.folder)))["items"] == []


@pytest.mark.parametrize("withdrawal", ["delete", "pause", "ask"])
async def test_what_rested_on_a_withdrawn_rule_is_not_started_but_asked(world: World, withdrawal: str) -> None:
    """E5, E10, I3: the claim is taken back, and the gate opens a card instead."""
    run = await world.task()
    rule = await saved(world, await world.proposed(run))
    effect = await world.proposed(run, number=2, path="notes.txt", content="other\n")
    assert effect.state == "claimed"
    async with world.database.write(SCOPE) as tx:
        if withdrawal == "delete":
            await rules.delete(tx, rule.rule_id, 1, by(world))
        else:
            mode = RuleMode.ASK if withdrawal == "ask" else None
            await rules.update(tx, rule.rule_id, 1, mode, True if mode is None else None, by(world))
    assert not await started(world, effect)
    assert (await world.reread(effect)).state == "waiting_decision"
    assert (await passed(world, effect)).state == "waiting_decision"
    card = await world.card(effect)
    assert card is not None
    assert card.state == "pending"
    assert not list(world.folder.iterdir())


async def test_a_rule_that_is_still_there_lets_it_start(world: World) -> None:
    """E5: it is read again in the starting transaction, and says the same."""
    run = await world.task()
    await saved(world, await world.proposed(run))
    effect = await world.proposed(run, number=2, path="notes.txt", content="other\n")
    assert await started(world, effect)


async def test_a_denied_card_stays_denied_under_a_new_rule(world: World) -> None:
    """E5, E7: the rule may be saved after the decision, and changes nothing about it."""
    effect = await world.proposed(await world.task())
    await world.decide(effect, ApprovalEvent.DENY)
    await saved(world, effect)
    assert (await passed(world, effect)).state == "refused"


async def test_process_input_has_no_rule(world: World) -> None:
    """E6: neither shown nor saved, whatever digest is named."""
    [point] = await world.step(await world.turn(), ("process_input", {"process_id": "process_1", "text": "y"}))
    action = ProcessInputAction(
        process_id="process_1", executable=Executable(path="/usr/bin/python3", sha256=DIGEST), text_sha256=DIGEST,
        text_size=1,
    )  # fmt: skip
    effect = await propose(world, point, action.fields())
    card = await world.card(effect)
    assert card is not None
    with pytest.raises(Refused) as caught:
        await shown(world, effect)
    assert caught.value.refusal.code == "rule_scope_invalid"
    save = lambda tx: rules.save(tx, card.approval_id, DIGEST, RuleMode.ALLOW, by(world))  # noqa: E731
    await refused_as(world, save, "rule_scope_invalid")


async def test_another_scope_than_was_shown_is_refused(world: World) -> None:
    """E7: the digest of another card's scope is not this one's; an unknown card is not found."""
    run = await world.task()
    effect, other = await world.proposed(run), await world.proposed(run, number=2, path="b.txt", content="b")
    digest = (await shown(world, other))["scope_digest"]
    card = await world.card(effect)
    assert card is not None
    wrong = lambda tx: rules.save(tx, card.approval_id, digest, RuleMode.ALLOW, by(world))  # noqa: E731
    await refused_as(world, wrong, "rule_scope_invalid")
    unknown = lambda tx: rules.save(tx, "approval_none", digest, RuleMode.ALLOW, by(world))  # noqa: E731
    await refused_as(world, unknown, "not_found")
    async with world.database.read(SCOPE) as tx:
        assert not (await tx.session.scalars(select(RuleRow))).all()


async def test_writes_have_receipts_and_are_made_once(world: World) -> None:
    """I2, E7: a repeated request changes nothing; the same request for something else is a conflict."""
    effect = await world.proposed(await world.task())
    card, digest = await world.card(effect), (await shown(world, effect))["scope_digest"]
    assert card is not None
    rule = await saved(world, effect)
    async with world.database.read(SCOPE) as tx:
        receipt = await receipts.find(tx, f"request-{world.requests}")
    assert receipt is not None
    assert (receipt.method, receipt.subject_id) == ("agents.rules.save", rule.rule_id)
    for _ in range(2):
        async with world.database.write(SCOPE) as tx:
            _, updated = await rules.update(tx, rule.rule_id, 1, None, True, by(world, "update"))
            assert (updated.revision, updated.paused) == (2, True)
    for _ in range(2):
        async with world.database.write(SCOPE) as tx:
            _, gone = await rules.delete(tx, rule.rule_id, 2, by(world, "delete"))
            assert (gone.revision, gone.deleted_at is None) == (3, False)
    again, other = by(world, receipt.request_id), RuleMode.ASK
    async with world.database.write(SCOPE) as tx:
        assert (await rules.save(tx, card.approval_id, digest, RuleMode.ALLOW, again))[1].rule_id == rule.rule_id
    conflict = lambda tx: rules.save(tx, card.approval_id, digest, other, again)  # noqa: E731
    await refused_as(world, conflict, "request_id_conflict")
    async with world.database.read(SCOPE) as tx:
        rows = select(AuditRow).where(AuditRow.kind.like("rule.%")).order_by(AuditRow.sequence)
        recorded = [(row.kind, row.principal) for row in await tx.session.scalars(rows)]
        told = await tx.session.scalar(select(func.count()).where(ChangeRow.topic == "approvals")) or 0
    assert recorded == [(f"rule.{what}", "owner") for what in ("save", "update", "delete")]
    assert told >= 4


async def test_saving_the_same_again_is_the_same_rule(world: World) -> None:
    """E7: one rule for one scope and mode; a paused one is in force again."""
    effect = await world.proposed(await world.task())
    first = await saved(world, effect)
    assert (await saved(world, effect)).rule_id == first.rule_id
    async with world.database.write(SCOPE) as tx:
        await rules.update(tx, first.rule_id, 1, None, True, by(world))
    again = await saved(world, effect)
    assert (again.rule_id, again.paused, again.revision) == (first.rule_id, False, 3)


async def test_a_stale_revision_is_told_what_there_is(world: World) -> None:
    """api.md `revision_conflict`: with the current state; a deleted or foreign rule is not found (P1)."""
    rule = await saved(world, await world.proposed(await world.task()))
    late = lambda tx: rules.update(tx, rule.rule_id, 7, RuleMode.ASK, None, by(world))  # noqa: E731
    refused = await refused_as(world, late, "revision_conflict")
    assert dict(refused.refusal.details) == {"revision": 1, "mode": "allow", "paused": False}
    await refused_as(world, lambda tx: rules.delete(tx, rule.rule_id, 7, by(world)), "revision_conflict")
    nothing = lambda tx: rules.update(tx, rule.rule_id, 1, None, None, by(world))  # noqa: E731
    await refused_as(world, nothing, "invalid_params")
    async with world.database.write(SCOPE) as tx:
        await rules.delete(tx, rule.rule_id, 1, by(world))
    await refused_as(world, lambda tx: rules.delete(tx, rule.rule_id, 2, by(world)), "not_found")
    with pytest.raises(Refused) as foreign:
        async with world.database.write(Scope("other", "personal")) as tx:
            await rules.update(tx, rule.rule_id, 1, RuleMode.ASK, None, by(world))
    assert foreign.value.refusal.code == "not_found"


async def test_rules_of_another_user_space_say_nothing_here(world: World) -> None:
    """E6, I8: a rule belongs to one user space."""
    rule = await saved(world, await world.proposed(await world.task()))
    async with world.database.write(SCOPE) as tx:
        (await tx.session.get_one(RuleRow, rule.rule_id)).user_space = "other"
    effect = await world.proposed(await world.turn(), number=1, path="notes.txt", content="3")
    assert effect.state == "waiting_decision"


async def test_rules_are_paged(world: World) -> None:
    """api.md: newest first, by keyset."""
    run = await world.task()
    for number in range(1, 4):
        await saved(world, await world.proposed(run, number=number, path=f"{number}.txt", content="x"))
    async with world.database.read(SCOPE) as tx:
        first = await rules.rule_page(tx, 2, None, str(world.folder))
        rest = await rules.rule_page(tx, 2, first["next_cursor"], str(world.folder))
        cards = await tx.session.scalar(select(func.count()).select_from(ApprovalRow))
    assert [rule["scope"]["path"] for rule in (*first["items"], *rest["items"])] == ["3.txt", "2.txt", "1.txt"]
    assert rest["next_cursor"] is None
    assert cards == 3
