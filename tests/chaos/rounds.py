"""Rounds of chaos on one Steward: a load, kills, rest, checks; what was counted, and which promises were broken.

A seed decides the mix of the work, its pace and the moments of the kills; the machine decides the rest.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Iterator
from dataclasses import dataclass, field
from random import Random

import pytest

from tests.blackbox.instance import Instance
from tests.blackbox.rpc_client import RpcClient
from tests.chaos import checks
from tests.chaos.checks_effects import check_unknown
from tests.chaos.checks_order import all_told, check_order
from tests.chaos.checks_own import check_own
from tests.chaos.job import Job
from tests.chaos.jobs import Kind
from tests.chaos.kills import planned, strike
from tests.chaos.kinds import KINDS, OF_THE_CONVERSATION
from tests.chaos.ledger import Breach, Ledger
from tests.chaos.line import Line, Stuck
from tests.chaos.people import People
from tests.chaos.watch import Watch
from tests.chaos.world import World
from tests.fake_model_server import FakeModelServer

ACTS_PER_JOB = 2
MOST_TASKS_PER_JOB = 2
BEGINS_WITHIN_S = 3.0


@dataclass
class Outcome:
    """What one round, or all of them together, came to."""

    counts: Counter[str] = field(default_factory=Counter)
    kills: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    breaches: list[tuple[Breach, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, other: "Outcome") -> None:
        """Add another round."""
        self.counts.update(other.counts)
        self.kills.update(other.kills)
        self.kinds.update(other.kinds)
        self.breaches += other.breaches
        self.seconds += other.seconds

    def breached(self, kind: Breach) -> int:
        """How many promises were broken in this way."""
        return sum(each == kind for each, _ in self.breaches)


@dataclass
class Chaos:
    """A series of rounds."""

    steward: Instance
    models: FakeModelServer
    seed: int
    jobs_per_round: int
    total: Outcome = field(default_factory=Outcome)
    _number: int = 0
    _base: int = 0
    _earlier: checks.Rested = field(default_factory=checks.Rested)
    _bag: Iterator[tuple[str, Kind]] = field(init=False)

    def __post_init__(self) -> None:
        """Every kind comes before any comes again."""
        self._bag = _shuffled_for_ever(Random(self.seed))

    async def round(self) -> Outcome:
        """Run one round and return what it came to."""
        self._number += 1
        random = Random(f"{self.seed}:{self._number}")
        ledger, outcome, began = Ledger(), Outcome(), time.monotonic()
        self.models.reset()
        watch = Watch(ledger, MOST_TASKS_PER_JOB * self.jobs_per_round)
        line = Line(self.steward, watch.hear)
        session_id = await line.ask(_main_session)
        world = World(self.steward, line, watch, self.models, random, ledger, session_id)
        drawn = [next(self._bag) for _ in range(self.jobs_per_round)]
        outcome.kinds.update(name for name, _ in drawn)
        looking = [asyncio.create_task(watch.run(line)), asyncio.create_task(People(world).run())]
        try:
            await self._load(world, drawn)
            await self._check(world)
        except (Stuck, pytest.fail.Exception) as error:
            ledger.breach("lost", str(error)[:2000])
        finally:
            for task in looking:
                task.cancel()
            ended = await asyncio.gather(*looking, return_exceptions=True)
            await line.close()
        for end in ended:
            if isinstance(end, Exception):
                raise end
        outcome.counts.update(ledger.counts)
        outcome.kills.update(world.kills)
        outcome.counts["accepted"] += len(ledger.accepted)
        outcome.breaches = [(kind, f"round {self._number}: {what}") for kind, what in ledger.breaches]
        outcome.seconds = time.monotonic() - began
        self.total.add(outcome)
        return outcome

    async def _load(self, world: World, drawn: list[tuple[str, Kind]]) -> None:
        blows = planned(world.random, ACTS_PER_JOB * len(drawn))
        killers = [asyncio.create_task(strike(world, blow)) for blow in blows]
        running = []
        for number, (name, kind) in enumerate(drawn):
            tag = f"r{self._number}-j{number:02}-{name.replace('_', '-')}"
            job = Job(tag, titles=[] if name in OF_THE_CONVERSATION else [tag])
            world.jobs.append(job)
            running.append(_carried_out(world, job, kind))
        await asyncio.gather(*running)
        # Fewer acts than expected: a blow that still waits for its turn falls now.
        world.load_is_over = True
        world.acted.set()
        await asyncio.gather(*killers)

    async def _check(self, world: World) -> None:
        await self.steward.until(self.steward.is_ready, "all processes are back")
        await checks.rest(world)
        await checks.check_requests(world)
        await checks.check_surroundings(world)
        self._base, messages = await checks.check_messages(world, self._base)
        details = await checks.check_jobs(world, messages)
        own = await check_own(world, messages)
        await check_unknown(world, own + [effect for detail in details for effect in detail["effects"]])
        check_order(world.ledger, all_told(world, messages, details))
        await checks.check_earlier(world, self._earlier)
        self._earlier = checks.rested(world, details)


async def _carried_out(world: World, job: Job, kind: Kind) -> None:
    await world.pause(BEGINS_WITHIN_S)
    work: Awaitable[None] = kind(world, job)
    try:
        await work
    except Stuck as stuck:
        world.ledger.breach("lost", f"{job.tag}: {stuck}")


async def _main_session(client: RpcClient) -> str:
    return str(client.server["main_session_id"])


def _shuffled_for_ever(random: Random) -> Iterator[tuple[str, Kind]]:
    kinds = list(KINDS.items())
    while True:
        random.shuffle(kinds)
        yield from kinds
