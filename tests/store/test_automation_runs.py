"""Firings in rows, on both databases (U3-U7, A15): one record for one time, whoever decides it and however often."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest

from domain.automation_firing import request_id_of
from host.automation_care import AutomationCare
from store import grant_rows, outbox, resumes
from store.automation_runs import FiringRules
from store.database import Database, utc_now
from store.resumes import Resume
from store.tables_automations import AutomationRow, AutomationRunRow
from store.tables_grants import GrantRow
from store.tables_host import OutboxRow
from store.tables_work import DeliveryRow, RequirementRow, TaskRow
from tests.automation_acts import (
    active_tasks,
    caught_up,
    concluded,
    end_task,
    fired,
    ran,
    runs_of,
    set_columns,
    triggered,
)
from tests.automation_owner import QUARTERS, decided_at, edit, made, read, schedule, update
from tests.control_plane import Plane
from tests.store.test_automations import granted

HOURLY = {"every": {"seconds": 3600}}


async def at_once(plane: Plane, ago_s: int = 0, **choices: Any) -> tuple[AutomationRow, datetime]:
    """An automation of every quarter of an hour whose newest time is this very second, or a while ago, undecided.

    No test waits for the clock: the interval is moved.
    """
    row = await made(plane, QUARTERS, **choices)
    nominal = utc_now().replace(microsecond=0) - timedelta(seconds=ago_s)
    row = await set_columns(
        plane, row.automation_id, decided_until=nominal - timedelta(seconds=1),
        schedule={"every": {"seconds": 900, "offset_s": int(nominal.timestamp()) % 900}, "timezone": "UTC"},
    )  # fmt: skip
    return row, nominal


def brief(runs: list[AutomationRunRow]) -> list[tuple[str, str | None, str]]:
    return [(run.state, run.reason, run.cause) for run in runs]


async def posted(plane: Plane, kind: str) -> list[str]:
    return [row.subject_id for row in await plane.rows(OutboxRow, OutboxRow.kind == kind)]


async def test_a_firing_makes_one_task_and_is_the_same_answer_again(plane: Plane) -> None:
    """U1, U5, T2: task, record and outbox entry together; the request id is told from automation and time."""
    row, nominal = await at_once(plane, permission_mode="read_only")
    run = await fired(plane, row, nominal)
    again = await fired(plane, row, nominal)
    assert again.run_id == run.run_id
    assert run.request_id == request_id_of(row.automation_id, nominal)
    assert (run.nominal_time, run.cause, run.state, run.count) == (nominal, "schedule", "ran", 1)
    [task] = await plane.rows(TaskRow, TaskRow.automation_id == row.automation_id)
    assert (task.task_id, task.title, task.request_id) == (run.task_id, row.title, run.request_id)
    assert (task.permission_mode, task.engine) == ("read_only", "native")
    assert await posted(plane, outbox.TASK_START) == [task.task_id]
    assert (await read(plane, row.automation_id)).decided_until == nominal


async def test_two_that_fire_the_same_time_at_once_make_one_run(plane: Plane) -> None:
    """U5, I2: the schedule's workflow, a restarted one and the host's own look, through connections of their own."""
    row, nominal = await at_once(plane)
    others = [Database(plane.database.engine.url.render_as_string(hide_password=False)) for _ in range(3)]
    planes = [plane, *(Plane(other, plane.scope, plane.main_session_id) for other in others)]
    answers = await asyncio.gather(*(fired(one, row, nominal) for one in planes), caught_up(plane))
    for other in others:
        await other.close()
    assert len({run.run_id for run in answers if run is not None}) == 1
    assert len(await runs_of(plane, row.automation_id)) == 1
    assert len(await plane.rows(TaskRow, TaskRow.automation_id == row.automation_id)) == 1


async def test_an_edit_during_a_dispatch_leaves_the_old_time_out(plane: Plane) -> None:
    """U3: the firing of an older schedule is a recorded skip; the edited schedule and its next time stay."""
    row, nominal = await at_once(plane)
    moved = await edit(plane, "reschedule", row.automation_id, schedule(HOURLY))
    run = await fired(plane, row, nominal)
    assert (run.state, run.reason, run.schedule_revision) == ("skipped", "schedule_changed", 1)
    late = await fired(plane, row, nominal + timedelta(seconds=900))
    assert (late.state, late.reason, late.schedule_revision) == ("skipped", "schedule_changed", 1)
    assert (await read(plane, row.automation_id)).schedule == moved.schedule
    assert len(await runs_of(plane, row.automation_id)) == 2
    assert await active_tasks(plane, row.automation_id) == []


async def test_an_old_time_that_temporal_starts_with_the_new_action_does_not_run(plane: Plane) -> None:
    """U3: the server starts what it has buffered with the newest action, so the revision alone does not tell."""
    row, nominal = await at_once(plane)
    moved = await edit(plane, "reschedule", row.automation_id, schedule(HOURLY))
    for old in (nominal, nominal + timedelta(seconds=1), nominal - timedelta(days=1)):
        run = await fired(plane, moved, old)
        assert (run.state, run.reason, run.cause) == ("skipped", "schedule_changed", "schedule")
    assert await active_tasks(plane, row.automation_id) == []


async def test_a_reschedule_and_a_firing_at_once_leave_one_record(plane: Plane) -> None:
    """U3, U5: whichever is first, the time has one record and at most one run."""
    for _ in range(4):
        row, nominal = await at_once(plane)
        run, _ = await asyncio.gather(
            fired(plane, row, nominal), edit(plane, "reschedule", row.automation_id, schedule(HOURLY))
        )
        [record] = await runs_of(plane, row.automation_id)
        assert record.run_id == run.run_id
        assert brief([record])[0][:2] in (("ran", None), ("skipped", "schedule_changed"))


@pytest.mark.parametrize(("act", "reason"), [("pause", "paused"), ("delete", "deleted")])
async def test_a_time_of_a_paused_or_deleted_automation_is_left_out(plane: Plane, act: str, reason: str) -> None:
    """U7: recorded, and nothing runs."""
    row, nominal = await at_once(plane)
    await edit(plane, act, row.automation_id)
    run = await fired(plane, row, nominal)
    assert (run.state, run.reason) == ("skipped", reason)
    assert await active_tasks(plane, row.automation_id) == []


async def test_after_a_pause_its_times_are_not_caught_up(plane: Plane) -> None:
    """U7: a firing that was on its way through pause and resumption is left out, once."""
    row, nominal = await at_once(plane)
    await edit(plane, "pause", row.automation_id)
    await edit(plane, "resume", row.automation_id)
    run = await fired(plane, row, nominal)
    assert (run.state, run.reason) == ("skipped", "paused")
    await caught_up(plane)
    assert len(await runs_of(plane, row.automation_id)) == 1


async def test_after_an_outage_the_newest_time_runs_once_and_the_others_are_missed(plane: Plane) -> None:
    """U4: within the window one is caught up; each missed time has its record; then it goes on."""
    row, nominal = await at_once(plane, ago_s=600, catchup_s=3600)
    await decided_at(plane, row.automation_id, nominal - timedelta(seconds=6600))
    await caught_up(plane)
    runs = await runs_of(plane, row.automation_id)
    assert brief(runs) == [
        *[("missed", "outage", "schedule")] * 4, *[("missed", "superseded", "schedule")] * 3, ("ran", None, "catch_up"),
    ]  # fmt: skip
    assert await posted(plane, outbox.AUTOMATION_FOLLOW) == [runs[-1].run_id]
    assert (await fired(plane, row, runs[2].nominal_time)).run_id == runs[2].run_id
    await caught_up(plane)
    assert len(await runs_of(plane, row.automation_id)) == 8


async def test_a_long_outage_is_few_records_and_its_firings_find_theirs(plane: Plane) -> None:
    """U4, U5: a month of quarters of an hour: one record with a count, and a late firing adds none."""
    row = await made(plane, QUARTERS, catchup_s=60)
    await decided_at(plane, row.automation_id, utc_now() - timedelta(days=30))
    await caught_up(plane)
    runs = await runs_of(plane, row.automation_id)
    assert len(runs) == 11
    assert runs[0].count + 10 == 30 * 96
    among = runs[0].nominal_time - timedelta(days=3)
    assert (await fired(plane, row, among)).run_id == runs[0].run_id
    assert len(await runs_of(plane, row.automation_id)) == 11


@pytest.mark.parametrize(("catchup_s", "state", "cause"), [(3600, "ran", "catch_up"), (60, "missed", "schedule")])
async def test_a_one_off_that_is_late_runs_within_its_window_and_is_done(
    plane: Plane, catchup_s: int, state: str, cause: str
) -> None:
    """U4, U8: caught up or missed, it stays listed as done and its schedule is told."""
    row = await made(plane, {"once": {"at": "2090-01-01T00:00:00Z"}}, catchup_s=catchup_s)
    at = utc_now().replace(microsecond=0) - timedelta(minutes=10)
    await set_columns(
        plane, row.automation_id, decided_until=at - timedelta(hours=1),
        schedule={"once": {"at": at.strftime("%Y-%m-%dT%H:%M:%SZ")}, "timezone": "UTC"},
    )  # fmt: skip
    await caught_up(plane)
    [run] = await runs_of(plane, row.automation_id)
    assert (run.state, run.cause, run.nominal_time) == (state, cause, at)
    row = await read(plane, row.automation_id)
    assert (row.state, row.revision) == ("done", 2)
    assert len(await posted(plane, outbox.AUTOMATION_SYNC)) >= 2


async def test_overlap_is_skipped_by_default(plane: Plane) -> None:
    """U4: while the task of the run before has not ended, a time is left out; after it the next one runs."""
    row, nominal = await at_once(plane)
    first = await fired(plane, row, nominal)
    by_hand = await triggered(plane, row.automation_id)
    assert (by_hand.state, by_hand.reason) == ("skipped", "overlap")
    await end_task(plane, first, "completed")
    assert (await triggered(plane, row.automation_id)).state == "ran"


async def test_a_buffered_time_runs_when_the_one_before_has_ended(plane: Plane) -> None:
    """U4: one waits, a further one is left out; the end of the first starts the second and tells its workflow."""
    row, nominal = await at_once(plane, overlap="buffer_one")
    first = await fired(plane, row, nominal)
    second, third = await triggered(plane, row.automation_id), await triggered(plane, row.automation_id)
    assert brief([second, third]) == [("buffered", None, "manual"), ("skipped", "overlap", "manual")]
    await end_task(plane, first, "completed")
    assert set(await posted(plane, outbox.AUTOMATION_FOLLOW)) == {first.run_id, second.run_id}
    await concluded(plane, first)
    await concluded(plane, first)
    states = [(run.run_id, run.state) for run in await runs_of(plane, row.automation_id)]
    assert states == [(first.run_id, "ran"), (second.run_id, "ran"), (third.run_id, "skipped")]
    assert len(await active_tasks(plane, row.automation_id)) == 1


async def test_a_buffered_time_that_a_pause_overtakes_does_not_run(plane: Plane) -> None:
    """U4, U7: it is decided again when its turn comes."""
    row, nominal = await at_once(plane, overlap="buffer_one")
    first = await fired(plane, row, nominal)
    async with plane.database.write(plane.scope) as tx:
        buffered = AutomationRunRow(
            run_id=tx.new_id("run"), automation_id=row.automation_id, nominal_time=nominal + timedelta(seconds=1),
            request_id="steward:test", cause="schedule", state="buffered", count=1, schedule_revision=1,
            binding_revision=1, decided_at=tx.now,
        )  # fmt: skip
        tx.session.add(buffered)
    await edit(plane, "pause", row.automation_id)
    await end_task(plane, first, "completed")
    await concluded(plane, first)
    assert [(run.state, run.reason) for run in await runs_of(plane, row.automation_id)] == [
        ("ran", None), ("skipped", "paused"),
    ]  # fmt: skip


async def test_side_by_side_where_it_is_allowed(plane: Plane) -> None:
    """U4: allow means another task while the first runs."""
    row, nominal = await at_once(plane, overlap="allow")
    await fired(plane, row, nominal)
    assert (await triggered(plane, row.automation_id)).state == "ran"
    assert len(await active_tasks(plane, row.automation_id)) == 2


async def test_continue_mode_resumes_one_task_and_never_beside_itself(plane: Plane) -> None:
    """U1, U4, T11: the second firing is the same task's next requirement; while it runs, a time is overlap."""
    row, nominal = await at_once(plane, mode="continue", overlap="allow")
    first = await ran(plane, row, nominal, "completed")
    second = await triggered(plane, row.automation_id)
    assert (second.task_id, second.requirement_version) == (first.task_id, 2)
    assert (await triggered(plane, row.automation_id)).reason == "overlap"
    await end_task(plane, second, "failed")
    await update(plane, row.automation_id, instructions="summarise other.txt")
    third = await triggered(plane, row.automation_id)
    assert (third.task_id, third.requirement_version, third.binding_revision) == (first.task_id, 3, 2)
    requirements = await plane.rows(RequirementRow, RequirementRow.task_id == first.task_id)
    assert [each.instructions for each in requirements][-1] == "summarise other.txt"
    assert (await read(plane, row.automation_id)).task_id == first.task_id


