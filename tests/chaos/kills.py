"""SIGKILL at seeded moments: one process, two at once, one again while it starts, or the supervisor with them all.

The hard thing is the supervisor: it is this harness that starts it again, at once, while its children are still dying.
"""

import asyncio
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

import psutil
import pytest

from tests.blackbox.instance import PROCESSES, Instance
from tests.chaos.ledger import Ledger
from tests.chaos.world import World

SUPERVISOR = "steward up"
MOST_LATER_S = 2.5
SOON_S = 0.8
BUSY_AFTER = (
    "agents.approvals.decide",
    "agents.approvals.decide",
    "agents.tasks.stop",
    "agents.tasks.resume",
    "agents.tasks.retry_delivery",
    "user-question/respond",
    "agents.stop_turn",
)
"""A decision twice: between claim and outcome of an effect is where most can go wrong (E13)."""
MOST_INTO_START_S = 4.0
COMES_BACK_S = 60.0
STARTS_AGAIN = 3


@dataclass(frozen=True)
class Blow:
    """After so many acts and some seconds these processes die, the first perhaps again while it starts."""

    method: str | None
    """Only acts of this method count: those after which much happens at once. None counts all."""
    after_acts: int
    later_s: float
    processes: tuple[str, ...]
    again_after_s: float | None


def planned(random: Random, acts: int) -> list[Blow]:
    """One or two blows of a round with about so many acts; at most one of them falls on the supervisor."""
    blows = [_blow(random, acts) for _ in range(random.choice((1, 1, 2)))]
    if random.random() < 0.2:
        blows[0] = Blow(blows[0].method, blows[0].after_acts, blows[0].later_s, (SUPERVISOR,), blows[0].again_after_s)
    return blows


def _blow(random: Random, acts: int) -> Blow:
    processes = tuple(random.sample(PROCESSES, random.choice((1, 1, 2))))
    again = random.uniform(0, MOST_INTO_START_S) if random.random() < 0.25 else None
    if random.random() < 0.5:
        return Blow(random.choice(BUSY_AFTER), 1, random.uniform(0, SOON_S), processes, again)
    return Blow(None, random.randint(1, max(1, acts)), random.uniform(0, MOST_LATER_S), processes, again)


async def strike(world: World, blow: Blow) -> None:
    """Wait for the moment, then kill."""
    while _counted(world, blow) < blow.after_acts and not world.load_is_over:
        await world.acted.wait()
        world.acted.clear()
    await asyncio.sleep(blow.later_s)
    if SUPERVISOR in blow.processes:
        await kill_supervisor(world, blow.again_after_s)
        return
    pids = [kill(world.steward, process) for process in blow.processes]
    world.kills.update(process for process, pid in zip(blow.processes, pids, strict=True) if pid is not None)
    if blow.again_after_s is None:
        return
    again = blow.processes[0]
    for _ in range(int(COMES_BACK_S / 0.1)):
        if world.steward.pid(again) not in (None, pids[0]):
            await asyncio.sleep(blow.again_after_s)
            if kill(world.steward, again) is not None:
                world.kills[again] += 1
                world.kills["while starting"] += 1
            return
        await asyncio.sleep(0.1)


def _counted(world: World, blow: Blow) -> int:
    return world.acts.total() if blow.method is None else world.acts[blow.method]


async def kill_supervisor(world: World, again_after_s: float | None) -> None:
    """Kill `steward up` and start it again at once, perhaps killing that one too while it starts (O22, H16).

    Whatever it had started must be gone when the next one is ready, or something runs twice.
    """
    steward = world.steward
    family = await _kill_with_family(world)
    for _ in range(STARTS_AGAIN):
        starting = asyncio.create_task(steward.start())
        if again_after_s is not None:
            await asyncio.wait({starting}, timeout=again_after_s)
            killed = await _kill_with_family(world) if not starting.done() else []
            world.kills["while starting"] += bool(killed)
            family += killed
            again_after_s = None
        try:
            await starting
            break
        except pytest.fail.Exception as error:
            code = None if steward.process is None else steward.process.returncode
            was_killed = code == -signal.SIGKILL
            world.ledger.expect(was_killed, "broken", f"`steward up` does not start after a kill: {str(error)[-800:]}")
    check_gone(world.ledger, family)


async def _kill_with_family(world: World) -> list[psutil.Process]:
    """Kill the supervisor; all processes of its Steward from before and after. None when there was none to kill."""
    steward = world.steward
    if steward.process is None or steward.process.returncode is not None:
        return []
    family = steward.relatives()
    steward.process.kill()
    await steward.process.wait()
    world.kills[SUPERVISOR] += 1
    return family + steward.relatives()


def check_gone(ledger: Ledger, family: Iterable[psutil.Process]) -> None:
    """H16: of the processes of a killed supervisor none is left."""
    # A process is known by its pid and its start time, so a pid that is used again is not mistaken for it.
    left = [named(process) for process in set(family) if lives(process)]
    ledger.expect(not left, "orphan", f"of a killed `steward up` are left: {left}")


def lives(process: psutil.Process) -> bool:
    """Whether a process runs; one that is dead and was not taken notice of by its parent does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def named(process: psutil.Process) -> str:
    """How a process is named in a breach."""
    try:
        return " ".join(process.cmdline()[:4])
    except psutil.Error:
        return str(process.pid)


def kill(steward: Instance, process: str) -> int | None:
    """Kill one process of a Steward now; None when it is not there at this moment."""
    pid = steward.pid(process)
    if pid is None or not is_of(steward, pid):
        return None
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return None
    return pid


def is_of(steward: Instance, pid: int) -> bool:
    """Whether a pid is (still) a living process of this Steward, and not a number that is used again."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        home = str(steward.home)
        return process.environ().get("STEWARD_HOME") == home or any(home in part for part in process.cmdline())
    except psutil.Error:
        return False
