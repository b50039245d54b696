"""Which commands wait for input, by their rows on both databases (E15, E20, I6)."""

from typing import Any

from sqlalchemy import func, select

from domain.effect import EffectKind, EffectState
from domain.run import RunRef
from store.action_digest import action_digest
from store.processes import end_process, open_processes
from store.tables_authority import EffectRow, EffectTrailRow
from tests.effect_world import SCOPE, World, count


async def add(world: World, run: RunRef, number: int, state: EffectState, **action: Any) -> EffectRow:
    """A command of a run in some state."""
    async with world.database.write(SCOPE) as tx:
        row = EffectRow(
            effect_id=tx.new_id("effect"), user_space=SCOPE.user_space, domain=SCOPE.domain, run_id=run.run_id,
            step=number, place_in_step=0, task_id=run.task_id, kind=EffectKind.COMMAND.value, state=state.value,
            action=action, action_digest=action_digest(action), words={}, impact={}, created_at=tx.now,
            updated_at=tx.now,
        )  # fmt: skip
        tx.session.add(row)
        await tx.session.flush()
        return row


async def opened(world: World, task_ids: list[str] | None = None) -> set[str]:
    async with world.database.read(SCOPE) as tx:
        return {row.effect_id for row in await open_processes(tx, task_ids)}


async def test_a_process_is_open_until_its_trail_says_that_it_ended(world: World) -> None:
    """E15, E20: of interactive commands that have started, once; of the tasks that are asked about, or of all."""
    run, other = await world.task(), await world.task()
    kept = await add(world, run, 1, EffectState.SUCCEEDED, interactive=True)
    elsewhere = await add(world, other, 1, EffectState.SUCCEEDED, interactive=True)
    await add(world, run, 2, EffectState.SUCCEEDED, interactive=False)
    await add(world, run, 3, EffectState.FAILED, interactive=True)
    await add(world, run, 4, EffectState.SUCCEEDED, process_id="process_1")
    assert await opened(world) == {kept.effect_id, elsewhere.effect_id}
    assert await opened(world, [run.task_id or ""]) == {kept.effect_id}
    assert await opened(world, []) == set()
    for first in (True, False):
        async with world.database.write(SCOPE) as tx:
            assert await end_process(tx, await tx.session.get_one(EffectRow, kept.effect_id), "x") is first
    assert await opened(world) == {elsewhere.effect_id}
    async with world.database.read(SCOPE) as tx:
        ends = select(func.count()).select_from(EffectTrailRow).where(EffectTrailRow.step == "process")
        assert await count(tx, ends) == 1