async def test_the_outcome_is_recorded_also_when_somebody_resumed_the_task_first(plane: Plane) -> None:
    """U7, U8: how a run ended is what its own attempt says."""
    row, nominal = await at_once(plane)
    run = await fired(plane, row, nominal)
    assert (await concluded(plane, run)).ended_at is None
    await end_task(plane, run, "failed")
    async with plane.database.write(plane.scope) as tx:
        await resumes.resume_task(tx, Resume(run.task_id or "", plane.request_id()), "owner")
    assert (await concluded(plane, run)).outcome == "failed"
    assert (await read(plane, row.automation_id)).failures == 1


async def test_three_failures_in_a_row_pause_it_and_it_says_so(plane: Plane) -> None:
    """U7, D1: success ends the row, a stop does not count; the notice is one delivery of the automation."""
    row, nominal = await at_once(plane)
    await ran(plane, row, nominal, "failed")
    for outcome in ("completed", "failed", "stopped", "failed"):
        run = await triggered(plane, row.automation_id)
        await end_task(plane, run, outcome)
        await concluded(plane, run)
    row = await read(plane, row.automation_id)
    assert (row.state, row.failures, row.revision) == ("active", 2, 1)
    last = await triggered(plane, row.automation_id)
    await end_task(plane, last, "failed")
    for _ in range(2):
        await concluded(plane, last)
    row = await read(plane, row.automation_id)
    assert (row.state, row.reason, row.failures, row.revision) == ("paused", "failures", 3, 2)
    [notice] = await plane.rows(DeliveryRow, DeliveryRow.kind == "notice")
    assert (notice.owner_kind, notice.owner_id, notice.requirement_version, notice.attempt, notice.subject_id) == (
        "automation", row.automation_id, row.binding_revision, 0, last.run_id,
    )  # fmt: skip
    resumed = await edit(plane, "resume", row.automation_id)
    assert (resumed.state, resumed.reason, resumed.failures) == ("active", None, 0)


