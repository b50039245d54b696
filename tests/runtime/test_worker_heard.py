"""A worker's sign of life: what keeps it from being stored does not end the worker (O10)."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from runtime import worker_process
from store import database as store_database
from store import workers
from store.database import Database, Scope
from tests.conftest import Eventually
from tests.prepared_file import put_prepared_file

SCOPE = Scope("local", "personal")


async def test_a_worker_outlives_a_database_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eventually: Eventually
) -> None:
    """O10: another process holds the write lock for longer than anybody waits; afterwards the worker is heard again."""
    monkeypatch.setattr(store_database, "BUSY_TIMEOUT_MS", 20)
    monkeypatch.setattr(worker_process, "HEARD_EVERY_S", 0.01)
    path = tmp_path / "steward.sqlite"
    await put_prepared_file(path)
    database, holder = Database(f"sqlite+aiosqlite:///{path}"), sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with capture_logs() as logs:
        beating = asyncio.create_task(worker_process.be_heard(database, SCOPE))
        await eventually(lambda: beating.done() or len(logs) > 1, "several beats are missed")
        holder.execute("ROLLBACK")

        async def heard() -> bool:
            async with database.read(SCOPE) as tx:
                return await workers.last_heard(tx) is not None

        await eventually(heard, "the worker is heard")
    assert not beating.done()
    beating.cancel()
    await asyncio.wait({beating})
    holder.close()
    await database.close()
    assert {(line["event"], line["error"]) for line in logs} == {("worker_unheard", "OperationalError")}
