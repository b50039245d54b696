"""The reduced form of `make chaos`: a fixed seed, small rounds on one Steward, every kind of work at least once."""

from pathlib import Path

import pytest

from tests.chaos.kills import SUPERVISOR
from tests.chaos.kinds import KINDS
from tests.chaos.rounds import Chaos
from tests.chaos.setting_up import chaotic_steward
from tests.fake_model_server import FakeModelServer

SEED = 17
ROUNDS = 10
JOBS_PER_ROUND = 4


@pytest.mark.chaos
@pytest.mark.blackbox
@pytest.mark.timeout(1800)
async def test_nothing_is_lost_or_doubled_while_processes_are_killed(tmp_path: Path) -> None:
    """O17, I1 to I7, T10, D12, S9: every accepted request, task, delivery, effect and stop comes to its one end."""
    with FakeModelServer() as models:
        steward = chaotic_steward(tmp_path, models)
        chaos = Chaos(steward, models, SEED, JOBS_PER_ROUND)
        try:
            await steward.start()
            for _ in range(ROUNDS):
                await chaos.round()
                assert not chaos.total.breaches, f"seed {SEED}: {chaos.total.breaches}"
        finally:
            await steward.end()
    assert set(chaos.total.kinds) == set(KINDS), "every kind of work was done"
    assert chaos.total.kills.total() >= ROUNDS, "processes were killed"
    assert chaos.total.kills[SUPERVISOR], "the supervisor was killed"
    assert chaos.total.counts["continued"], "parked turns were continued"
    assert not steward.relatives(), "no process is left (H16)"