async def test_what_is_not_there_any_more_counts_as_a_failure(plane: Plane) -> None:
    """U7, U8: an engine that is gone refuses the task; that is a recorded skip, and after a while a pause."""
    row, nominal = await at_once(plane)
    await set_columns(plane, row.automation_id, engine="gone")
    run = await fired(plane, row, nominal, FiringRules(failures=2))
    assert (run.state, run.reason) == ("skipped", "engine_unavailable")
    assert await plane.rows(TaskRow, TaskRow.automation_id == row.automation_id) == []
    await fired(plane, row, nominal, FiringRules(failures=2))
    row = await read(plane, row.automation_id)
    assert (row.state, row.failures) == ("active", 1)


async def test_deleting_does_not_stop_the_running_task(plane: Plane) -> None:
    """U7: the task goes on to its end, and that end is recorded."""
    row, nominal = await at_once(plane)
    run = await fired(plane, row, nominal)
    await edit(plane, "delete", row.automation_id)
    assert [task.state for task in await active_tasks(plane, row.automation_id)] == ["accepted"]
    await end_task(plane, run, "completed")
    assert (await concluded(plane, run)).outcome == "completed"


async def test_a_firing_runs_under_a_narrowing_of_its_bindings_grant(plane: Plane) -> None:
    """U6, A15: the task holds a derived grant that ends with the binding's, at once."""
    row, nominal = await at_once(plane)
    grant = await granted(plane, row.automation_id)
    run = await fired(plane, row, nominal)
    [derived] = await plane.rows(GrantRow, GrantRow.task_id == run.task_id)
    assert (derived.parent_grant_id, derived.requirement_version) == (grant.grant_id, 1)
    assert derived.expires_at == grant.expires_at
    [task] = await active_tasks(plane, row.automation_id)
    assert task.grant_ref == derived.grant_id
    async with plane.database.read(plane.scope) as tx:
        assert [one.grant_id for one in await grant_rows.lineage(tx, derived)] == [derived.grant_id, grant.grant_id]


