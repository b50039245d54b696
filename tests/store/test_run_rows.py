"""Stored steps of runs and what follows from the rows (T4, T10, P10, T17)."""

from datetime import timedelta

import pytest

from domain.run import Bounds, Following, Place, RunRef
from store import run_events, run_steps, task_progress, tasks
from store.tables_work import AttemptRow, CallRow, RunEventRow, StepRow, TaskRow
from store.turns import turn_row
from tests.control_plane import BOUNDS, Plane


async def finish(plane: Plane, run: RunRef, step: int, index: int, result: str) -> None:
    async with plane.database.write(plane.scope) as tx:
        await run_steps.finish_call(tx, run.run_id, step, index, result)


async def test_rows_say_what_follows(plane: Plane) -> None:
    """T4, T10: model step, its calls one after the other, the next step, the reply; always from rows alone."""
    run = await plane.turn()
    assert await plane.follows(run) == Following(kind="model", step=1)
    await plane.step(run, "", ("list_tasks", {}), ("list_files", {}))
    assert await plane.follows(run) == Following(kind="call", step=1, index=0)
    await finish(plane, run, 1, 0, "{}")
    assert await plane.follows(run) == Following(kind="call", step=1, index=1)
    await finish(plane, run, 1, 1, "{}")
    assert await plane.follows(run) == Following(kind="model", step=2)
    await plane.step(run, "That is all.", number=2)
    assert await plane.follows(run) == Following(kind="reply", step=2)
    await plane.complete(run)
    assert await plane.follows(run) == Following(kind="ended")


async def test_a_call_keeps_its_first_answer(plane: Plane) -> None:
    """I7: a late second answer is dropped, and makes no event."""
    run = await plane.turn()
    await plane.step(run, "", ("list_tasks", {}))
    await finish(plane, run, 1, 0, "first")
    await finish(plane, run, 1, 0, "second")
    assert (await plane.only(CallRow, CallRow.run_id == run.run_id)).result == "first"
    assert len(await plane.rows(RunEventRow, RunEventRow.run_id == run.run_id)) == 2


async def test_a_step_is_stored_once(plane: Plane) -> None:
    """T10: two answers for one step cannot both be kept, whoever writes them."""
    run = await plane.turn()
    await plane.step(run, "one")
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        await plane.step(run, "two")
    assert (await plane.only(StepRow, StepRow.run_id == run.run_id)).text == "one"


async def test_a_started_effect_is_waited_for_also_after_a_stop(plane: Plane) -> None:
    """S6: a stop does not recall it; the run ends when its outcome is there."""
    run = await plane.turn()
    effect_id = await plane.card(run)
    async with plane.database.write(plane.scope) as tx:
        (await turn_row(tx, run.turn_id or "")).stop_requested_at = tx.now
    waiting = Following(kind="effect", step=1, index=0, place=Place.EFFECT, effect_id=effect_id)
    assert await plane.follows(run) == waiting
    await finish(plane, run, 1, 0, "{}")
    assert await plane.follows(run) == Following(kind="ended", reason="turn_stopped")


async def test_an_unknown_run_has_ended(plane: Plane) -> None:
    """I3: what cannot be found is not carried on."""
    turn, attempt = await plane.turn(), await plane.attempt()
    assert (await plane.follows(turn.model_copy(update={"turn_id": "turn_never"}))).kind == "ended"
    assert (await plane.follows(attempt.model_copy(update={"attempt": 2}))).kind == "ended"


