"""Gate, dispatch and reconciliation on real files (E4, E10, E12, E13, I4)."""

import asyncio
import sys
import threading
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities import effects
from activities.effects import FileEffectActivities
from activities.file_effect import FileEffect
from adapters.file_access import FileAccessError
from adapters.file_writing import Written
from adapters.files_root import FilesRoot
from domain.file_state import FileState
from store.effect_ends import Outcome
from store.tables_authority import ClaimRow, EffectRow
from tests.activities.conftest import Told
from tests.conftest import Eventually
from tests.effect_world import SCOPE, World, ref


async def approved(world: World, **arguments: Any) -> EffectRow:
    effect = await world.proposed(await world.task(), **arguments)
    await world.decide(effect)
    return effect


async def test_an_allowed_write_happens_once(world: World, carried: FileEffectActivities) -> None:
    """E4, E12: gate, start, write, outcome; a second dispatch does nothing."""
    effect = await approved(world, path="a/notes.txt", content="new\n")
    assert (await carried.gate(ref(effect))).state == "claimed"
    assert (await ActivityEnvironment().run(carried.dispatch, ref(effect))).state == "succeeded"
    assert (world.folder / "a/notes.txt").read_text() == "new\n"
    assert await world.result(effect) == {"ok": True, "path": "a/notes.txt", "operation": "created"}
    (world.folder / "a/notes.txt").write_text("changed by hand")
    assert (await ActivityEnvironment().run(carried.dispatch, ref(effect))).state == "succeeded"
    assert (world.folder / "a/notes.txt").read_text() == "changed by hand"


async def test_nothing_is_dispatched_without_a_claim(world: World, carried: FileEffectActivities) -> None:
    """I3: an approved effect that was not claimed is not started."""
    effect = await approved(world)
    assert (await ActivityEnvironment().run(carried.dispatch, ref(effect))).state == "waiting_decision"
    assert list(world.folder.iterdir()) == []


@pytest.mark.parametrize("change", ["content", "link", "appeared"])
async def test_a_file_that_changed_before_the_gate_voids_the_card(
    world: World, carried: FileEffectActivities, change: str
) -> None:
    """E10: `approval_invalidated`; the changed file is untouched."""
    target = world.folder / "notes.txt"
    if change != "appeared":
        target.write_text("old")
    effect = await approved(world)
    if change == "link":
        target.rename(world.folder / "other.txt")
        target.symlink_to(world.folder / "other.txt")
    else:
        target.write_text("somebody else")
    status = await carried.gate(ref(effect))
    assert (status.state, status.decision, status.ended) == ("refused", "invalidated", True)
    expected = "protected_path" if change == "link" else "approval_invalidated"
    assert (await world.reread(effect)).reason == expected
    assert target.read_text() == ("old" if change == "link" else "somebody else")


async def test_a_file_that_changed_after_the_claim_fails_the_effect(
    world: World, carried: FileEffectActivities
) -> None:
    """E4: the precondition is checked on the open descriptor; nothing is written."""
    (world.folder / "notes.txt").write_text("old")
    effect = await approved(world)
    await carried.gate(ref(effect))
    (world.folder / "notes.txt").write_text("somebody else")
    assert (await ActivityEnvironment().run(carried.dispatch, ref(effect))).state == "failed"
    assert (await world.result(effect))["error"]["code"] == "precondition_changed"
    assert (world.folder / "notes.txt").read_text() == "somebody else"


@pytest.mark.parametrize(
    ("point", "state", "content"),
    [
        ("claimed", "waiting_decision", "old"),
        ("started", "failed", "old"),
        ("written", "succeeded", "new\n"),
        ("stored", "succeeded", "new\n"),
    ],
)
async def test_a_worker_killed_at_any_point_is_reconciled_without_a_second_write(
    world: World, carried: FileEffectActivities, repository: Any, point: str, state: str, content: str
) -> None:
    """I4, E13: an unstarted claim is withdrawn, a started one observed; nothing is dispatched again."""
    target = world.folder / "notes.txt"
    target.write_text("old")
    effect = await approved(world)
    url = world.database.engine.url.render_as_string()
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.activities.effect_victim", url, str(world.folder.parent), effect.effect_id, point,
        cwd=repository,
    )  # fmt: skip
    assert await victim.wait() == 9
    assert target.read_text() == content
    for _ in range(2):
        assert (await ActivityEnvironment().run(carried.reconcile, ref(effect))).state == state
    assert target.read_text() == content
    if point == "claimed":
        assert (await carried.gate(ref(effect))).state == "claimed"
        assert (await ActivityEnvironment().run(carried.dispatch, ref(effect))).state == "succeeded"


async def test_a_started_effect_whose_file_proves_nothing_is_unknown(
    world: World, carried: FileEffectActivities, repository: Any
) -> None:
    """E13, T12: neither the old nor the new content is there, so it is said to be unknown."""
    effect = await approved(world)
    url = world.database.engine.url.render_as_string()
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.activities.effect_victim", url, str(world.folder.parent), effect.effect_id,
        "written", cwd=repository,
    )  # fmt: skip
    await victim.wait()
    (world.folder / "notes.txt").write_text("changed since")
    status = await ActivityEnvironment().run(carried.reconcile, ref(effect))
    assert (status.state, status.ended) == ("unknown", True)
    assert (await world.result(effect))["error"]["code"] == "effect_outcome_unknown"
    async with world.database.read(SCOPE) as tx:
        assert [row.state for row in await tx.session.scalars(select(ClaimRow))] == ["started"]


