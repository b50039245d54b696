"""Lists of tasks by keyset, and the right column (T15, T16, I8, C10)."""

import base64
import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import update

from domain.refusal import Refused
from store import tasks, views
from store.database import new_id
from store.keyset import cursor_after, text_key
from store.tables_work import ArtifactRow, TaskRow
from tests.control_plane import Plane


async def page(plane: Plane, limit: int, cursor: str | None = None, **filters: str) -> dict[str, Any]:
    async with plane.database.read(plane.scope) as tx:
        return await views.task_page(tx, filters, limit, cursor)


def ids(items: Sequence[dict[str, Any]]) -> list[str]:
    return [item["task_id"] for item in items]


async def many(plane: Plane, count: int, state: str = "completed", at: datetime | None = None) -> list[str]:
    """Tasks whose rows were written as they are, oldest first."""
    async with plane.database.write(plane.scope) as tx:
        rows = [
            TaskRow(
                task_id=f"{new_id('task')}-{number:03d}", user_space=plane.scope.user_space, domain=plane.scope.domain,
                title=f"task {number}", state=state, agent_id="twin", engine="native", permission_mode="standard",
                request_id=f"{state}-{number}", graph_generation=1, created_at=tx.now,
                updated_at=(at or tx.now) + timedelta(seconds=number),
            )
            for number in range(count)
        ]  # fmt: skip
        tx.session.add_all(rows)
        return sorted(row.task_id for row in rows)


async def test_pages_are_complete_and_in_order(plane: Plane, other: Plane) -> None:
    """T15, I8: newest first, every task once, none of another space; the last page has no cursor, also when full."""
    await many(other, 3)
    created = await many(plane, 10)
    for limit in (3, 5, 10, 100):
        seen: list[str] = []
        cursor: str | None = None
        while True:
            found = await page(plane, limit, cursor)
            assert 0 < len(found["items"]) <= limit
            seen += ids(found["items"])
            cursor = found["next_cursor"]
            if cursor is None:
                break
        assert seen == created[::-1]


async def test_pages_are_stable_while_tasks_are_added(plane: Plane) -> None:
    """T15: what comes in between pages neither repeats a task nor hides one."""
    before = await many(plane, 6)
    first = await page(plane, 2)
    await many(plane, 3, state="running")
    second = await page(plane, 2, first["next_cursor"])
    await many(plane, 3, state="failed")
    third = await page(plane, 2, second["next_cursor"])
    assert ids([*first["items"], *second["items"], *third["items"]]) == before[::-1]
    assert third["next_cursor"] is None


async def test_filters_hold_across_pages(plane: Plane) -> None:
    """T15: by state and by agent; a page is as long as it may be, however rare the match."""
    failed = await many(plane, 3, state="failed")
    await many(plane, 5)
    first = await page(plane, 2, state="failed")
    assert ids(first["items"]) == failed[:0:-1]
    assert ids((await page(plane, 2, first["next_cursor"], state="failed"))["items"]) == failed[:1]
    assert len((await page(plane, 100, agent_id="twin"))["items"]) == 8
    assert (await page(plane, 100, agent_id="somebody"))["items"] == []
    assert (await page(plane, 100, automation_id="automation_1"))["items"] == []


def _encoded(key: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "task_1", "%%%", "ä", _encoded([]), _encoded(["a", "b"]), _encoded([1]), _encoded({"a": 1}),
        _encoded(["a\x00"]), _encoded(["\ud800"]), _encoded("a"), _encoded(None), _encoded([None]), "A" * 1001,
    ],
    ids=lambda cursor: cursor[:12] or "empty",
)  # fmt: skip
def test_invented_cursors_are_refused(cursor: str) -> None:
    """T15: `invalid_params`, never a failure of the database, never another page."""
    with pytest.raises(Refused) as refused:
        text_key(cursor)
    assert refused.value.refusal.code == "invalid_params"


@given(st.text(st.characters(min_codepoint=1, max_codepoint=127)))
def test_a_cursor_names_its_key(key: str) -> None:
    """T15: what was put in comes out, in characters that survive any transport."""
    cursor = cursor_after(key)
    assert text_key(cursor) == key
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@given(st.text(max_size=40))
def test_any_text_is_a_key_or_refused(cursor: str) -> None:
    """T15: a cursor from outside never raises anything else."""
    with suppress(Refused):
        assert (text_key(cursor) or "").isascii()


async def activity(plane: Plane) -> dict[str, Any]:
    async with plane.database.read(plane.scope) as tx:
        return await views.activity_view(tx)


async def test_the_right_column(plane: Plane, other: Plane) -> None:
    """T16, T1: what was accepted is under way at once; what ended is recent; what has a result is an output; I8."""
    await other.task("foreign")
    accepted = await plane.task("accepted")
    done, failed = await plane.attempt("done"), await plane.attempt("failed")
    await plane.succeed(done, "the result")
    async with plane.database.write(plane.scope) as tx:
        await tasks.fail(tx, failed, "executor_failed", "in my own words")
    shown = await activity(plane)
    assert ids(shown["in_progress"]) == [accepted.task_id]
    assert ids(shown["recent_activity"]) == [failed.task_id, done.task_id]
    assert ids(shown["recent_outputs"]) == [done.task_id]
    [output] = shown["recent_outputs"]
    assert output["result"] == {"summary": "the result", "artifacts": []}
    assert [delivery["state"] for delivery in output["deliveries"]] == ["waiting"]
    assert shown["recent_activity"][0]["reason_text"] == "in my own words"


