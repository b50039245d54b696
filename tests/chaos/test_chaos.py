"""The reduced form of `make chaos`: fixed seeds, twenty small rounds, every kind of work at least once.

Four Stewards have five rounds each at the same time, because most of a round is waiting: for processes that start
again, and for the time after which a dead one is noticed.
"""

import asyncio
from pathlib import Path

import pytest

from tests.chaos.kills import SUPERVISOR
from tests.chaos.kinds import KINDS
from tests.chaos.rounds import Chaos, Outcome
from tests.chaos.setting_up import chaotic_steward
from tests.fake_model_server import FakeModelServer

SEEDS = (1, 11, 12, 17)
"""Together their rounds hold every kind of work, and kills of each process, of two at once and during the start."""
ROUNDS = 20
JOBS_PER_ROUND = 2


@pytest.mark.chaos
@pytest.mark.blackbox
@pytest.mark.timeout(1800)
async def test_nothing_is_lost_or_doubled_while_processes_are_killed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """O17, I1 to I7, T10, D12, S9: every accepted request, task, delivery, effect and stop comes to its one end."""
    folders = [tmp_path_factory.mktemp(f"seed-{seed}-") for seed in SEEDS]
    series = (_rounds(*each, ROUNDS // len(SEEDS)) for each in zip(folders, SEEDS, strict=True))
    outcomes = await asyncio.gather(*series)
    total = Outcome()
    for outcome in outcomes:
        total.add(outcome)
    assert set(total.kinds) == set(KINDS), "every kind of work was done"
    assert total.kills.total() >= ROUNDS, "processes were killed"
    assert total.kills[SUPERVISOR], "the supervisor was killed"
    assert total.counts["continued"], "parked turns were continued"


async def _rounds(folder: Path, seed: int, rounds: int) -> Outcome:
    with FakeModelServer() as models:
        steward = chaotic_steward(folder, models)
        chaos = Chaos(steward, models, seed, JOBS_PER_ROUND)
        try:
            await steward.start()
            for _ in range(rounds):
                await chaos.round()
                assert not chaos.total.breaches, f"seed {seed}: {chaos.total.breaches}"
        finally:
            await steward.end()
    assert not steward.relatives(), "no process is left (H16)"
    return chaos.total
