"""Driving a stop, and seeing it from inside a running step (S3, S8, S9, S11, S12, I6)."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from activities.hints import Hints
from activities.stop_watch import StopWatch
from activities.stops import StopWork
from contracts.names import attempt_workflow, task_workflow
from contracts.stops import IntentRef
from domain.run import RunRef
from store import stopped_runs, turn_stops
from store.database import Database
from store.schema import prepare
from store.tables_control import IntentRow
from tests.control_acts import failed, let_go, stopped, task_of, within
from tests.control_plane import Plane, open_plane


class Heard:
    """Hints that are noted down; `running` are the workflows that can be told."""

    def __init__(self, *running: str) -> None:
        self.running = set(running)
        self.told_of: list[tuple[str, str]] = []

    async def told(self, workflow_id: str, signal: str) -> bool:
        self.told_of.append((workflow_id, signal))
        return workflow_id in self.running

    async def task_changed(self, task_id: str, signal: str) -> None:
        self.told_of.append((task_workflow(task_id), signal))


@pytest.fixture
async def space(tmp_path: Path) -> AsyncIterator[Plane]:
    """A user space in a database of this test alone."""
    database = Database(f"sqlite+aiosqlite:///{tmp_path}/steward.sqlite")
    await prepare(database)
    yield await open_plane(database)
    await database.close()


def work(space: Plane, heard: Heard) -> StopWork:
    return StopWork(space.database, cast(Hints, heard))


def ref(space: Plane, intent: IntentRow) -> IntentRef:
    return IntentRef(user_space=space.scope.user_space, domain=space.scope.domain, intent_id=intent.intent_id)


def workflow_of(run: RunRef) -> str:
    return attempt_workflow(run.task_id or "", run.requirement_version, run.attempt)


async def test_a_running_attempt_is_told_until_it_has_let_go(space: Plane) -> None:
    """S12, I6: each look tells it again; the end is told to the task's workflow, once and whenever it is asked."""
    run = await space.attempt()
    heard = Heard(workflow_of(run))
    intent = await stopped(space, run.task_id)
    for _ in range(2):
        status = await work(space, heard).reconcile(ref(space, intent))
        assert (status.state, status.done, status.attempts) == ("reconciling", False, 1)
    assert heard.told_of == [(workflow_of(run), "look")] * 2
    await let_go(space, run)
    for _ in range(2):
        status = await work(space, heard).reconcile(ref(space, intent))
        assert (status.state, status.done, status.attempts) == ("done", True, 0)
    assert heard.told_of[-1] == (task_workflow(run.task_id or ""), "changed")
    assert (await task_of(space, run.task_id)).state == "stopped"


async def test_an_attempt_that_no_workflow_runs_is_stopped_here(space: Plane) -> None:
    """S9: its workflow is lost, so nothing of it can end it; the next look finds that nothing runs."""
    run = await space.attempt()
    heard = Heard()
    intent = await stopped(space, run.task_id)
    assert not (await work(space, heard).reconcile(ref(space, intent))).done
    assert (await task_of(space, run.task_id)).state == "stopping"
    assert (await work(space, heard).reconcile(ref(space, intent))).done
    assert (await task_of(space, run.task_id)).state == "stopped"


async def test_a_running_step_sees_its_stop_and_no_other(space: Plane) -> None:
    """S8, S11: one poll for all; each run hears of its own stop only, and one that ended otherwise is seen too."""
    turn = await space.turn()
    first, second, third = [await space.attempt() for _ in range(3)]
    watch = StopWatch(space.database)
    with (
        watch.watching(turn) as turn_stop,
        watch.watching(first) as first_stop,
        watch.watching(second) as second_stop,
        watch.watching(third) as third_stop,
    ):
        await stopped(space, first.task_id)
        await asyncio.wait_for(first_stop.wait(), 20)
        await failed(space, third)
        await asyncio.wait_for(third_stop.wait(), 20)
        assert not turn_stop.is_set()
        assert not second_stop.is_set()
        await within(
            space,
            lambda tx: turn_stops.stop_turn(tx, space.main_session_id, turn.turn_id or "", "stop-turn", "owner"),
        )
        await asyncio.wait_for(turn_stop.wait(), 20)
        assert not second_stop.is_set()


async def test_two_steps_of_one_run_share_the_watch(space: Plane) -> None:
    """S11: the watch is kept until the last of them has ended."""
    run = await space.attempt()
    watch = StopWatch(space.database)
    with watch.watching(run) as outer:
        with watch.watching(run) as inner:
            assert inner is outer
        await stopped(space, run.task_id)
        await asyncio.wait_for(outer.wait(), 20)


async def test_of_some_runs_the_stopped_and_ended_ones_are_found(space: Plane) -> None:
    """S1, S11: exactly those that a stop covers, or that something else has ended."""
    going, stopping, ended = [await space.attempt() for _ in range(3)]
    await stopped(space, stopping.task_id)
    await failed(space, ended)
    async with space.database.read(space.scope) as tx:
        found = await stopped_runs.stopped_among(tx, [going, stopping, ended])
    assert found == [stopping, ended]
