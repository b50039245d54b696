"""Proposed schedules (U9): one per call, nothing runs by them, and confirming checks again; on both databases."""

from datetime import timedelta
from typing import Any

from sqlalchemy import update as sql_update

from domain.automation import Binding
from store import automation_proposals, automations, outbox
from store.automation_proposal_rows import LIFETIME, MOST_OPEN, Asked
from store.automations import Write
from store.tables_automations import AutomationProposalRow, AutomationRow
from store.tables_host import OutboxRow
from tests.automation_owner import QUARTERS, WEEKDAYS, by, edit, made, page, read, refusal, schedule
from tests.control_plane import Plane

SOON = {"once": {"at": "2090-12-24T18:00:00Z"}}


async def proposed(
    plane: Plane, call: str = "call-1", given: dict[str, Any] | None = None, **choices: Any
) -> AutomationProposalRow:
    """A proposal of a new automation."""
    binding = Binding(**{"title": "Morning", "instructions": "summarise a.txt into b.txt", **choices})
    asked = Asked(call, (plane.main_session_id, (1,)))
    async with plane.database.write(plane.scope) as tx:
        return await automation_proposals.propose_new(tx, binding, schedule(given or WEEKDAYS), asked)


async def moved(plane: Plane, automation_id: str, call: str, given: dict[str, Any]) -> AutomationProposalRow:
    """A proposal of other times."""
    async with plane.database.write(plane.scope) as tx:
        return await automation_proposals.propose_reschedule(tx, automation_id, schedule(given), Asked(call))


async def confirmed(plane: Plane, proposal_id: str, write: Write | None = None) -> AutomationRow:
    """The automation that a confirmation makes or moves."""
    async with plane.database.write(plane.scope) as tx:
        return (await automation_proposals.confirm(tx, proposal_id, write or by(plane)))[1]


async def open_ids(plane: Plane) -> list[str]:
    return [proposal["proposal_id"] for proposal in (await page(plane))["proposals"]]


async def test_a_proposal_is_only_shown_until_it_is_confirmed(plane: Plane) -> None:
    """U9, I2: the same call proposes once; its card has words and times; confirming makes the automation once."""
    proposal = await proposed(plane)
    assert (await proposed(plane)).proposal_id == proposal.proposal_id
    [card] = (await page(plane))["proposals"]
    assert set(card) == {
        "proposal_id", "kind", "title", "instructions", "mode", "schedule", "words", "next_times", "source",
        "created_at",
    }  # fmt: skip
    assert card["source"] == {"session_id": plane.main_session_id, "message_seqs": [1]}
    assert (card["kind"], len(card["next_times"]), set(card["words"])) == ("create", 5, {"en", "zh"})
    assert await plane.rows(AutomationRow) == []
    assert await plane.rows(OutboxRow, OutboxRow.kind == outbox.AUTOMATION_SYNC) == []
    write = by(plane)
    row = await confirmed(plane, proposal.proposal_id, write)
    assert (await confirmed(plane, proposal.proposal_id, write)).automation_id == row.automation_id
    assert (row.title, row.instructions, row.source_session_id, row.source_seqs) == (
        "Morning", "summarise a.txt into b.txt", plane.main_session_id, [1],
    )  # fmt: skip
    assert len(await plane.rows(AutomationRow)) == 1
    assert await open_ids(plane) == []
    late = await refusal(plane, lambda tx: automation_proposals.confirm(tx, proposal.proposal_id, by(plane)))
    assert late is not None
    assert (late.refusal.code, late.refusal.details["automation_id"]) == ("revision_conflict", row.automation_id)
    assert (await proposed(plane)).state == "confirmed"