@pytest.mark.parametrize("how", ["expired", "revoked", "refused"])
async def test_a_binding_whose_grant_has_ended_does_not_run_and_says_so_once(plane: Plane, how: str) -> None:
    """U6: a recorded skip without a task; one notice for the grant, another only for another one's end."""
    row, nominal = await at_once(plane)
    grant = await granted(plane, row.automation_id)
    rules = FiringRules(refused=frozenset({grant.grant_id})) if how == "refused" else FiringRules()
    columns = {"expired": {"expires_at": utc_now()}, "revoked": {"revoked_at": utc_now()}, "refused": {}}[how]
    await change_grant(plane, grant.grant_id, columns)
    run = await fired(plane, row, nominal, rules)
    assert (run.state, run.reason, run.task_id) == ("skipped", "authorization", None)
    await set_columns(plane, row.automation_id, decided_until=nominal - timedelta(seconds=901))
    await fired(plane, row, nominal - timedelta(seconds=900), rules)
    assert len(await plane.rows(DeliveryRow, DeliveryRow.kind == "notice")) == 1
    assert await plane.rows(TaskRow, TaskRow.automation_id == row.automation_id) == []
    newer = await granted(plane, row.automation_id)
    assert (await triggered(plane, row.automation_id)).state == "ran"
    await change_grant(plane, newer.grant_id, {"revoked_at": utc_now()})
    if how != "refused":
        await set_columns(plane, row.automation_id, overlap="allow")
        assert (await triggered(plane, row.automation_id)).reason == "authorization"
        assert len(await plane.rows(DeliveryRow, DeliveryRow.kind == "notice")) == 2


