"""(j) How late windows of news are announced (N3), and what a storm of events costs (N13).

The events are admitted by this process, each in a unit of work of its own and at its own moment, as their owners would:
one does not wait for the one before. Everything after that is the real Steward's: relay, Temporal, worker, and the
notice that a client reads.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from ulid import ULID

from benchmarks.instance import Instance, steward, until
from benchmarks.report import Table, median, ms, p99, progress
from benchmarks.rpc_client import Json, RpcClient
from contracts.names import attention_workflow
from domain.notification import message_at
from store import attention
from store.database import Database, Scope
from store.messages import append
from store.tables_attention import AgentProfileRow, AttentionGroupRow

SCOPE = Scope("local", "personal")
AGENTS = 100
WINDOW_S = 5
STORM = 10_000
COME_WITHIN_S, STORM_S = 55.0, 60.0
"""A little faster than the storm of N13, so that what is admitted within its minute was not just waited for."""
BAR_S = 1.0


async def run(rounds: int) -> AsyncIterator[Table]:
    """Open windows and wait for their ends, so many times; then let a storm loose."""
    async with steward() as instance, instance.client() as client:
        state = instance.home / "user-spaces" / "local" / "personal" / "state"
        database = Database(f"sqlite+aiosqlite:///{state / 'steward.sqlite'}")
        try:
            notices, agents = _Notices(client), await _agents(database)
            changes = {"expected_revision": 0, "changes": {"aggregation_s": WINDOW_S}}
            await client.call("agents.settings.update", changes, request_id=f"bench:{ULID()}")
            yield await _windows(client, database, notices, agents, rounds)
            yield await _after_storm(instance, client, database, notices, agents)
        finally:
            await database.close()


async def _windows(client: RpcClient, database: Database, notices: "_Notices", agents: list[str], rounds: int) -> Table:
    late: list[float] = []
    for number in range(rounds):
        progress(f"attention: round {number + 1} of {rounds}")
        for agent_id in agents:
            await _event(database, client.session_id, agent_id)
            await asyncio.sleep(WINDOW_S / AGENTS)
        late += await _lateness(database, notices, AGENTS * (number + 1))
    row = (f"{len(late)} windows of {WINDOW_S} s", ms(median(late)), ms(p99(late)), ms(max(late)), f"{BAR_S:.0f} s")
    notes = [
        f"{AGENTS} windows a round, one for each agent, opened evenly over {WINDOW_S} s; from the deadline in the row "
        "to the notice read by a client.",
    ]
    return Table("(j) News: how late windows are announced", ("of", "median", "p99", "largest", "bar"), [row], notes)


async def _after_storm(
    instance: Instance, client: RpcClient, database: Database, notices: "_Notices", agents: list[str]
) -> Table:
    before, told, closed = _memory(instance), len(notices.read), await _closed_groups(database)
    progress("attention: the storm")
    processor = _processor_s(instance)
    storm = await _storm(database, client.session_id, agents)
    spent = {name: after - processor[name] for name, after in _processor_s(instance).items()}
    windows = await _closed_groups(database) - closed
    events = [await _events(instance, agent_id) for agent_id in agents]
    rows = [
        (f"{STORM:,} events were admitted in", f"{storm.took_s:.1f} s", f"{STORM_S:.0f} s"),
        ("from an event's moment to its commit: median", ms(median(storm.late_s)), ""),
        ("the same: p99", ms(p99(storm.late_s)), ""),
        ("processor time of an admission", ms(storm.processor_s / STORM), ""),
        *((f"processor time of {name}, to the last notice", f"{spent_s:.1f} s", "") for name, spent_s in spent.items()),
        ("notices", f"{len(notices.read) - told}", f"{windows} windows"),
        ("most events in the newest history of an agent", f"{max(events)}", "500"),
        ("memory of host and worker grew by", f"{(_memory(instance) - before) / 1e6:.0f} MB", ""),
    ]
    notes = [
        f"Spread over {AGENTS} agents in turn, {STORM / COME_WITHIN_S:.0f} events a second, each in a unit of work of "
        "its own. Admitted means committed.",
        f"The last event comes after {COME_WITHIN_S:.0f} s, so it cannot take less.",
    ]
    return Table("(j) News: a storm", ("what", "measured", "bar"), rows, notes)


class _Notices:
    """When each group's notice was read, by the wall clock, which is the rows' too."""

    def __init__(self, client: RpcClient) -> None:
        self.read: dict[str, float] = {}
        self._ahead = time.time() - time.perf_counter()
        client.listeners.append(self._hear)

    def _hear(self, event: Json, moment: float) -> None:
        if event.get("topic") == "notification":
            self.read[event["group_id"]] = moment + self._ahead


async def _agents(database: Database) -> list[str]:
    ids = [f"agent_{number:03}" for number in range(AGENTS)]
    async with database.write(SCOPE) as tx:
        tx.session.add_all(
            AgentProfileRow(
                user_space=SCOPE.user_space, domain=SCOPE.domain, agent_id=agent_id, name=agent_id, instructions="",
                revision=1, created_at=tx.now, updated_at=tx.now,
            )
            for agent_id in ids
        )  # fmt: skip
    return ids


async def _event(database: Database, session_id: str, agent_id: str) -> None:
    async with database.write(SCOPE) as tx:
        message = await append(tx, session_id, role="assistant", origin="delivery", text="news")
        await attention.admit_event(tx, attention.Event(agent_id, message_at(session_id, message.seq)))


async def _lateness(database: Database, notices: _Notices, expected: int) -> list[float]:
    """Seconds from each new group's deadline to its notice."""

    async def all_read() -> bool:
        return len(notices.read) >= expected

    await until(all_read)
    deadlines = await _deadlines(database)
    newest = list(notices.read)[expected - AGENTS : expected]
    return [notices.read[group_id] - deadlines[group_id].timestamp() for group_id in newest]


