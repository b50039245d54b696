"""Automations by their owner (U1-U3, U7-U9), on both databases: made, changed at the revision seen, paused, deleted."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from domain.automation import Binding
from domain.refusal import Refused
from store import (
    automation_edits,
    automations,
    grant_proposals,
    grants,
    outbox,
)
from store.authority import LOCAL_OWNER
from store.automations import NewAutomation
from store.database import Transaction, utc_now
from store.grants import Issuer
from store.tables_authority import AuditRow
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_grants import GrantProposalRow, GrantRow
from store.tables_host import ChangeRow, OutboxRow
from store.tables_work import TaskRow
from tests.automation_owner import (
    QUARTERS,
    WEEKDAYS,
    by,
    decided_at,
    edit,
    made,
    page,
    read,
    refusal,
    schedule,
    shown,
    update,
)
from tests.control_plane import Plane

PAST = {"once": {"at": "2020-01-01T08:00:00Z"}}
CHRISTMAS = {"once": {"at": "2090-12-24T18:00"}, "timezone": "Europe/Berlin"}


async def granted(plane: Plane, automation_id: str | None = None) -> GrantRow:
    """A grant for an automation, or one that nothing holds."""
    async with plane.database.write(plane.scope) as tx:
        if automation_id is None:
            proposal = grant_proposals.propose_for_text(tx, "notes.txt", LOCAL_OWNER, "/files", models="offline")
            await tx.session.flush()
        else:
            row = await automations.automation_row(tx, automation_id)
            proposal = await grant_proposals.propose_for_automation(tx, row, LOCAL_OWNER, "offline", "/files")
        issued = await grants.issue(tx, proposal.proposal_id, None, Issuer(), plane.request_id(), "owner")
    return issued[1]


async def code_of(plane: Plane, work: Callable[[Transaction], Awaitable[Any]]) -> str | None:
    refused = await refusal(plane, work)
    return refused.refusal.code if refused else None


async def test_an_automation_is_made_once_for_its_request(plane: Plane) -> None:
    """U1, I2: defaults, one row and one entry for its schedule; the same request again is the same automation."""
    row = await made(plane, request_id="make-1")
    again = await made(plane, request_id="make-1")
    assert again.automation_id == row.automation_id
    assert [one.automation_id for one in await plane.rows(AutomationRow)] == [row.automation_id]
    assert (row.state, row.revision, row.binding_revision, row.schedule_revision) == ("active", 1, 1, 1)
    assert (row.mode, row.agent_id, row.engine, row.permission_mode) == ("new", "twin", "native", "standard")
    assert (row.overlap, row.catchup_s) == ("skip", 3600)
    [entry] = await plane.rows(OutboxRow, OutboxRow.kind == outbox.AUTOMATION_SYNC)
    assert entry.subject_id == row.automation_id
    assert [one.body for one in await plane.rows(ChangeRow, ChangeRow.topic == "automations")] == [{}]
    [audited] = await plane.rows(AuditRow, AuditRow.kind == "automation.create")
    assert "Morning" not in str(audited.details)
    with pytest.raises(Refused, match="request_id_conflict"):
        await made(plane, request_id="make-1", title="Evening")


@pytest.mark.parametrize(
    ("given", "choices", "code", "field"),
    [
        (PAST, {}, "invalid_params", "schedule.once.at"),
        (WEEKDAYS, {"title": ""}, "invalid_params", "title"),
        (WEEKDAYS, {"title": "t" * 201}, "invalid_params", "title"),
        (WEEKDAYS, {"instructions": " "}, "invalid_params", "instructions"),
        (WEEKDAYS, {"instructions": "字" * 21_334}, "invalid_params", "instructions"),
        (WEEKDAYS, {"catchup_s": -1}, "invalid_params", "catchup_s"),
        (WEEKDAYS, {"catchup_s": 30 * 86_400 + 1}, "invalid_params", "catchup_s"),
        (WEEKDAYS, {"mode": "often"}, "invalid_params", "mode"),
        (WEEKDAYS, {"overlap": "queue"}, "invalid_params", "overlap"),
        (WEEKDAYS, {"permission_mode": "unconfined"}, "invalid_params", None),
        (WEEKDAYS, {"engine": "codex"}, "engine_unavailable", None),
        (WEEKDAYS, {"agent_id": "somebody"}, "not_found", None),
        (WEEKDAYS, {"grant_ref": "grant_never"}, "not_found", None),
    ],
)
async def test_what_cannot_be_done_is_refused_whole(
    plane: Plane, given: dict[str, Any], choices: dict[str, Any], code: str, field: str | None
) -> None:
    """T14, U2, U4: refused with its place before anything is stored."""
    with pytest.raises(Refused) as caught:
        await made(plane, given, **choices)
    assert (caught.value.refusal.code, caught.value.refusal.details.get("field")) == (code, field)
    assert await plane.rows(AutomationRow) == []
    assert await plane.rows(OutboxRow, OutboxRow.kind == outbox.AUTOMATION_SYNC) == []


async def test_limits_are_inclusive(plane: Plane) -> None:
    """U4: 0 and 30 days of catching up are both possible."""
    assert (await made(plane, catchup_s=0)).catchup_s == 0
    assert (await made(plane, catchup_s=30 * 86_400)).catchup_s == 30 * 86_400


async def test_only_another_work_voids_its_grant(plane: Plane) -> None:
    """U3, A15: the title, overlap and catch-up keep the grant; what is done has a new binding revision and none."""
    row = await made(plane)
    grant = await granted(plane, row.automation_id)
    assert (grant.automation_id, grant.binding_revision) == (row.automation_id, 1)
    row = await update(plane, row.automation_id, title="Evening", overlap="allow", catchup_s=60)
    assert (row.revision, row.binding_revision, row.schedule_revision) == (2, 1, 1)
    kept = (await shown(plane, row.automation_id))["grant"]
    assert (kept["ref"], kept["state"]) == (grant.grant_id, "active")
    row = await update(plane, row.automation_id, instructions=row.instructions)
    assert (row.revision, row.binding_revision) == (3, 1)
    for at, fields in enumerate(
        [{"instructions": "summarise b.txt into c.md"}, {"mode": "continue"}, {"permission_mode": "read_only"}], 2
    ):
        row = await update(plane, row.automation_id, **fields)
        assert row.binding_revision == at
    assert (await shown(plane, row.automation_id))["grant"] is None
    assert row.revision == 6


async def test_what_was_asked_for_other_work_is_asked_no_longer(plane: Plane) -> None:
    """A11, U3: an open request is returned as it is, and closed by a change of what is done."""
    row = await made(plane)
    async with plane.database.write(plane.scope) as tx:
        first = await grant_proposals.propose_for_automation(tx, row, LOCAL_OWNER, "offline", "/files")
        again = await grant_proposals.propose_for_automation(tx, row, LOCAL_OWNER, "offline", "/files")
    assert first.proposal_id == again.proposal_id
    assert sorted(one["value"] for one in first.bounds["resources"]) == ["/files/notes.txt", "/files/today.md"]
    await update(plane, row.automation_id, instructions="summarise b.txt into c.md")
    assert (await plane.only(GrantProposalRow)).state == "closed"
    async with plane.database.write(plane.scope) as tx:
        with pytest.raises(Refused, match="authorization_requirement_mismatch"):
            await grants.issue(tx, first.proposal_id, None, Issuer(), plane.request_id(), "owner")


async def test_an_unbound_grant_is_bound_once(plane: Plane) -> None:
    """A15: to an automation, at what it does then; not to a second one."""
    grant = await granted(plane)
    row = await made(plane, grant_ref=grant.grant_id)
    assert (await shown(plane, row.automation_id))["grant"]["ref"] == grant.grant_id
    with pytest.raises(Refused, match="authorization_requirement_mismatch"):
        await made(plane, grant_ref=grant.grant_id)
    other = await granted(plane)
    row = await update(plane, row.automation_id, other.grant_id, instructions="summarise b.txt into c.md")
    assert (await shown(plane, row.automation_id))["grant"]["ref"] == other.grant_id
    bound = await plane.only(GrantRow, GrantRow.grant_id == other.grant_id)
    assert bound.binding_revision == row.binding_revision == 2


async def test_a_stale_write_changes_nothing(plane: Plane) -> None:
    """U, api.md: another expected revision is a conflict that says how it stands."""
    row = await made(plane)
    await edit(plane, "pause", row.automation_id)
    before = await read(plane, row.automation_id)
    refused = await refusal(plane, lambda tx: automation_edits.delete(tx, row.automation_id, 1, by(plane)))
    assert refused is not None
    assert refused.refusal.code == "revision_conflict"
    assert refused.refusal.details["revision"] == 2
    assert refused.refusal.details["state"] == "paused"
    after = await read(plane, row.automation_id)
    assert (after.revision, after.state) == (before.revision, before.state)


async def test_a_repeated_write_is_made_once(plane: Plane) -> None:
    """I2: each kind of write, repeated with its request, is the same write; with other content it is a conflict."""
    row = await made(plane)
    acts: list[tuple[str, tuple[Any, ...]]] = [
        ("update", ({"title": "Other"}, None)), ("reschedule", (schedule(QUARTERS),)), ("pause", ()), ("resume", ()),
        ("trigger", ()), ("delete", ()),
    ]  # fmt: skip
    for revision, (act, arguments) in enumerate(acts, 1):
        write = by(plane)
        for _ in range(2):
            async with plane.database.write(plane.scope) as tx:
                work = getattr(automation_edits, act)
                receipt, written = await work(tx, row.automation_id, revision, *arguments, write)
            assert (receipt.subject_id, written.revision) == (row.automation_id, revision + 1)
        code = await code_of(plane, lambda tx, w=write: automation_edits.pause(tx, row.automation_id, 99, w))  # type: ignore[misc]
        assert code == "request_id_conflict"
    assert len(await plane.rows(OutboxRow, OutboxRow.kind == outbox.AUTOMATION_SYNC)) == len(acts) + 1
    [fired] = await plane.rows(AutomationRunRow, AutomationRunRow.automation_id == row.automation_id)
    assert (fired.cause, fired.state) == ("manual", "ran")
    assert [task.automation_id for task in await plane.rows(TaskRow)] == [row.automation_id]


async def test_times_are_changed_under_the_same_ids(plane: Plane) -> None:
    """U3: schedule_revision +1, the grant kept; a paused one stays paused, a done one is active again."""
    row = await made(plane)
    grant = await granted(plane, row.automation_id)
    moved = await edit(plane, "reschedule", row.automation_id, schedule(QUARTERS))
    assert (moved.automation_id, moved.binding_id) == (row.automation_id, row.binding_id)
    assert (moved.revision, moved.schedule_revision, moved.binding_revision) == (2, 2, 1)
    assert (await shown(plane, row.automation_id))["grant"]["ref"] == grant.grant_id
    await edit(plane, "pause", row.automation_id)
    assert (await edit(plane, "reschedule", row.automation_id, schedule(WEEKDAYS))).state == "paused"
    async with plane.database.write(plane.scope) as tx:
        (await automations.automation_row(tx, row.automation_id)).state = "done"
    assert (
        await code_of(plane, lambda tx: automation_edits.pause(tx, row.automation_id, 4, by(plane))) == "invalid_params"
    )
    past = schedule(PAST)
    work = automation_edits.reschedule
    assert await code_of(plane, lambda tx: work(tx, row.automation_id, 4, past, by(plane))) == "invalid_params"
    assert (await edit(plane, "reschedule", row.automation_id, schedule(CHRISTMAS))).state == "active"


@pytest.mark.parametrize(
    ("act", "arguments", "paused", "reason"),
    [
        ("reschedule", (schedule(WEEKDAYS),), False, "schedule_changed"),
        ("reschedule", (schedule(WEEKDAYS),), True, "paused"),
        ("pause", (), False, "paused"),
        ("resume", (), True, "paused"),
        ("delete", (), False, "deleted"),
    ],
)
async def test_what_was_due_has_one_record_and_is_not_caught_up(
    plane: Plane, act: str, arguments: tuple[Any, ...], paused: bool, reason: str
) -> None:
    """U3, U4: times of the old schedule, or of a pause, are skips under one count, and nothing is due twice."""
    row = await made(plane, QUARTERS)
    if paused:
        await edit(plane, "pause", row.automation_id)
    now = utc_now()
    await decided_at(plane, row.automation_id, now - timedelta(hours=25))
    row = await edit(plane, act, row.automation_id, *arguments)
    run = await plane.only(AutomationRunRow, AutomationRunRow.automation_id == row.automation_id)
    assert (run.state, run.reason, run.count, run.task_id) == ("skipped", reason, 100, None)
    assert now - timedelta(minutes=15) < run.nominal_time <= row.decided_until
    assert row.decided_until >= now
    if row.state != "deleted":
        await edit(plane, "reschedule", row.automation_id, schedule(CHRISTMAS))
        assert len(await plane.rows(AutomationRunRow, AutomationRunRow.automation_id == row.automation_id)) == 1


async def test_pause_resume_and_what_paused_itself(plane: Plane) -> None:
    """U7: resuming forgets the failures and the reason; a one-off whose time passed meanwhile says so."""
    row = await made(plane)
    async with plane.database.write(plane.scope) as tx:
        sick = await automations.automation_row(tx, row.automation_id)
        sick.state, sick.reason, sick.failures = "paused", "failures", 3
    assert (await shown(plane, row.automation_id))["reason"] == "failures"
    row = await edit(plane, "resume", row.automation_id)
    assert (row.state, row.reason, row.failures) == ("active", None, 0)
    assert len((await shown(plane, row.automation_id))["next_times"]) == 5
    once = await made(plane, CHRISTMAS)
    await edit(plane, "pause", once.automation_id)
    assert (await shown(plane, once.automation_id))["next_times"] == []
    async with plane.database.write(plane.scope) as tx:
        (await automations.automation_row(tx, once.automation_id)).schedule = {**PAST, "timezone": "UTC"}
    assert (
        await code_of(plane, lambda tx: automation_edits.resume(tx, once.automation_id, 2, by(plane)))
        == "invalid_params"
    )


async def test_a_deleted_one_is_gone(plane: Plane, other: Plane) -> None:
    """U7, P1: listed no more and found no more; nobody else's is found either."""
    row, kept = await made(plane), await made(other)
    assert await code_of(plane, lambda tx: automation_edits.pause(tx, kept.automation_id, 1, by(plane))) == "not_found"
    await edit(plane, "delete", row.automation_id)
    assert (await page(plane))["items"] == []
    for work in (automation_edits.pause, automation_edits.resume, automation_edits.delete):
        assert await code_of(plane, lambda tx, w=work: w(tx, row.automation_id, 2, by(plane))) == "not_found"  # type: ignore[misc]
    assert [item["automation_id"] for item in (await page(other))["items"]] == [kept.automation_id]