async def change_grant(plane: Plane, grant_id: str, columns: dict[str, Any]) -> None:
    async with plane.database.write(plane.scope) as tx:
        row = await grant_rows.grant_row(tx, grant_id)
        for name, value in columns.items():
            setattr(row, name, value)


async def test_other_work_needs_another_grant_but_runs_without_one(plane: Plane) -> None:
    """U6, U3: after a change of what is done the ended grant is about other work: it runs, its first effect waits."""
    row, nominal = await at_once(plane)
    grant = await granted(plane, row.automation_id)
    await change_grant(plane, grant.grant_id, {"revoked_at": utc_now()})
    await update(plane, row.automation_id, instructions="summarise other.txt")
    run = await fired(plane, row, nominal)
    assert (run.state, run.binding_revision) == ("ran", 2)
    assert await plane.rows(GrantRow, GrantRow.task_id == run.task_id) == []


@pytest.mark.parametrize("act", ["resume", "reschedule", "delete"])
async def test_what_was_left_out_while_paused_is_recorded_once(plane: Plane, act: str) -> None:
    """U4, U5, U7: times that fired meanwhile have their records; the one of all others does not count them again."""
    row, nominal = await at_once(plane)
    await edit(plane, "pause", row.automation_id)
    await set_columns(plane, row.automation_id, decided_until=nominal - timedelta(seconds=15 * 900 + 1))
    for quarter in (15, 14, 11, 3):
        await fired(plane, await read(plane, row.automation_id), nominal - timedelta(seconds=quarter * 900))
    await edit(plane, act, row.automation_id, *([schedule(HOURLY)] if act == "reschedule" else []))
    runs = await runs_of(plane, row.automation_id)
    assert [(run.state, run.reason) for run in runs] == [("skipped", "paused")] * 6
    assert [run.count for run in runs] == [1, 1, 1, 1, 11, 1], "the last was left out by the pause itself"


async def test_one_broken_row_holds_up_no_other(plane: Plane) -> None:
    """U8: what is passed over of the others is decided; the broken one is complained about."""
    broken, _ = await at_once(plane)
    await set_columns(plane, broken.automation_id, schedule={"never": True})
    row, _ = await at_once(plane)
    await set_columns(plane, row.automation_id, decided_until=row.decided_until - timedelta(hours=3))

    care = AutomationCare(plane.database, plane.scope, FiringRules())
    assert await care.look() == [row.automation_id]
    assert await care.look() == []
    assert (await runs_of(plane, row.automation_id))[-1].state == "ran"
