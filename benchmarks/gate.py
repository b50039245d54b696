"""The whole gate of one effect against the same file write without it, and what it costs in SQL (E12, O16).

The effect is a task's, under a grant and an allow rule, so nobody is waited for. Activities are called in the order in
which the run and its `EffectWorkflow` call them, without Temporal: its share is that of any activity, see (b).
"""

import hashlib
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import event
from temporalio.testing import ActivityEnvironment

from activities.effects import FileEffectActivities
from activities.heartbeat import beating
from activities.hints import Hints
from activities.performers import Performers
from benchmarks.report import Table, median, ms, p99, progress, times
from contracts.run import RunPoint
from domain.action import FileAction
from domain.effect import EffectKind, EffectState
from domain.rule import RuleMode
from domain.run import RunRef
from store import rules
from store.database import Database
from store.rules import Write
from store.schema import prepare
from store.tables_authority import EffectRow
from tests.effect_world import SCOPE, World, open_world, ref

EFFECTS = 50
GATED, BARE = "gated.txt", "bare.txt"
CONTENT = "A line of a file that is written whole. " * 25


@dataclass(frozen=True, slots=True)
class Taken:
    """What was measured, one entry for each effect, in seconds by the clock and of this process."""

    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    @contextmanager
    def clock(self) -> Iterator[None]:
        """Measure a block."""
        start, used = time.perf_counter(), time.process_time()
        yield
        self.seconds.append(time.perf_counter() - start)
        self.processor.append(time.process_time() - used)

    def cells(self) -> tuple[str, str, str]:
        """Median and tail by the clock, and the mean of processor time."""
        return ms(median(self.seconds)), ms(p99(self.seconds)), ms(sum(self.processor) / len(self.processor))


class _Untold(Hints):
    """Nobody waits here, so nobody is told."""

    def __init__(self) -> None:
        """Without a client."""

    async def tell(self, workflow_id: str, signal: str, *arguments: Any) -> None:
        """Say nothing."""


@dataclass(frozen=True, slots=True)
class GatePath:
    """The two ways that are compared, from one call of a model each."""

    world: World
    carried: FileEffectActivities
    performers: Performers
    run: RunRef

    async def gated(self, point: RunPoint, counted: Counter[str] | None = None) -> EffectRow:
        """From the proposal to the outcome; `counted` gets the transactions of each part."""
        await self._part(counted, "proposal", self.world.proposals.propose, point)
        effect = await self.world.effect(self.run, point.step)
        assert effect is not None
        reference = ref(effect)
        await self._part(counted, "status", self.carried.status, reference)
        await self._part(counted, "gate", self.carried.gate, reference)
        await self._part(counted, "dispatch", self.carried.dispatch, reference)
        await self._part(counted, "report", self.carried.report, reference)
        return effect

    async def bare(self, effect: EffectRow) -> None:
        """The dispatch without start and outcome."""
        async with beating():
            await self.performers.perform(effect)

    async def _part(self, counted: Counter[str] | None, name: str, work: Any, argument: Any) -> None:
        if counted is None:
            await ActivityEnvironment().run(work, argument)
            return
        with transactions(self.world.database) as found:
            await ActivityEnvironment().run(work, argument)
        counted.update({f"{name}: {kind}": number for kind, number in found.items()})

    async def call(self, number: int) -> RunPoint:
        """A call of the model that asks for the write; it is there before the clock runs."""
        wanted = ("write_file", {"path": GATED, "content": _content(number)})
        [point] = await self.world.step(self.run, wanted, number=number)
        return point

    def bare_effect(self, number: int) -> EffectRow:
        """The same write of another file, as a row that no database knows."""
        found = self.world.files.inspect(BARE)
        content = _content(number).encode()
        action = FileAction.writing(
            str(found.absolute_path), found.state, content_sha256=hashlib.sha256(content).hexdigest(),
            content_size=len(content), created_parents=(),
        )  # fmt: skip
        return EffectRow(kind=EffectKind.FILE.value, action=action.fields(), content=content)


