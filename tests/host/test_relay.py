"""The outbox relay against a real Temporal server: started by name, in order, bounded, through outages (C2, T18)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode
from temporalio.testing import WorkflowEnvironment
from ulid import ULID

from contracts import names
from domain.delivery import DeliveryEvent, DeliveryKind
from domain.refusal import refuse
from host.pulse import Pulse
from host.relay import Relay
from host.temporal_link import TemporalLink
from runtime.settings import Settings
from store import deliveries, outbox, schema
from store.commit_watch import CommitWatch
from store.database import Database, Scope
from store.delivery_retries import retry_delivery
from store.relay_queue import BUSY, candidates
from store.sends import Send, accept_send
from store.spaces import open_space
from store.tables_host import OutboxRow
from store.tables_work import TaskRow
from store.tasks import NewTask, accept_task
from tests.conftest import Eventually


async def begin_nothing(_client: Client) -> None:
    """No turn is begun by these relays: what they tell Temporal is what is looked at."""


async def sync_nothing(_client: Client, _automation_id: str) -> None:
    """There are no automations here."""


class NoLink:
    """A link without a server: the outbox is empty, so nothing is asked of it."""

    async def client(self) -> None:
        return None


@dataclass
class Plane:
    """A control plane of one user space that nobody else has."""

    database: Database
    scope: Scope
    session_id: str

    async def send(self, request_id: str) -> str:
        async with self.database.write(self.scope) as tx:
            return str((await accept_send(tx, Send(self.session_id, request_id, "x"), "owner")).turn_id)

    async def task(self, request_id: str) -> str:
        async with self.database.write(self.scope) as tx:
            return (await accept_task(tx, NewTask("t", "do", request_id), "owner"))[1].task_id

    async def waiting(self) -> int:
        async with self.database.read(self.scope) as tx:
            return (await outbox.depth(tx))[0]

    def relay(self, settings: Settings, max_open_tasks: int = 64) -> Relay:
        async def never() -> Client:
            raise refuse("orchestrator_unavailable", "Not here.")

        return Relay(
            self.database,
            self.scope,
            Pulse(),
            TemporalLink(settings, never),
            max_open_tasks,
            begin_nothing,
            sync_nothing,
        )


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[Plane]:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / 'relay.sqlite'}")
    await schema.prepare(database)
    scope = Scope(f"relay-{str(ULID()).lower()}", "personal")
    async with database.write(scope) as tx:
        session_id = (await open_space(tx, "[]")).main_session_id
    yield Plane(database, scope, session_id)
    await database.close()


@pytest.fixture
def settings(host_settings: Callable[..., Settings], tmp_path: Path) -> Settings:
    return host_settings(tmp_path)


class FlakyClient:
    """A real client behind an outage: starts fail while `status_of` says so."""

    def __init__(self, client: Client, status_of: Callable[[str], RPCStatusCode | None]) -> None:
        self._client = client
        self._status_of = status_of
        self.started: list[str] = []
        self.signals: list[str | None] = []

    @property
    def as_client(self) -> Client:
        return cast("Client", self)

    async def start_workflow(self, workflow: str, argument: object, **options: Any) -> object:
        status = self._status_of(options["id"])
        if status is not None:
            raise RPCError("simulated", status, b"")
        self.started.append(options["id"])
        self.signals.append(options.get("start_signal"))
        return await self._client.start_workflow(workflow, argument, **options)

    def get_workflow_handle(self, workflow_id: str) -> object:
        return self._client.get_workflow_handle(workflow_id)


async def test_a_send_wakes_the_conversation_once(
    temporal_env: WorkflowEnvironment, plane: Plane, settings: Settings
) -> None:
    """C1, C2, O9: many inputs, one running workflow under the fixed id; repeating is harmless."""
    for number in range(5):
        await plane.send(f"wake:{number}")
    relay = plane.relay(settings)
    assert await relay.relay_due(temporal_env.client) == (True, True)
    assert await relay.relay_due(temporal_env.client) == (False, True)
    handle = temporal_env.client.get_workflow_handle(
        names.conversation_workflow(plane.scope.user_space, plane.scope.domain)
    )
    found = await handle.describe()
    assert (found.workflow_type, found.task_queue) == ("ConversationWorkflow", names.SHARED_QUEUE)
    assert found.status is WorkflowExecutionStatus.RUNNING
    events = [event.event_type for event in (await handle.fetch_history()).events]
    assert len(events) <= 3, "five inputs are one start and one signal"
    await plane.send("wake:again")
    assert await relay.relay_due(temporal_env.client) == (True, True)
    assert (await handle.describe()).run_id == found.run_id
    await handle.terminate()


async def test_tasks_start_within_their_bound(
    temporal_env: WorkflowEnvironment, plane: Plane, settings: Settings
) -> None:
    """T18, C2: at most so many open tasks, oldest first; the rest waits in SQL until one ends or waits."""
    tasks = [await plane.task(f"bound:{number}") for number in range(5)]
    client = FlakyClient(temporal_env.client, lambda _: None)
    relay = plane.relay(settings, max_open_tasks=2)
    assert await relay.relay_due(client.as_client) == (True, True)
    assert client.started == [names.task_workflow(task) for task in tasks[:2]]
    assert await relay.relay_due(client.as_client) == (False, True)
    assert await plane.waiting() == 3
    assert "accepted" in BUSY
    for state, started in (("waiting_approval", 3), ("completed", 4)):
        async with plane.database.write(plane.scope) as tx:
            row = await tx.session.get(TaskRow, tasks[started - 3])
            assert row is not None
            row.state = state
        assert await relay.relay_due(client.as_client) == (True, True)
        assert client.started == [names.task_workflow(task) for task in tasks[:started]]
    for task in tasks[:4]:
        await temporal_env.client.get_workflow_handle(names.task_workflow(task)).terminate()


async def test_an_outage_loses_nothing_and_counts_against_nobody(
    temporal_env: WorkflowEnvironment, plane: Plane, settings: Settings
) -> None:
    """C2: while Temporal is down nothing is marked or put off; afterwards everything goes, in order."""
    turn = await plane.send("outage:1")
    task = await plane.task("outage:2")
    down = FlakyClient(temporal_env.client, lambda _: RPCStatusCode.UNAVAILABLE)
    relay = plane.relay(settings)
    assert await relay.relay_due(down.as_client) == (True, False)
    async with plane.database.read(plane.scope) as tx:
        assert [entry.tries for entry in await outbox.due(tx, 10)] == [0, 0]
        row = await tx.session.get(TaskRow, task)
        assert row is not None
        assert row.admitted_at is None
    up = FlakyClient(temporal_env.client, lambda _: None)
    assert await relay.relay_due(up.as_client) == (True, True)
    assert up.started == [
        names.conversation_workflow(plane.scope.user_space, plane.scope.domain),
        names.task_workflow(task),
    ]
    assert turn
    for workflow_id in up.started:
        await temporal_env.client.get_workflow_handle(workflow_id).terminate()


async def test_a_poisoned_entry_holds_up_nobody_else(
    temporal_env: WorkflowEnvironment, plane: Plane, settings: Settings
) -> None:
    """C2: what Temporal does not take is put off alone, longer each time; a kind nobody knows too."""
    poisoned, healthy = await plane.task("poison:1"), await plane.task("poison:2")
    async with plane.database.write(plane.scope) as tx:
        outbox.post(tx, "kind.of.the.future", "subject_1")
    bad = names.task_workflow(poisoned)
    client = FlakyClient(
        temporal_env.client, lambda workflow_id: RPCStatusCode.INVALID_ARGUMENT if workflow_id == bad else None
    )
    relay = plane.relay(settings)
    assert await relay.relay_due(client.as_client) == (True, True)
    assert client.started == [names.task_workflow(healthy)]
    assert await plane.waiting() == 2
    async with plane.database.write(plane.scope) as tx:
        outbox.post(tx, outbox.TURN_STOP, poisoned)
    async with plane.database.read(plane.scope) as tx:
        assert await candidates(tx, 10, 64) == [], "what is later about a put-off subject waits for it"
        rows = [await tx.session.get(OutboxRow, entry_id) for entry_id in (1, 3)]
        assert [row.tries for row in rows if row is not None] == [1, 1]
        assert all(row.due_at > tx.now for row in rows if row is not None)
    await temporal_env.client.get_workflow_handle(names.task_workflow(healthy)).terminate()


async def test_a_retry_reaches_a_delivery_whose_workflow_is_about_to_close(
    temporal_env: WorkflowEnvironment, plane: Plane, settings: Settings
) -> None:
    """D11, T18: a first start needs no signal; a later one has it, so a run that has read the failure reads again."""
    task = await plane.task("retry:1")
    client, relay = FlakyClient(temporal_env.client, lambda _: None), plane.relay(settings)
    async with plane.database.write(plane.scope) as tx:
        delivery = await deliveries.open_delivery(
            tx, DeliveryKind.RESULT, task_id=task, requirement_version=1, attempt=1, subject_id=""
        )
        delivery_id = delivery.delivery_id
    assert await relay.relay_due(client.as_client) == (True, True)
    async with plane.database.write(plane.scope) as tx:
        delivery = await deliveries.submit(tx, delivery_id)
        deliveries.settle(tx, delivery, DeliveryEvent.FAIL, reason="turn_stopped")
        await retry_delivery(tx, delivery_id, "retry:2", "owner")
    assert await relay.relay_due(client.as_client) == (True, True)
    name = names.delivery_workflow(delivery_id)
    told = [signal for started, signal in zip(client.started, client.signals, strict=True) if started == name]
    assert told == [None, "settled"]
    for workflow_id in set(client.started):
        await temporal_env.client.get_workflow_handle(workflow_id).terminate()


async def test_signals_to_workflows_that_are_not_there_are_done(
    temporal_env: WorkflowEnvironment, plane: Plane, settings: Settings
) -> None:
    """S8, E18: such a workflow reads SQL when it begins; the entry must not be tried for ever."""
    async with plane.database.write(plane.scope) as tx:
        outbox.post(tx, outbox.TURN_STOP, "turn_gone")
        outbox.post(tx, outbox.EFFECT_DECIDED, "effect_gone")
    assert await plane.relay(settings).relay_due(temporal_env.client) == (True, True)
    assert await plane.waiting() == 0


async def test_the_running_relay_hears_of_commits_by_others(
    temporal_env: WorkflowEnvironment, plane: Plane, settings: Settings, eventually: Eventually
) -> None:
    """C2: another process's commit is relayed without anybody ringing."""

    async def connect() -> Client:
        return temporal_env.client

    pulse, link = Pulse(), TemporalLink(settings, connect)
    relay = Relay(plane.database, plane.scope, pulse, link, 64, begin_nothing, sync_nothing)
    other = Database(str(plane.database.engine.url))
    parts = [asyncio.create_task(part) for part in (pulse.run(CommitWatch(plane.database)), relay.run(), link.run())]
    try:
        await eventually(link.answers, "the link is up")
        async with other.write(plane.scope) as tx:
            await accept_send(tx, Send(plane.session_id, "other:1", "x"), "owner")

        async def empty() -> bool:
            return await plane.waiting() == 0

        await eventually(empty, "the entry is relayed")
    finally:
        for part in parts:
            part.cancel()
        await asyncio.gather(*parts, return_exceptions=True)
        await other.close()
    name = names.conversation_workflow(plane.scope.user_space, plane.scope.domain)
    await temporal_env.client.get_workflow_handle(name).terminate()


