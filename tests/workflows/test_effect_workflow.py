"""EffectWorkflow in the real sandbox on a real server, over a real database and files folder (E18)."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHandle
from temporalio.testing import WorkflowEnvironment
from temporalio.worker import Worker

from activities.effects import FileEffectActivities
from activities.file_effect import FileEffect
from activities.hints import Hints
from contracts.names import files_queue
from contracts.search_attributes import EFFECT, STATE
from contracts.starting import effect_start
from domain.approval import ApprovalEvent
from store import effects
from store.effect_ends import Outcome
from store.gate import GateLimits
from store.tables_authority import EffectRow
from tests.conftest import Eventually
from tests.effect_world import LIMITS, SCOPE, World, ref
from tests.worlds import Worlds
from workflows.effect import EffectWorkflow

Serving = Callable[[FileEffectActivities], AbstractAsyncContextManager[None]]
Handle = WorkflowHandle[Any, str]


@pytest.fixture
async def world(sqlite_worlds: Worlds, tmp_path: Path) -> AsyncIterator[World]:
    """A world on SQLite."""
    async with sqlite_worlds.open(tmp_path / "home") as opened:
        yield opened


@pytest.fixture
def carried(world: World, temporal_env: WorkflowEnvironment) -> FileEffectActivities:
    """The real activities."""
    hints = Hints(temporal_env.client)
    return FileEffectActivities(world.database, world.performer, world.locks, hints, world.limits)


@pytest.fixture
def serving(temporal_env: WorkflowEnvironment, task_queue: str) -> Serving:
    """Serves the workflow and its activities, as one machine does."""

    @asynccontextmanager
    async def serve(carried: FileEffectActivities) -> AsyncIterator[None]:
        local = [carried.status, carried.expire, carried.report]
        files = [carried.gate, carried.dispatch, carried.reconcile]
        queue = files_queue(SCOPE.user_space, SCOPE.domain)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(
                Worker(temporal_env.client, task_queue=task_queue, workflows=[EffectWorkflow], activities=local)
            )
            await stack.enter_async_context(Worker(temporal_env.client, task_queue=queue, activities=files))
            yield

    return serve


async def started(env: WorkflowEnvironment, task_queue: str, effect: EffectRow) -> Handle:
    """Start the effect's workflow as its run does."""
    start = effect_start(ref(effect))
    return await env.client.start_workflow(
        start.workflow,
        start.argument,
        id=start.workflow_id,
        task_queue=task_queue,
        search_attributes=start.search_attributes,
        static_summary=start.summary,
        result_type=str,
    )


async def waits(handle: Handle, eventually: Eventually) -> None:
    """Until the workflow has read the pending card."""

    async def pending() -> bool:
        said: dict[str, str | None] = await handle.query("state")
        return said == {"state": "waiting_decision", "decision": "pending"}

    await eventually(pending, "the workflow waits for the decision")


@pytest.mark.parametrize(("event", "state"), [(ApprovalEvent.ALLOW_ONCE, "succeeded"), (ApprovalEvent.DENY, "refused")])
async def test_a_decision_ends_the_wait(
    world: World,
    temporal_env: WorkflowEnvironment,
    task_queue: str,
    carried: FileEffectActivities,
    serving: Serving,
    eventually: Eventually,
    event: ApprovalEvent,
    state: str,
) -> None:
    """E18, I9: id, attributes and states in Temporal; neither path nor content nor words."""
    effect = await world.proposed(await world.task(), path="planted.txt", content="planted")
    async with serving(carried):
        handle = await started(temporal_env, task_queue, effect)
        await waits(handle, eventually)
        await world.decide(effect, event)
        await handle.signal("decided")
        assert await handle.result() == state
    assert handle.id == f"effect:{effect.effect_id}"
    assert (world.folder / "planted.txt").exists() == (state == "succeeded")
    described = await handle.describe()
    assert described.typed_search_attributes[EFFECT] == state
    assert described.typed_search_attributes[STATE] == "ended"
    history = await handle.fetch_history()
    assert not [event for event in history.events if b"planted" in event.SerializeToString()]


