"""Random reschedules of one automation while its processes are killed, in small: the benchmark judges (U1, U3-U5)."""

import pytest

from benchmarks import reschedules


@pytest.mark.timeout(600)
async def test_kills_between_reschedules_leave_one_schedule_and_every_firing_once() -> None:
    """U1, U3, U4, U5: SIGKILL of worker, host and Temporal, between a firing and its renewal and during reschedules."""
    found = await reschedules.measure(24, kill_every=6, seed=7)
    assert found.is_right, found
    assert found.kills.total() >= 2
    assert found.runs > 0