async def test_other_times_are_proposed_under_the_same_ids(plane: Plane) -> None:
    """U3, U9: a newer proposal takes the place of an older one; confirming keeps ids and counts the schedule."""
    row = await made(plane)
    first = await moved(plane, row.automation_id, "call-1", QUARTERS)
    second = await moved(plane, row.automation_id, "call-2", SOON)
    assert await open_ids(plane) == [second.proposal_id]
    late = await refusal(plane, lambda tx: automation_proposals.confirm(tx, first.proposal_id, by(plane)))
    assert late is not None
    assert (late.refusal.code, late.refusal.details["reason"]) == ("revision_conflict", "newer_proposal")
    after = await confirmed(plane, second.proposal_id)
    assert (after.automation_id, after.binding_id) == (row.automation_id, row.binding_id)
    assert (after.revision, after.schedule_revision, after.binding_revision) == (2, 2, 1)
    assert after.schedule == schedule(SOON).stored()
    assert (
        await plane.only(AutomationProposalRow, AutomationProposalRow.call_key.endswith("call-2"))
    ).state == "confirmed"


async def test_the_owners_own_edit_closes_what_was_proposed(plane: Plane) -> None:
    """U9: a card never moves an automation from times that are not those it was shown beside."""
    row = await made(plane)
    await moved(plane, row.automation_id, "call-1", QUARTERS)
    await edit(plane, "reschedule", row.automation_id, schedule(SOON))
    assert await open_ids(plane) == []
    await moved(plane, row.automation_id, "call-2", QUARTERS)
    await edit(plane, "delete", row.automation_id)
    assert await open_ids(plane) == []
    gone = await refusal(
        plane,
        lambda tx: automation_proposals.propose_reschedule(tx, row.automation_id, schedule(QUARTERS), Asked("call-3")),
    )
    assert gone is not None
    assert gone.refusal.code == "not_found"


async def test_old_and_past_proposals_are_closed(plane: Plane, other: Plane) -> None:
    """U9: what nobody confirmed for a week, or whose time has passed, is asked for again; a foreign one is unknown."""
    old, past = await proposed(plane, "old"), await proposed(plane, "past")
    row = AutomationProposalRow
    async with plane.database.write(plane.scope) as tx:
        aged = sql_update(row).where(row.proposal_id == old.proposal_id)
        await tx.session.execute(aged.values(created_at=tx.now - LIFETIME - timedelta(seconds=1)))
        content = {**past.content, "schedule": {"once": {"at": "2020-01-01T00:00:00Z"}, "timezone": "UTC"}}
        await tx.session.execute(sql_update(row).where(row.proposal_id == past.proposal_id).values(content=content))
    assert await open_ids(plane) == []
    codes = []
    for space, proposal in ((plane, old), (plane, past), (other, old)):
        refused = await refusal(
            space,
            lambda tx, s=space, p=proposal: automation_proposals.confirm(tx, p.proposal_id, by(s)),  # type: ignore[misc]
        )
        codes.append(refused.refusal.code if refused else None)
    assert codes == ["revision_conflict", "invalid_params", "not_found"]
    assert await plane.rows(AutomationRow) == []


async def test_few_proposals_are_open_at_once(plane: Plane) -> None:
    """U9, O19: a model that proposes without end fills no list."""
    for at in range(MOST_OPEN + 3):
        await proposed(plane, f"call-{at}", title=f"t{at}")
    titles = [card["title"] for card in (await page(plane))["proposals"]]
    assert titles == [f"t{at}" for at in reversed(range(3, MOST_OPEN + 3))]


async def test_confirming_respects_how_many_may_be(plane: Plane) -> None:
    """U: a proposal is no way around the limit, and stays open for later."""
    async with plane.database.write(plane.scope) as tx:
        new = automations.NewAutomation(Binding("t", "summarise a.txt into b.txt"), schedule(WEEKDAYS))
        last = await automations.insert(tx, new, "owner")
        for _ in range(199):
            await automations.insert(tx, new, "owner")
    proposal = await proposed(plane)
    refused = await refusal(plane, lambda tx: automation_proposals.confirm(tx, proposal.proposal_id, by(plane)))
    assert refused is not None
    assert refused.refusal.details == {"limit": 200, "value": 201}
    await edit(plane, "delete", last.automation_id)
    assert (await confirmed(plane, proposal.proposal_id)).state == "active"
    assert (await read(plane, last.automation_id)).state == "deleted"