async def test_a_card_decided_before_the_workflow_started_needs_no_signal(
    world: World, temporal_env: WorkflowEnvironment, task_queue: str, carried: FileEffectActivities, serving: Serving
) -> None:
    """E18: the rows are the truth; the signal is only a hint."""
    effect = await world.proposed(await world.task())
    await world.decide(effect)
    async with serving(carried):
        handle = await started(temporal_env, task_queue, effect)
        assert await handle.result() == "succeeded"
        # Started again for an effect that has ended (a continuation does it), it only tells the run.
        handle = await started(temporal_env, task_queue, effect)
        assert await handle.result() == "succeeded"


async def test_nobody_decides_in_time(
    world: World, temporal_env: WorkflowEnvironment, task_queue: str, serving: Serving
) -> None:
    """E11: the workflow keeps the expiry of a hidden task's card."""
    world.limits = GateLimits(card_expiry_s=1.0, claim_fresh_s=10.0)
    effect = await world.proposed(await world.task())
    carried = FileEffectActivities(
        world.database, world.performer, world.locks, Hints(temporal_env.client), world.limits
    )
    async with serving(carried):
        handle = await started(temporal_env, task_queue, effect)
        assert await handle.result() == "refused"
    assert (await world.reread(effect)).reason == "approval_expired"


async def test_a_withdrawn_effect_lets_its_workflow_go(
    world: World,
    temporal_env: WorkflowEnvironment,
    task_queue: str,
    carried: FileEffectActivities,
    serving: Serving,
    eventually: Eventually,
) -> None:
    """S8: the stop withdraws the row, the relay's signal wakes the workflow."""
    run = await world.turn()
    effect = await world.proposed(run)
    async with serving(carried):
        handle = await started(temporal_env, task_queue, effect)
        await waits(handle, eventually)
        async with world.database.write(SCOPE) as tx:
            assert await effects.withdraw_run(tx, run.run_id)
        await handle.signal("decided")
        assert await handle.result() == "withdrawn"


async def test_a_claim_that_was_too_old_goes_through_the_gate_again(
    world: World, temporal_env: WorkflowEnvironment, task_queue: str, serving: Serving, eventually: Eventually
) -> None:
    """E12: nothing has happened, the approval stays, and the next round does it."""

    class Impatient(FileEffectActivities):
        """Finds every claim too old until it is told otherwise."""

        def limit(self, claim_fresh_s: float) -> None:
            self._limits = GateLimits(card_expiry_s=1800.0, claim_fresh_s=claim_fresh_s)

    carried = Impatient(world.database, world.performer, world.locks, Hints(temporal_env.client), LIMITS)
    carried.limit(-1.0)
    effect = await world.proposed(await world.task())
    await world.decide(effect)

    async def withdrawn() -> bool:
        trail = await world.trail(effect)
        return ("claim", "withdrawn") in trail

    async with serving(carried):
        handle = await started(temporal_env, task_queue, effect)
        await eventually(withdrawn, "the stale claim was withdrawn")
        assert list(world.folder.iterdir()) == []
        carried.limit(10.0)
        assert await handle.result() == "succeeded"
    assert [step for step, _ in await world.trail(effect)].count("decision") == 2


class Crashing(FileEffect):
    """Does the effect, then fails in a way that says nothing about it."""

    def perform(self, fields: dict[str, Any], content: bytes) -> Outcome:
        super().perform(fields, content)
        raise RuntimeError("boom")


async def test_a_dispatch_without_an_answer_is_reconciled_not_repeated(
    world: World, temporal_env: WorkflowEnvironment, task_queue: str, serving: Serving
) -> None:
    """E13, I4: one attempt; what became of it is observed."""
    crashing = Crashing(world.files)
    carried = FileEffectActivities(world.database, crashing, world.locks, Hints(temporal_env.client), LIMITS)
    effect = await world.proposed(await world.task())
    await world.decide(effect)
    async with serving(carried):
        handle = await started(temporal_env, task_queue, effect)
        assert await handle.result() == "succeeded"
    dispatches = [
        event
        async for event in handle.fetch_history_events()
        if event.activity_task_scheduled_event_attributes.activity_type.name == "effect.dispatch"
    ]
    assert len(dispatches) == 1