async def test_so_many_may_be_active(plane: Plane) -> None:
    """U: the 201st active one is refused with the limit; paused and done ones do not count."""
    row = await made(plane)
    async with plane.database.write(plane.scope) as tx:
        new = NewAutomation(Binding("t", "summarise a.txt into b.txt"), schedule(WEEKDAYS))
        for _ in range(199):
            await automations.insert(tx, new, "owner")
    refused = await refusal(plane, lambda tx: automations.create(tx, new, by(plane)))
    assert refused is not None
    assert refused.refusal.details == {"limit": 200, "value": 201}
    await edit(plane, "pause", row.automation_id)
    another = await made(plane)
    assert (
        await code_of(plane, lambda tx: automation_edits.resume(tx, row.automation_id, 2, by(plane)))
        == "invalid_params"
    )
    async with plane.database.write(plane.scope) as tx:
        (await automations.automation_row(tx, another.automation_id)).state = "done"
    assert (await edit(plane, "resume", row.automation_id)).state == "active"


async def test_lists_page_by_keyset_with_their_last_runs(plane: Plane) -> None:
    """U8: newest first, each with its own last runs, newest first, and no more of them than are looked at."""
    rows = [await made(plane, title=f"t{at}") for at in range(5)]
    async with plane.database.write(plane.scope) as tx:
        for row in rows[:2]:
            for minute in range(7):
                tx.session.add(
                    AutomationRunRow(
                        run_id=tx.new_id("run"), automation_id=row.automation_id, cause="schedule", state="missed",
                        nominal_time=tx.now - timedelta(minutes=minute), request_id="r", reason="outage",
                        count=minute + 1, schedule_revision=1, binding_revision=1, decided_at=tx.now,
                    )
                )  # fmt: skip
    seen: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(3):
        got = await page(plane, 2, cursor)
        assert ("proposals" in got) == (cursor is None)
        seen, cursor = seen + got["items"], got["next_cursor"]
    assert cursor is None
    assert [item["title"] for item in seen] == ["t4", "t3", "t2", "t1", "t0"]
    assert [len(item["runs"]) for item in seen] == [0, 0, 0, 5, 5]
    assert [run["count"] for run in seen[-1]["runs"]] == [1, 2, 3, 4, 5]
    assert set(seen[-1]["runs"][0]) == {"nominal_time", "state", "cause", "count", "reason"}
    assert len((await shown(plane, rows[0].automation_id))["runs"]) == 7
    assert "instructions" not in seen[0]
    assert (await shown(plane, rows[0].automation_id))["instructions"] == rows[0].instructions