async def run(rounds: int) -> Table:
    """Measure in rounds that alternate between the two, effect by effect."""
    gated, bare = Taken(), Taken()
    ratios, used, counted = [], [], Counter[str]()
    with tempfile.TemporaryDirectory(prefix="steward-bench-") as folder:
        path = await opened(Path(folder))
        for number in range(rounds):
            progress(f"gate: round {number + 1} of {rounds}")
            for at in range(EFFECTS):
                await _one(path, number * EFFECTS + at + 2, gated, bare)
            ratios.append(median(gated.seconds[-EFFECTS:]) / median(bare.seconds[-EFFECTS:]))
            used.append(sum(gated.processor[-EFFECTS:]) / sum(bare.processor[-EFFECTS:]))
        await path.gated(await path.call(rounds * EFFECTS + 2), counted)
        await path.world.database.close()
    rows = [
        ("the write alone", *bare.cells(), "1", "1"),
        ("proposal, claim, start, write, outcome, report", *gated.cells(), times(ratios), times(used)),
    ]
    columns = ("", "median", "p99", "processor time", "ratio of medians (spread of rounds)", "of processor time")
    return Table("The gate around one file effect", columns, rows, _notes(counted, rounds))


def _notes(counted: Counter[str], rounds: int) -> list[str]:
    writing = sum(number for (_, kind), number in _named(counted) if kind == "writing")
    parts = ", ".join(f"{part} {number} {kind}" for (part, kind), number in _named(counted))
    return [
        f"{rounds} rounds of {EFFECTS} effects each; WAL, synchronous FULL; no Temporal between the parts.",
        f"SQL transactions of one effect: {writing} that write (the claim is in the first, with the proposal), "
        f"{sum(counted.values())} with those that only read: {parts}.",
    ]


def _named(counted: Counter[str]) -> list[tuple[tuple[str, str], int]]:
    return [((name.partition(": ")[0], name.partition(": ")[2]), number) for name, number in counted.items()]


async def opened(folder: Path) -> GatePath:
    """A world with a task under a grant, and an allow rule saved from its first card."""
    database = Database(f"sqlite+aiosqlite:///{folder}/steward.sqlite")
    await prepare(database)
    world = await open_world(database, folder / "home")
    carried = FileEffectActivities(world.database, world.performer, world.locks, _Untold(), world.limits)
    path = GatePath(world, carried, Performers(world.performer), await world.task())
    first = await world.proposed(path.run, path=GATED, content="first")
    card = await world.card(first)
    assert card is not None
    async with world.database.write(SCOPE) as tx:
        write = Write(world.request_id(), "owner", str(world.folder))
        scope = await rules.preview(tx, card.approval_id, str(world.folder))
        await rules.save(tx, card.approval_id, scope["scope_digest"], RuleMode.ALLOW, write)
    await world.decide(first)
    await carried.gate(ref(first))
    await ActivityEnvironment().run(carried.dispatch, ref(first))
    return path


async def _one(path: GatePath, number: int, gated: Taken, bare: Taken) -> None:
    point, effect = await path.call(number), path.bare_effect(number)
    with bare.clock():
        await ActivityEnvironment().run(path.bare, effect)
    with gated.clock():
        done = await path.gated(point)
    assert (await path.world.reread(done)).state == EffectState.SUCCEEDED
    assert (path.world.folder / GATED).read_text() == (path.world.folder / BARE).read_text()


def _content(number: int) -> str:
    return f"{CONTENT}{number}\n"


@contextmanager
def transactions(database: Database) -> Iterator[Counter[str]]:
    """Count transactions that begin meanwhile: `writing` and `reading`."""
    counted = Counter[str]()

    def begun(connection: Any) -> None:
        writing = connection.get_execution_options().get("steward_write", False)
        counted["writing" if writing else "reading"] += 1

    event.listen(database.engine.sync_engine, "begin", begun)
    try:
        yield counted
    finally:
        event.remove(database.engine.sync_engine, "begin", begun)