async def test_a_long_task_that_ends_now_is_what_happened_last(plane: Plane) -> None:
    """T16: recent means ended recently, however many younger tasks have ended before."""
    long = await plane.attempt("long")
    async with plane.database.read(plane.scope) as tx:
        an_hour_ago = tx.now - timedelta(hours=1)
    await many(plane, 30, at=an_hour_ago)
    await plane.succeed(long)
    shown = await activity(plane)
    assert ids(shown["recent_activity"])[0] == long.task_id
    assert len(shown["recent_activity"]) == 20
    assert ids(shown["recent_outputs"]) == [long.task_id]


async def test_many_ended_tasks_do_not_hide_what_is_under_way(plane: Plane) -> None:
    """T16: the bands are bounded apart from each other."""
    running = await many(plane, 2, state="running")
    waiting = await many(plane, 60, state="waiting_approval")
    await many(plane, 60)
    shown = await activity(plane)
    assert len(shown["in_progress"]) == 50
    assert set(ids(shown["in_progress"])) <= {*running, *waiting}
    assert len(shown["recent_activity"]) == 20


async def test_a_task_in_detail(plane: Plane) -> None:
    """T16: requirements, attempts, deliveries, events and the workflows by id, with links where there are any."""
    run = await plane.attempt("title")
    await plane.step(run, "", ("report_progress", {"text": "x"}))
    delivery = await plane.succeed(run)
    async with plane.database.read(plane.scope) as tx:
        shown = await views.task_detail(tx, run.task_id or "", lambda name: f"http://ui/{name}")
    assert shown["task"]["state"] == "completed"
    assert [row["instructions"] for row in shown["requirements"]] == ["instructions"]
    [attempt] = shown["attempts"]
    assert (attempt["state"], attempt["attempt"], "reason" in attempt) == ("succeeded", 1, False)
    assert [row["sequence"] for row in shown["events"]] == [1]
    assert [row["workflow_id"] for row in shown["workflows"]] == [
        f"task:{run.task_id}", f"attempt:{run.task_id}:1:1", f"delivery:{delivery.delivery_id}"
    ]  # fmt: skip
    assert shown["workflows"][0]["url"] == f"http://ui/task:{run.task_id}"
    assert json.loads(json.dumps(shown)) == shown


async def test_foreign_details_and_files_are_absent(plane: Plane, other: Plane) -> None:
    """P1, P2, I8: details and files of another space, or of another task, answer like none."""
    foreign, own, sibling = await other.attempt(), await plane.attempt(), await plane.attempt()
    for space, run in ((other, foreign), (plane, sibling)):
        async with space.database.write(space.scope) as tx:
            file = ArtifactRow(
                artifact_id=f"artifact_{run.task_id}", task_id=run.task_id, requirement_version=1, attempt=1,
                name="a", media_type="text/plain", size=1, sha256="0" * 64, created_at=tx.now,
            )  # fmt: skip
            await tasks.succeed(tx, run, "done", [file])
    asked = [
        (foreign.task_id, f"artifact_{foreign.task_id}"),
        ("task_never", "artifact_never"),
        (own.task_id, f"artifact_{sibling.task_id}"),
        (own.task_id, "artifact_never"),
    ]
    refusals = []
    for task_id, artifact_id in asked:
        async with plane.database.read(plane.scope) as tx:
            with pytest.raises(Refused) as refused:
                await views.artifact_of(tx, task_id or "", artifact_id)
        refusals.append(refused.value.refusal)
    assert refusals[0] == refusals[1]
    assert refusals[2] == refusals[3]
    assert {refusal.code for refusal in refusals} == {"not_found"}
    async with plane.database.read(plane.scope) as tx:
        found = await views.artifact_of(tx, sibling.task_id or "", f"artifact_{sibling.task_id}")
        assert found.size == 1
        with pytest.raises(Refused):
            await views.task_detail(tx, foreign.task_id or "", lambda _: None)


async def test_only_the_current_versions_files_are_the_result(plane: Plane) -> None:
    """T11, T16: files of an earlier version stay readable, but are not shown as the current result."""
    run = await plane.attempt()
    async with plane.database.write(plane.scope) as tx:
        file = ArtifactRow(
            artifact_id=f"artifact_{run.task_id}", task_id=run.task_id, requirement_version=1, attempt=1,
            name="a", media_type="text/plain", size=1, sha256="0" * 64, created_at=tx.now,
        )  # fmt: skip
        await tasks.succeed(tx, run, "done", [file])
    assert len((await activity(plane))["recent_outputs"][0]["result"]["artifacts"]) == 1
    async with plane.database.write(plane.scope) as tx:
        await tx.session.execute(update(TaskRow).where(TaskRow.task_id == run.task_id).values(requirement_version=2))
    assert (await activity(plane))["recent_outputs"][0]["result"]["artifacts"] == []