async def test_an_attempt_ends_with_its_reason(plane: Plane) -> None:
    """T4, I7: after the end nothing follows but the end, with the reason that was stored."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        await tasks.fail(tx, run, "bounds_exceeded")
    assert await plane.follows(run) == Following(kind="ended", reason="bounds_exceeded", state="failed")


@pytest.mark.parametrize(
    ("started_h", "waited_h", "waiting_h", "kind"),
    [
        (23.9, 0, None, "model"),
        (24.1, 0, None, "fail"),
        (30, 7, None, "model"),
        (30, 0, 7, "model"),
        (30, 2, 3, "fail"),
    ],
)
async def test_waiting_for_people_is_not_active_time(
    plane: Plane, started_h: float, waited_h: float, waiting_h: float | None, kind: str
) -> None:
    """T4: 24 hours of active time; what was waited before, and what is being waited now, do not count."""
    run = await plane.attempt()
    await plane.step(run, "", ("report_progress", {"text": "x"}))
    await finish(plane, run, 1, 0, "{}")
    async with plane.database.write(plane.scope) as tx:
        attempt = await tasks.attempt_row(tx, run)
        attempt.started_at = tx.now - timedelta(hours=started_h)
        attempt.waited_seconds = waited_h * 3600
        attempt.waiting_since = None if waiting_h is None else tx.now - timedelta(hours=waiting_h)
    assert (await plane.follows(run)).kind == kind


async def test_the_bounds_are_the_callers(plane: Plane) -> None:
    """T4: bounds are configuration, not constants of the rows."""
    run = await plane.attempt()
    await plane.step(run, "", ("report_progress", {"text": "x"}))
    await finish(plane, run, 1, 0, "{}")
    assert (await plane.follows(run, Bounds(model_steps=1))).reason == "bounds_exceeded"
    assert (await plane.follows(run, BOUNDS)).kind == "model"


async def test_events_carry_safe_details_only(plane: Plane) -> None:
    """P10, I9: sequences grow by one; keys outside the whitelist never reach the row."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        for _ in range(2):
            await run_events.record(
                tx, run.run_id, "tool", "n" * 100, "label", "completed", duration_ms=1.26,
                details={"step": 1, "prompt": "secret", "path": "/secret", "code": "not_found"},
            )  # fmt: skip
    events = await plane.rows(RunEventRow, RunEventRow.run_id == run.run_id)
    assert [event.sequence for event in events] == [1, 2]
    assert events[0].details == {"step": 1, "code": "not_found"}
    assert (events[0].duration_ms, len(events[0].name)) == (1.3, 64)


async def test_steps_and_calls_leave_no_text_in_events(plane: Plane) -> None:
    """P10, I9: what a model said, asked for and was told is in no event, also when it makes up a tool's name."""
    run = await plane.attempt()
    await plane.step(run, "secret words", ("secret tool!", {"secret": "argument"}))
    await finish(plane, run, 1, 0, '{"error": {"code": "x", "message": "secret"}}')
    events = await plane.rows(RunEventRow, RunEventRow.run_id == run.run_id)
    assert [(event.category, event.name, event.status) for event in events] == [
        ("model", "model_step", "completed"),
        ("tool", "tool", "failed"),
    ]
    assert "secret" not in "".join(f"{event.name} {event.label} {event.details}" for event in events)


async def test_progress_is_one_line(plane: Plane) -> None:
    """T17: the executor's words in one bounded line, with the time."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        await task_progress.report(tx, run, "half\n\n  done " + "x" * 600)
    task = await plane.only(TaskRow)
    assert task.progress is not None
    assert task.progress.startswith("half done x")
    assert len(task.progress) == 500
    assert task.progress_at is not None


async def test_work_is_noted_no_more_often_than_asked(plane: Plane) -> None:
    """T17: a sign of life at least every so often, and not with every beat."""
    run = await plane.attempt()

    async def beat() -> None:
        async with plane.database.write(plane.scope) as tx:
            await task_progress.working(tx, run, every=timedelta(seconds=10))

    await beat()
    await beat()
    assert len(await plane.rows(RunEventRow, RunEventRow.run_id == run.run_id)) == 1
    async with plane.database.write(plane.scope) as tx:
        (await tasks.task_row(tx, run.task_id or "")).progress_at = tx.now - timedelta(seconds=10)
    await beat()
    assert len(await plane.rows(RunEventRow, RunEventRow.run_id == run.run_id)) == 2


async def test_an_attempt_that_never_began_has_no_active_time(plane: Plane) -> None:
    """T4: the clock starts with the attempt, not with the task's acceptance."""
    task = await plane.task()
    run = tasks.run_of(task)
    assert (await plane.only(AttemptRow, AttemptRow.task_id == task.task_id)).started_at is None
    assert await plane.follows(run) == Following(kind="model", step=1)
