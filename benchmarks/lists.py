"""First pages at a million tasks and messages against the same at a thousand (T15, H13, T16): do lists stay flat?

Both databases are served by a host each, and asked alternately, so that whatever else the machine does hits both.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.grown import OWNER, grow
from benchmarks.instance import steward
from benchmarks.report import Table, median, ms, p99, progress, times
from benchmarks.rpc_client import RpcClient
from store import views
from store.database import Database, Transaction
from store.spaces import space_of

FEW, MANY = 1_000, 1_000_000
CALLS = 40
WARM_UP = 5
PAGE = 50
BAR = "2"

Read = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """One read: as a client asks for it, and as the store answers it."""

    method: str
    params: Mapping[str, Any]
    store: Callable[[Transaction, str], Awaitable[object]]
    words: str = "first page"


def _tasks(state: str | None = None) -> Callable[[Transaction, str], Awaitable[object]]:
    return lambda tx, _session_id: views.task_page(tx, {"state": state}, PAGE, None)


READS = (
    Wanted("agents.tasks.list", {}, _tasks()),
    Wanted("agents.tasks.list", {"state": "failed"}, _tasks("failed"), "first page, failed only"),
    Wanted("agents.history", {}, lambda tx, session_id: views.message_views(tx, session_id, None, None, PAGE)),
    Wanted(
        "agents.history",
        {"before_seq": FEW // 2},
        lambda tx, session_id: views.message_views(tx, session_id, FEW // 2, None, PAGE),
        "an early page",
    ),
    Wanted("agents.activity", {}, lambda tx, _session_id: views.activity_view(tx), "all of it"),
)


async def run(rounds: int, many: int = MANY) -> Table:
    """Generate both databases, serve both, ask both."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="steward-bench-")))
        sides = [await _side(stack, folder / f"{count}.sqlite", count) for count in (FEW, many)]
        rows = []
        for wanted in READS:
            progress(f"lists: {wanted.method}, {wanted.words}")
            rows.append(await _row(wanted, "store", rounds, [side.stored(wanted) for side in sides]))
            rows.append(await _row(wanted, "/rpc", rounds, [side.asked(wanted) for side in sides]))
        starts = [side.start_s for side in sides]
        started = (f"{start:.1f} s" for start in starts)
    rows.append(("start of the host, to `/healthz`", "", *started, times([starts[1] / starts[0]]), ""))
    columns = ("read", "by", f"{FEW:,}", f"{many:,}", "ratio (spread of rounds)", "bar")
    notes = [
        f"Medians of {rounds} rounds of {CALLS} reads, alternating between the databases. Beside the owner's rows each "
        "has two other user spaces with a twentieth of them.",
        f"The database with {many:,} has a file of {sides[1].size / 1e9:.1f} GB.",
    ]
    return Table(f"(e) Lists at {many:,} tasks and messages", columns, rows, notes)


@dataclass(frozen=True, slots=True)
class _Side:
    """One database: opened here for the store's reads, and served by a host of its own for a client's."""

    database: Database
    client: RpcClient
    session_id: str
    start_s: float
    size: int

    def stored(self, wanted: Wanted) -> Read:
        async def read() -> object:
            async with self.database.read(OWNER) as tx:
                return await wanted.store(tx, self.session_id)

        return read

    def asked(self, wanted: Wanted) -> Read:
        of_session = {"session_id": self.session_id} if wanted.method == "agents.history" else {}
        return lambda: self.client.call(wanted.method, {**wanted.params, **of_session})


async def _side(stack: AsyncExitStack, path: Path, count: int) -> _Side:
    progress(f"lists: generating {count:,} tasks and messages")
    await grow(path, count)
    url = f"sqlite+aiosqlite:///{path}"
    start = time.perf_counter()
    instance = await stack.enter_async_context(steward("host", "/healthz", database_url=url))
    taken = time.perf_counter() - start
    client = await stack.enter_async_context(instance.client())
    database = Database(url)
    stack.push_async_callback(database.close)
    async with database.read(OWNER) as tx:
        session_id = (await space_of(tx)).main_session_id
    return _Side(database, client, session_id, taken, await asyncio.to_thread(lambda: path.stat().st_size))


async def _row(wanted: Wanted, by: str, rounds: int, reads: list[Read]) -> tuple[str, ...]:
    for read in reads:
        for _ in range(WARM_UP):
            await read()
    few: list[float] = []
    many: list[float] = []
    ratios = []
    for _ in range(rounds):
        taken: tuple[list[float], list[float]] = ([], [])
        for _ in range(CALLS):
            for read, of_side in zip(reads, taken, strict=True):
                of_side.append(await _seconds(read))
        few, many = few + taken[0], many + taken[1]
        ratios.append(median(taken[1]) / median(taken[0]))
    return (
        f"`{wanted.method}`, {wanted.words}", by, f"{ms(median(few))} (p99 {ms(p99(few))})",
        f"{ms(median(many))} (p99 {ms(p99(many))})", times(ratios), BAR,
    )  # fmt: skip


async def _seconds(read: Read) -> float:
    start = time.perf_counter()
    await read()
    return time.perf_counter() - start