@pytest.mark.parametrize("loop_turns", range(6))
async def test_a_cancelled_relay_ends_even_if_it_is_woken_meanwhile(
    plane: Plane, eventually: Eventually, loop_turns: int
) -> None:
    """H16: the end of a relay is never swallowed by a wake that arrives at the same moment."""
    pulse = Pulse()
    relay = Relay(plane.database, plane.scope, pulse, cast(TemporalLink, NoLink()), 64, begin_nothing, sync_nothing)
    running = asyncio.create_task(relay.run())
    await eventually(lambda: not any(event.is_set() for event in pulse._followers), "the relay waits")
    await asyncio.sleep(0.05)
    pulse.ring()
    for _ in range(loop_turns):
        await asyncio.sleep(0)
    running.cancel()
    done, _pending = await asyncio.wait([running], timeout=5)
    assert done == {running}


async def test_a_commit_that_is_told_at_once_is_not_told_again(plane: Plane, eventually: Eventually) -> None:
    """H13, C2: the poller wakes followers for commits that nobody told of, and for no other."""
    pulse, watch = Pulse(), CommitWatch(plane.database)
    follower = pulse.follow()
    polling = asyncio.create_task(pulse.run(watch))
    await asyncio.sleep(0)
    await plane.send("told")
    pulse.ring()
    assert not watch.changed()
    follower.clear()
    await plane.send("untold")
    await eventually(follower.is_set, "the poller sees the commit")
    polling.cancel()
    with suppress(asyncio.CancelledError):
        await polling
