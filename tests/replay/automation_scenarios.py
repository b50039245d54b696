"""Scenarios of automations (U4, U7): firings that run, wait, are left out, fail to renew, and take very long."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

from activities.schedule_sync import AutomationSchedules
from contracts import options
from contracts.names import automation_workflow
from domain.refusal import refuse
from store.tables_automations import AutomationRow, AutomationRunRow
from tests.automation_acts import triggered
from tests.automation_owner import edit, made
from tests.replay.scenario import MARKER, Recorded, Scenario, say, submit
from tests.replay.turn_scenarios import early_suggestion
from tests.workflows.rig import Rig
from tests.workflows.test_automation_workflow import plane_of, until_runs

NIGHTLY = {"cron": {"expression": "30 2 * * *"}, "timezone": "Europe/Berlin"}


async def _automation(rig: Rig, schedule: dict[str, Any], script: str, **choices: str) -> AutomationRow:
    row = await made(
        plane_of(rig), schedule, title=f"{MARKER} morning", instructions=f"{MARKER} {script}", **choices
    )  # fmt: skip
    rig.pulse.ring()
    return row


async def _ended(rig: Rig, row: AutomationRow, count: int) -> list[AutomationRunRow]:
    return await until_runs(
        rig, row.automation_id, lambda runs: len(runs) == count and all(run.ended_at is not None for run in runs)
    )  # fmt: skip


def _recorded(name: str, run: AutomationRunRow, *, first_run: bool = False) -> Recorded:
    return Recorded(f"automation/{name}", automation_workflow(run.automation_id, run.nominal_time), first_run=first_run)


async def fired_by_schedule(rig: Rig) -> Sequence[Recorded]:
    """Temporal's schedule fires once, and the task completes."""
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=4)
    row = await _automation(rig, {"once": {"at": at.isoformat()}}, submit())
    [run] = await _ended(rig, row, 1)
    return [_recorded("fired_by_schedule", run)]


async def buffered(rig: Rig) -> Sequence[Recorded]:
    """The owner fires three times by hand: one runs, one waits for it, one is left out."""
    row = await _automation(rig, NIGHTLY, f"[[delay:300]]{submit()}", overlap="buffer_one")
    for _ in range(3):
        await triggered(plane_of(rig), row.automation_id)
    rig.pulse.ring()
    first, second, _ = await _ended(rig, row, 3)
    return [_recorded("fired_by_hand", first), _recorded("buffered", second)]


async def paused_in_between(rig: Rig) -> Sequence[Recorded]:
    """The schedule's own workflow comes when the automation is paused already."""
    row = await _automation(rig, {"every": {"seconds": 2}}, f"[[hang:60]]{say('late')}", overlap="buffer_one")
    runs = await until_runs(rig, row.automation_id, lambda found: any(run.state == "skipped" for run in found))
    await edit(plane_of(rig), "delete", row.automation_id)
    left_out = next(run for run in runs if run.state == "skipped")
    waiting = next(run for run in runs if run.state == "buffered")
    return [_recorded("overlap", left_out), _recorded("left_waiting", waiting)]


async def not_renewed(rig: Rig) -> Sequence[Recorded]:
    """The schedule cannot be supplied; the firing goes on all the same, and its task fails."""
    row = await _automation(rig, NIGHTLY, "[[error:400 no]]")
    await triggered(plane_of(rig), row.automation_id)
    rig.pulse.ring()
    [run] = await _ended(rig, row, 1)
    return [_recorded("not_renewed", run)]


async def read_again_and_again(rig: Rig) -> Sequence[Recorded]:
    """A firing whose task takes long is read again and again, in more than one run."""
    row = await _automation(rig, NIGHTLY, f"[[delay:3000]]{submit()}")
    await triggered(plane_of(rig), row.automation_id)
    rig.pulse.ring()
    [run] = await _ended(rig, row, 1)
    return [_recorded("first_run", run, first_run=True), _recorded("later_run", run)]


@contextmanager
def _no_renewal() -> Iterator[None]:
    async def fail(*_arguments: object) -> str:
        raise refuse("not_found", "It cannot be reached.")

    with mock.patch.object(AutomationSchedules, "sync", fail):
        yield


@contextmanager
def _read_often() -> Iterator[None]:
    with mock.patch.object(options, "REREAD_AFTER", timedelta(milliseconds=200)), early_suggestion():
        yield


SCENARIOS = (
    Scenario(fired_by_schedule),
    Scenario(buffered),
    Scenario(paused_in_between),
    Scenario(not_renewed, around=_no_renewal),
    Scenario(read_again_and_again, around=_read_often),
)
