"""Processes stand in line for SQLite's write lock (decision 0014): nobody is passed over, and nobody depends on it."""

import asyncio
from pathlib import Path

from sqlalchemy import text

from store.database import Database, Scope
from store.schema import prepare
from store.shared_commit import MOST
from store.write_line import WriteLine
from tests.conftest import Eventually

SCOPE = Scope("local", "personal")
OUTBOX = (
    "INSERT INTO outbox (user_space, domain, kind, subject_id, created_at, due_at, tries) "
    "VALUES ('local', 'personal', 'test', :subject, '2026-01-01', '2026-01-01', 0)"
)
BUSY, TURNS = "busy", 20


class Lock:
    """A write lock that somebody holds."""

    def __init__(self) -> None:
        self.free = False
        self.asked: list[str] = []

    def taken_by(self, name: str) -> bool:
        self.asked.append(name)
        taken, self.free = self.free, False
        return taken


async def test_who_comes_later_does_not_ask_before_who_is_in_front(tmp_path: Path, eventually: Eventually) -> None:
    """Decision 0014: the second asks for the lock only when the first has it."""
    lock, lines = Lock(), [WriteLine(str(tmp_path / "db"), 60.0) for _ in range(2)]
    first = asyncio.create_task(lines[0].stand(lambda: lock.taken_by("first")))
    await asyncio.sleep(0)
    second = asyncio.create_task(lines[1].stand(lambda: lock.taken_by("second")))
    await eventually(lambda: len(lock.asked) >= 5, "whoever is in front asks again")
    assert set(lock.asked) == {"first"}
    lock.free = True
    await first
    await eventually(lambda: "second" in lock.asked, "the next one asks")
    lock.free = True
    await second
    for line in lines:
        line.close()


async def test_a_cancel_gives_the_front_away(tmp_path: Path) -> None:
    """Decision 0014: also to another process, by the file's lock."""
    lock, lines = Lock(), [WriteLine(str(tmp_path / "db"), 60.0) for _ in range(2)]
    first = asyncio.create_task(lines[0].stand(lambda: lock.taken_by("first")))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait([first])
    lock.free = True
    await lines[1].stand(lambda: lock.taken_by("second"))
    assert lock.asked == ["first", "second"]
    for line in lines:
        line.close()


async def test_without_a_file_everybody_is_in_front(tmp_path: Path) -> None:
    """Decision 0014: the line is a courtesy; so is its end, after which SQLite's own wait begins."""
    lock, lines = Lock(), [WriteLine(str(tmp_path / "missing" / "db"), 0.0), WriteLine(None, 0.0)]
    for line in lines:
        await line.stand(lambda: lock.taken_by("anybody"))
    assert lock.asked == ["anybody", "anybody"]


async def test_who_writes_all_the_time_passes_nobody_over(tmp_path: Path) -> None:
    """N13, decision 0014: there is a bounded number of others between a wish of another one and its commit."""
    url = f"sqlite+aiosqlite:///{tmp_path}/steward.sqlite"
    busy, other = Database(url), Database(url)
    await prepare(busy)

    async def write(database: Database, subject: str) -> None:
        async with database.write(SCOPE) as tx:
            await tx.session.execute(text(OUTBOX), {"subject": subject})

    async def write_for_ever() -> None:
        while True:
            await write(busy, BUSY)

    writers = [asyncio.create_task(write_for_ever()) for _ in range(2 * MOST)]
    done: list[int] = []
    for turn in range(TURNS):
        async with busy.read(SCOPE) as tx:
            before = await tx.session.scalar(text("SELECT coalesce(max(entry_id), 0) FROM outbox")) or 0
        await write(other, f"other {turn}")
        async with busy.read(SCOPE) as tx:
            query = text(
                "SELECT count(*) FROM outbox WHERE entry_id < (SELECT entry_id FROM outbox WHERE subject_id = :s)"
            )
            done.append((await tx.session.scalar(query, {"s": f"other {turn}"}) or 0) - before)
    for writer in writers:
        writer.cancel()
    await asyncio.wait(writers)
    await busy.close()
    await other.close()
    assert max(done) <= 4 * MOST