class Slow(FileEffect):
    """Writes only when it is let."""

    def __init__(self, root: FilesRoot) -> None:
        super().__init__(root)
        self.writing = threading.Event()
        self.go_on = threading.Event()

    def perform(self, fields: dict[str, Any], content: bytes) -> Outcome:
        self.writing.set()
        self.go_on.wait(30)
        return super().perform(fields, content)


@pytest.fixture
def slow(world: World) -> Slow:
    """A dispatcher that is alive and has not written yet."""
    return Slow(world.files)


async def test_a_slow_dispatcher_is_waited_for_and_never_settled_as_failed(
    world: World, told: Told, slow: Slow, eventually: Eventually
) -> None:
    """I4, E13: while its lock is held nobody concludes anything from the unchanged file."""
    carried = FileEffectActivities(world.database, slow, world.locks, told, world.limits)
    effect = await approved(world)
    await carried.gate(ref(effect))
    dispatch = asyncio.create_task(ActivityEnvironment().run(carried.dispatch, ref(effect)))
    await eventually(slow.writing.is_set, "the dispatch began")
    reconcile = asyncio.create_task(ActivityEnvironment().run(carried.reconcile, ref(effect)))
    with pytest.raises(ApplicationError, match="alive"):
        await ActivityEnvironment().run(carried.dispatch, ref(effect))
    assert (await world.reread(effect)).state == "started"
    slow.go_on.set()
    assert (await dispatch).state == "succeeded"
    assert (await reconcile).state == "succeeded"


async def test_a_cancelled_dispatch_finishes_and_stores_its_outcome(
    world: World, told: Told, slow: Slow, eventually: Eventually
) -> None:
    """E13: a time-out cannot stop the thread, so the dispatch waits for it; its outcome is known only there."""
    carried = FileEffectActivities(world.database, slow, world.locks, told, world.limits)
    effect = await approved(world)
    await carried.gate(ref(effect))
    dispatch = asyncio.create_task(ActivityEnvironment().run(carried.dispatch, ref(effect)))
    await eventually(slow.writing.is_set, "the dispatch began")
    dispatch.cancel()
    slow.go_on.set()
    assert (await dispatch).state == "succeeded"
    assert (world.folder / "notes.txt").read_text() == "new\n"


class Failing(FilesRoot):
    """A file system that fails at the write."""

    def __init__(self, world: World, reason: str, published: bool) -> None:
        super().__init__(world.folder, (world.state,))
        self._error = FileAccessError(reason, published)

    def write(self, path: str, content: bytes, precondition: FileState) -> Written:
        if self._error.published:
            super().write(path, content, precondition)
        raise self._error


@pytest.mark.parametrize(
    ("reason", "published", "state", "code"),
    [
        ("ENOSPC", False, "failed", "limit_exceeded"),
        ("EIO", False, "failed", "protected_path"),
        ("EIO", True, "succeeded", None),
    ],
)
async def test_a_failing_file_system_is_told_as_it_is(
    world: World, told: Told, reason: str, published: bool, state: str, code: str | None
) -> None:
    """E13: before the rename nothing happened; after it, what stands there decides."""
    failing = FileEffect(Failing(world, reason, published))
    carried = FileEffectActivities(world.database, failing, world.locks, told, world.limits)
    effect = await approved(world)
    await carried.gate(ref(effect))
    assert (await ActivityEnvironment().run(carried.dispatch, ref(effect))).state == state
    assert (await world.reread(effect)).reason == code


async def test_the_run_is_told_of_the_end(world: World, carried: FileEffectActivities, told: Told) -> None:
    """E18: the workflow of the attempt, or of the run's newest turn, gets a signal with the effect's id."""
    run, turn = await world.task(), await world.turn()
    await carried.report(ref(await world.proposed(run)))
    of_turn = await world.proposed(turn)
    await carried.report(ref(of_turn))
    assert [(workflow_id, signal) for workflow_id, signal, _ in told.hints] == [
        (f"attempt:{run.run_id}", "effect_ended"), (f"turn:{turn.turn_id}", "effect_ended"),
    ]  # fmt: skip
    assert told.hints[1][2] == (of_turn.effect_id,)


async def test_expiry_is_an_activity_that_changes_nothing_early(world: World, carried: FileEffectActivities) -> None:
    """E10, E11: by database time."""
    effect = await world.proposed(await world.task())
    assert (await carried.expire(ref(effect))).decision == "pending"
    world.clock.advance(1801.0)
    status = await carried.expire(ref(effect))
    assert (status.state, status.decision, status.ended) == ("refused", "expired", True)


async def test_a_dispatcher_that_never_ends_leaves_the_effect_unknown_until_it_speaks(
    world: World, told: Told, slow: Slow, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I4, E13: after as long as a dispatch may take it is said to be unknown; what it then reports settles it."""
    monkeypatch.setattr(effects, "DISPATCH_TIMEOUT", timedelta(seconds=1))
    carried = FileEffectActivities(world.database, slow, world.locks, told, world.limits)
    effect = await approved(world)
    await carried.gate(ref(effect))
    dispatch = asyncio.create_task(ActivityEnvironment().run(carried.dispatch, ref(effect)))
    await eventually(slow.writing.is_set, "the dispatch began")
    assert (await ActivityEnvironment().run(carried.reconcile, ref(effect))).state == "unknown"
    slow.go_on.set()
    assert (await dispatch).state == "succeeded"
    assert (await world.result(effect))["error"]["code"] == "effect_outcome_unknown"
