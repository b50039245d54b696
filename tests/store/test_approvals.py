"""Deciding cards (E10, E11): once, on exactly what was shown, in time, by receipts that answer the same again."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import func, select, update

from domain.approval import ApprovalEvent
from domain.refusal import Refused
from store import approvals, effect_views
from store.effect_rows import effect_row
from store.tables_authority import ApprovalRow, EffectRow
from store.tables_host import ReceiptRow
from tests.effect_world import SCOPE, World, count


async def expire(world: World, effect: EffectRow) -> bool:
    async with world.database.write(SCOPE) as tx:
        return await approvals.expire(tx, await effect_row(tx, effect.effect_id))


async def run_out(world: World, effect: EffectRow) -> None:
    """Let the card's time pass, by the clock that counts: the database's."""
    if world.database.sqlite:
        world.clock.advance(1801.0)
        return
    async with world.database.write(SCOPE) as tx:
        await tx.session.execute(
            update(ApprovalRow).where(ApprovalRow.effect_id == effect.effect_id).values(expires_at=tx.now)
        )


async def test_a_decision_raises_the_version_and_is_kept_as_a_receipt(world: World) -> None:
    """E10, I1: approved once, version 2; the receipt names the card."""
    effect = await world.proposed(await world.task())
    card = await world.decide(effect)
    assert (card.state, card.version, card.decided_by) == ("approved", 2, "owner")
    async with world.database.read(SCOPE) as tx:
        receipt = (await tx.session.scalars(select(ReceiptRow).where(ReceiptRow.subject_id == card.approval_id))).one()
    assert (receipt.state, receipt.outcome, receipt.task_id) == ("done", "approved", effect.task_id)


async def test_the_same_request_has_no_second_effect(world: World) -> None:
    """I2: twenty times at once, one decision; the same id with another decision is a conflict."""
    effect = await world.proposed(await world.task())
    card = await world.card(effect)
    assert card is not None
    made = world.decision(card)

    async def once() -> int:
        async with world.database.write(SCOPE) as tx:
            return (await approvals.decide(tx, made, "owner"))[1].version

    assert await asyncio.gather(*(once() for _ in range(20))) == [2] * 20
    with pytest.raises(Refused) as refused:
        async with world.database.write(SCOPE) as tx:
            await approvals.decide(tx, replace(made, decision=ApprovalEvent.DENY), "owner")
    assert refused.value.refusal.code == "request_id_conflict"


async def test_racing_decisions_have_one_winner(world: World) -> None:
    """E10: allow and deny at once; the losers learn that the version has passed."""
    effect = await world.proposed(await world.task())
    card = await world.card(effect)
    assert card is not None

    async def once(event: ApprovalEvent) -> str:
        try:
            async with world.database.write(SCOPE) as tx:
                return (await approvals.decide(tx, world.decision(card, event), "owner"))[1].state
        except Refused as refused:
            return refused.refusal.code

    answers = await asyncio.gather(*(once(event) for event in (ApprovalEvent.ALLOW_ONCE, ApprovalEvent.DENY) * 4))
    winners = [answer for answer in answers if answer in ("approved", "denied")]
    assert len(winners) == 1
    assert answers.count("approval_version_conflict") == 7
    found = await world.reread(effect)
    assert found.state == ("waiting_decision" if winners == ["approved"] else "refused")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"version": 2}, "approval_version_conflict"),
        ({"action_digest": "0" * 64}, "action_digest_mismatch"),
        ({"approval_id": "approval_none"}, "not_found"),
        ({"decision": ApprovalEvent.EXPIRE}, "invalid_params"),
    ],
)
async def test_a_decision_names_exactly_what_was_shown(world: World, change: dict[str, object], code: str) -> None:
    """E10, P1: another version, action or card is refused, and nothing is stored."""
    effect = await world.proposed(await world.task())
    card = await world.card(effect)
    assert card is not None
    made = replace(world.decision(card), **change)  # type: ignore[arg-type]
    with pytest.raises(Refused) as refused:
        async with world.database.write(SCOPE) as tx:
            await approvals.decide(tx, made, "owner")
    assert refused.value.refusal.code == code
    async with world.database.read(SCOPE) as tx:
        assert (await tx.session.get_one(ApprovalRow, card.approval_id)).state == "pending"
        decided = select(func.count()).select_from(ReceiptRow).where(ReceiptRow.method == approvals.METHOD)
        assert await count(tx, decided) == 0


async def test_a_hidden_tasks_card_expires(world: World) -> None:
    """E11: after 30 minutes the effect is refused, the executor told, and a late decision says so."""
    effect = await world.proposed(await world.task())
    card = await world.card(effect)
    assert card is not None
    assert card.expires_at is not None
    assert (card.expires_at - card.created_at).total_seconds() == 1800.0
    assert not await expire(world, effect)
    await run_out(world, effect)
    assert await expire(world, effect)
    assert not await expire(world, effect)
    assert (await world.reread(effect)).reason == "approval_expired"
    assert (await world.result(effect))["error"]["code"] == "approval_expired"
    with pytest.raises(Refused) as refused:
        await world.decide(effect)
    assert refused.value.refusal.code == "approval_expired"


async def test_a_late_decision_loses_against_the_time_even_before_the_timer(world: World) -> None:
    """E10: the database's time decides, not whether the timer has fired."""
    effect = await world.proposed(await world.task())
    await run_out(world, effect)
    with pytest.raises(Refused) as refused:
        await world.decide(effect)
    assert refused.value.refusal.code == "approval_expired"


async def test_a_late_timer_changes_nothing(world: World) -> None:
    """E10, I7: a card that was decided in time stays decided."""
    effect = await world.proposed(await world.task())
    await world.decide(effect)
    await run_out(world, effect)
    assert not await expire(world, effect)
    card = await world.card(effect)
    assert card is not None
    assert card.state == "approved"


async def test_the_conversations_cards_do_not_expire(world: World) -> None:
    """E11: the turn is parked instead."""
    effect = await world.proposed(await world.turn())
    card = await world.card(effect)
    assert card is not None
    assert card.expires_at is None
    assert not await expire(world, effect)


async def test_cards_on_the_wire_show_words_and_no_absolute_path(world: World) -> None:
    """E9, api.md: words, impact, a diff on demand; pages by keyset."""
    for at in range(3):
        await world.proposed(await world.task(), path=f"folder/{at}.txt", content="hello\n")
    async with world.database.read(SCOPE) as tx:
        first = await effect_views.approval_page(tx, "pending", 2, None)
        rest = await effect_views.approval_page(tx, "pending", 2, first["next_cursor"])
        card = await effect_views.approval_view(tx, first["items"][0]["approval_id"], details=True)
        listed = await effect_views.effect_page(tx, 10, None, state="waiting_decision")
    assert [len(first["items"]), len(rest["items"]), rest["next_cursor"]] == [2, 1, None]
    assert card["details"]["diff"] == "@@ -0,0 +1 @@\n+hello"
    assert "“folder/" in card["words"]
    assert card["impact"] == "A new file of 6 bytes. Makes the folder “folder”."
    assert "details" not in first["items"][0]
    assert [len(item["trail"]) for item in listed["items"]] == [5, 5, 5]
    assert str(world.folder) not in f"{first}{rest}{card}{listed}"
