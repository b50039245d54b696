"""Sub-tasks: bounded, told to their parent's call, never delivered, never held back (T2, T13, S2)."""

import json
from typing import Any

import pytest

from store import outbox, tasks
from store.relay_queue import admit, candidates
from store.tables_host import OutboxRow
from store.tables_work import CallRow, DeliveryRow, TaskRow
from tests.control_acts import begun, code_of, delegated, failed, resumed, task_of, within
from tests.control_plane import Plane


async def told(plane: Plane, run_id: str, step: int = 1) -> Any:
    call = await plane.only(CallRow, CallRow.run_id == run_id, CallRow.step == step)
    return None if call.result is None else json.loads(call.result)


async def test_a_sub_task_belongs_to_its_parents_attempt_which_waits(plane: Plane) -> None:
    """T13: parent task, requirement version and attempt are kept; the call waits for the child's end."""
    parent = await plane.attempt()
    child = await delegated(plane, parent)
    row = await task_of(plane, child.task_id)
    assert (row.parent_task_id, row.parent_requirement_version, row.parent_attempt) == (parent.task_id, 1, 1)
    following = await plane.follows(parent)
    assert (following.kind, following.waits_for) == ("child", child.task_id)


@pytest.mark.parametrize("end", ["completed", "failed"])
async def test_its_end_is_the_answer_of_the_call_and_no_delivery(plane: Plane, end: str) -> None:
    """T13: the parent sees it in its own session; nothing reaches the main conversation."""
    parent = await plane.attempt()
    child = await begun(plane, (await delegated(plane, parent)).task_id)
    if end == "completed":
        async with plane.database.write(plane.scope) as tx:
            await tasks.succeed(tx, child, "seven", [])
    else:
        await failed(plane, child)
    answer = await told(plane, parent.run_id)
    assert (answer["task_id"], answer["state"]) == (child.task_id, end)
    assert answer.get("summary") == ("seven" if end == "completed" else None)
    assert answer.get("reason") == ("executor_failed" if end == "failed" else None)
    assert await plane.rows(DeliveryRow) == []
    looks = await plane.rows(OutboxRow, OutboxRow.kind == outbox.ATTEMPT_LOOK)
    assert [entry.subject_id for entry in looks] == [parent.run_id]
    assert (await plane.follows(parent)).kind == "model"


async def test_sub_tasks_go_three_deep(plane: Plane) -> None:
    """T13: the executor of the third may not delegate; nothing is left of the refused one."""
    run = await plane.attempt()
    for _ in range(3):
        run = await begun(plane, (await delegated(plane, run)).task_id)
    assert await code_of(delegated(plane, run)) == "invalid_params"
    assert len(await plane.rows(TaskRow)) == 4


async def test_an_attempt_delegates_sixteen_times(plane: Plane) -> None:
    """T13: ended ones count; another attempt has its own sixteen."""
    parent = await plane.attempt()
    for number in range(1, 17):
        child = await delegated(plane, parent, number)
        await failed(plane, await begun(plane, child.task_id))
    assert await code_of(delegated(plane, parent, 17)) == "invalid_params"
    await failed(plane, parent)
    await resumed(plane, parent.task_id)
    await delegated(plane, await begun(plane, parent.task_id))


async def test_an_attempt_that_is_not_current_cannot_delegate(plane: Plane) -> None:
    """T5, I7: a late call of an earlier requirement makes nothing."""
    parent = await plane.attempt()
    await failed(plane, parent)
    await resumed(plane, parent.task_id)
    assert await code_of(delegated(plane, parent)) == "stale_result"
    assert len(await plane.rows(TaskRow)) == 1


async def test_a_sub_task_starts_although_its_parents_fill_the_bound(plane: Plane) -> None:
    """T13: a parent counts until it has ended, and it waits for its child: holding that back would be for ever."""
    parent = await plane.attempt()
    await within(plane, lambda tx: admit(tx, [parent.task_id or ""]))
    child, fresh = await delegated(plane, parent), await plane.task()
    async with plane.database.read(plane.scope) as tx:
        entries = await candidates(tx, 10, 1)
    starts = [entry.subject_id for entry in entries if entry.kind == outbox.TASK_START]
    assert child.task_id in starts
    assert fresh.task_id not in starts
