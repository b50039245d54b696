"""(a) Accepting `agents.send`: through /rpc and by itself, against a bare SQLite commit of the same rows (O16).

The rows are the same because the statements of real accepts are recorded and replayed on a copy of their database.
"""

import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import event
from ulid import ULID

from benchmarks.instance import steward
from benchmarks.report import Table, median, ms, p99, progress, times
from store import schema, spaces
from store.database import Database, Scope
from store.sends import Send, accept_send

SCOPE = Scope("local", "personal")
SENDS = 100
TEXT = "Please look at this when there is time. " * 5
Statement = tuple[str, Any]


async def run(rounds: int) -> Table:
    """Measure in rounds that alternate between the three."""
    bare: list[float] = []
    alone: list[float] = []
    wire: list[float] = []
    ratios_alone, ratios_wire, statements = [], [], 0
    async with steward("host", "/healthz") as instance, instance.client() as client:
        for number in range(rounds):
            progress(f"accept: round {number + 1} of {rounds}")
            with tempfile.TemporaryDirectory(prefix="steward-bench-") as folder:
                accepted, recorded = await _accepts(Path(folder))
                replayed = _replays(Path(folder), recorded)
                statements = len(recorded[0])
            called = []
            for _ in range(SENDS):
                start = time.perf_counter()
                await client.send(TEXT)
                called.append(time.perf_counter() - start)
            ratios_alone.append(median(accepted) / median(replayed))
            ratios_wire.append(median(called) / median(replayed))
            bare += replayed
            alone += accepted
            wire += called
    rows = [
        ("bare SQLite commit of the same rows", ms(median(bare)), ms(p99(bare)), "1"),
        ("`accept_send` alone", ms(median(alone)), ms(p99(alone)), times(ratios_alone)),
        ("`agents.send` through /rpc", ms(median(wire)), ms(p99(wire)), times(ratios_wire)),
    ]
    notes = [
        f"{rounds} rounds of {SENDS} sends each, one after the other; WAL, synchronous FULL; {statements} writing "
        "statements a send. The host runs without Temporal: what is accepted is not worked on meanwhile.",
    ]
    return Table("(a) Accepting an input", ("", "median", "p99", "ratio (spread of rounds)"), rows, notes)


async def _accepts(folder: Path) -> tuple[list[float], list[list[Statement]]]:
    """Time accepts on a fresh database; then record the statements of as many more, with the state before them."""
    path = folder / "accept.sqlite"
    database = Database(f"sqlite+aiosqlite:///{path}")
    await schema.prepare(database)
    async with database.write(SCOPE) as tx:
        session_id = (await spaces.open_space(tx, "bench")).main_session_id
    taken = []
    for _ in range(SENDS):
        start = time.perf_counter()
        await _accept(database, session_id)
        taken.append(time.perf_counter() - start)
    await database.close()
    shutil.copy(path, folder / "bare.sqlite")
    recorded: list[list[Statement]] = []
    with _recording(database, recorded):
        for _ in range(SENDS):
            recorded.append([])
            await _accept(database, session_id)
    await database.close()
    return taken, recorded


async def _accept(database: Database, session_id: str) -> None:
    async with database.write(SCOPE) as tx:
        await accept_send(tx, Send(session_id, f"bench:{ULID()}", TEXT), "owner")


@contextmanager
def _recording(database: Database, recorded: list[list[Statement]]) -> Iterator[None]:
    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        if not statement.lstrip().upper().startswith(("SELECT", "BEGIN", "PRAGMA")):
            recorded[-1].append((statement, parameters))

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    try:
        yield
    finally:
        event.remove(database.engine.sync_engine, "before_cursor_execute", note)


def _replays(folder: Path, recorded: list[list[Statement]]) -> list[float]:
    """Time the recorded statements as bare transactions."""
    connection = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")
    taken = []
    for transaction in recorded:
        start = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        for statement, parameters in transaction:
            connection.execute(statement, parameters)
        connection.execute("COMMIT")
        taken.append(time.perf_counter() - start)
    connection.close()
    return taken