async def _deadlines(database: Database) -> dict[str, datetime]:
    async with database.read(SCOPE) as tx:
        rows = await tx.session.execute(select(AttentionGroupRow.group_id, AttentionGroupRow.deadline))
        return {group_id: deadline for group_id, deadline in rows}


@dataclass(frozen=True, slots=True)
class _Storm:
    """Seconds from the first event to the last commit, from each event's own moment to its commit, and of this
    process's processor time.
    """

    took_s: float
    late_s: list[float]
    processor_s: float


async def _storm(database: Database, session_id: str, agents: list[str]) -> _Storm:
    """Let the events come, evenly, and wait until all are committed and all windows are announced."""
    late: list[float] = []

    async def admitted(agent_id: str, moment: float) -> None:
        await _event(database, session_id, agent_id)
        late.append(time.perf_counter() - moment)

    began, processor = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as events:
        for number in range(STORM):
            moment = began + number * COME_WITHIN_S / STORM
            await asyncio.sleep(moment - time.perf_counter())
            events.create_task(admitted(agents[number % AGENTS], moment))
    took, spent = time.perf_counter() - began, time.process_time() - processor

    async def settled() -> bool:
        async with database.read(SCOPE) as tx:
            left = await tx.session.scalar(select(func.count()).where(AttentionGroupRow.state != "sent"))
        return left == 0

    await until(settled)
    return _Storm(took, late, spent)


async def _closed_groups(database: Database) -> int:
    async with database.read(SCOPE) as tx:
        return await tx.session.scalar(select(func.count()).where(AttentionGroupRow.state == "sent")) or 0


async def _events(instance: Instance, agent_id: str) -> int:
    handle = instance.temporal.get_workflow_handle(attention_workflow(SCOPE.user_space, agent_id))
    return len((await handle.fetch_history()).events)


def _processor_s(instance: Instance) -> dict[str, float]:
    spent = {name: instance.process(name).cpu_times() for name in ("host", "worker", "temporal")}
    return {name: float(times.user + times.system) for name, times in spent.items()}


def _memory(instance: Instance) -> int:
    return sum(int(instance.process(name).memory_info().rss) for name in ("host", "worker"))
