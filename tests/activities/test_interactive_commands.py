"""Commands that wait for input (E15): each input an effect, and no process outlives its run, a stop or half an hour."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from domain.command_action import process_of
from domain.process_end import IDLE_LIMIT_S
from domain.run import RunRef
from store import stop_progress, tasks, turn_ends
from store.processes import open_processes
from store.stops import accept_stop
from store.tables_authority import EffectRow
from tests.activities.command_machine import CommandMachine, Seconds, command_machine, stop
from tests.activities.conftest import Told
from tests.command_world import running
from tests.conftest import Eventually
from tests.effect_world import SCOPE, World, ref

ECHO = 'while read -r line; do echo "<$line>"; done'


@pytest.fixture
def seconds() -> Seconds:
    """The keeper's clock."""
    return Seconds()


@pytest.fixture(params=[False, None], ids=["unconfined", "as-here"])
async def machine(
    world: World, told: Told, seconds: Seconds, request: pytest.FixtureRequest
) -> AsyncIterator[CommandMachine]:
    """A machine without bubblewrap, and one with what this one has."""
    async with command_machine(world, told, confined=request.param, clock=seconds) as opened:
        yield opened


@pytest.fixture
async def plain(world: World, told: Told, seconds: Seconds) -> AsyncIterator[CommandMachine]:
    """A machine without bubblewrap, for what does not depend on it."""
    async with command_machine(world, told, confined=False, clock=seconds) as opened:
        yield opened


async def interactive(machine: CommandMachine, run: RunRef, script: str = ECHO) -> tuple[EffectRow, dict[str, Any]]:
    """A command that waits for input, started; what the model was told."""
    effect = await machine.proposed(run, "sh", "-c", script, interactive=True)
    return effect, await machine.done(effect)


async def test_each_input_is_an_effect_of_its_own(machine: CommandMachine, world: World) -> None:
    """E15: started it has succeeded; each input has its card and returns what was said since the last one."""
    run = await world.task()
    effect, started = await interactive(machine, run, f"echo ready; {ECHO}")
    process_id = process_of(effect.effect_id)
    assert (started["ok"], started["process_id"], started["running"]) == (True, process_id, True)
    assert started["stdout"] == "ready\n"
    assert (await world.reread(effect)).state == "succeeded"
    for number, text in ((2, "one\n"), (3, "two\n")):
        typed = await machine.called(run, "process_input", number, process_id=process_id, text=text)
        assert typed.words["en"].startswith(f"Send “{text.strip()}⟦U+000A⟧” to the running command “sh -c ")
        assert typed.state == "waiting_decision"
        told = await machine.done(typed)
        assert (told["running"], told["stdout"]) == (True, f"<{text.strip()}>\n")


async def test_an_interactive_command_that_ends_at_once_is_told_with_its_exit(
    plain: CommandMachine, world: World
) -> None:
    """E15: there is no process to wait for then."""
    effect, told = await interactive(plain, await world.task(), "echo no; exit 5")
    assert (told["ok"], told["exit_code"], told["stdout"]) == (False, 5, "no\n")
    await plain.watch.look()
    assert plain.keeper.all() == []
    async with world.database.read(SCOPE) as tx:
        assert [row.effect_id for row in await open_processes(tx)] in ([], [effect.effect_id])


async def test_only_the_run_that_started_it_may_type(plain: CommandMachine, world: World) -> None:
    """E15: another run's process is not found, nor is one that has ended since its card."""
    run = await world.task()
    effect, _ = await interactive(plain, run)
    process_id = process_of(effect.effect_id)
    error = await plain.refused(await world.turn(), "process_input", process_id=process_id, text="x")
    assert error["code"] == "not_found"
    typed = await plain.called(run, "process_input", 2, process_id=process_id, text="x\n")
    await world.decide(typed)
    await plain.keeper.close()
    assert (await plain.carried.gate(ref(typed))).state == "refused"
    assert (await world.reread(typed)).reason == "not_found"


async def test_text_that_is_not_the_decided_one_is_not_sent(plain: CommandMachine, world: World) -> None:
    """E2: the stored text must have the digest of the action."""
    run = await world.task()
    effect, _ = await interactive(plain, run)
    typed = await plain.called(run, "process_input", 2, process_id=process_of(effect.effect_id), text="x\n")
    await plain.claim(typed)
    async with world.database.write(SCOPE) as tx:
        (await tx.session.get_one(EffectRow, typed.effect_id)).content = b"y\n"
    assert (await plain.dispatch(typed)).state == "failed"
    assert (await world.result(typed))["error"]["code"] == "precondition_changed"


async def end_run(world: World, run: RunRef) -> None:
    """The run ends by itself."""
    async with world.database.write(SCOPE) as tx:
        if run.task_id is None:
            await turn_ends.complete(tx, run)
        else:
            await tasks.succeed(tx, run, "done", [])


@pytest.mark.parametrize("end", ["task ends", "turn ends", "task stopped", "turn stopped", "idle"])
async def test_a_process_does_not_outlive_its_run_nor_half_an_hour(
    machine: CommandMachine, world: World, seconds: Seconds, eventually: Eventually, end: str
) -> None:
    """E15, S6: ended with its run, at a stop, or after 30 minutes without input; the trail says so."""
    run = await (world.turn() if end.startswith("turn") else world.task())
    effect, _ = await interactive(machine, run, f"(setsid sleep 300 &); {ECHO}")
    seconds.now += IDLE_LIMIT_S - 1
    await machine.watch.look()
    assert running(effect.effect_id) != []
    if end.endswith("ends"):
        await end_run(world, run)
    elif end.endswith("stopped"):
        await stop(world, run)
    else:
        seconds.now += 1

    async def ended() -> bool:
        await machine.watch.look()
        async with world.database.read(SCOPE) as tx:
            return await open_processes(tx) == []

    await eventually(ended, "the end of the process is stored")
    assert running(effect.effect_id) == []
    assert ("process", "ended") in await world.trail(effect)
    assert (machine.keeper.all(), machine.keeper.recorded_ends()) == ([], [])


async def test_input_starts_the_half_hour_anew(plain: CommandMachine, world: World, seconds: Seconds) -> None:
    """E15: 30 minutes without input, not since the start."""
    run = await world.task()
    effect, _ = await interactive(plain, run)
    seconds.now += IDLE_LIMIT_S - 1
    typed = await plain.called(run, "process_input", 2, process_id=process_of(effect.effect_id), text="x\n")
    await plain.done(typed)
    seconds.now += IDLE_LIMIT_S - 1
    await plain.watch.look()
    assert running(effect.effect_id) != []


async def test_a_stop_waits_until_the_process_has_ended(
    plain: CommandMachine, world: World, told: Told, eventually: Eventually
) -> None:
    """I6: a stop is not done while what it covers runs, and is told when it does no more."""
    run = await world.task()
    effect, _ = await interactive(plain, run)
    async with world.database.write(SCOPE) as tx:
        _, intent = await accept_stop(tx, run.task_id or "", world.request_id(), "owner")
        await stop_progress.stop_attempt(tx, run)
        row, remaining, _ = await stop_progress.reconcile(tx, intent.intent_id)
        assert (row.state, remaining.effects) == ("reconciling", [effect.effect_id])

    async def hinted() -> bool:
        await plain.watch.look()
        return (f"stop:{intent.intent_id}", "look", ()) in told.hints

    await eventually(hinted, "the stop is told")
    assert running(effect.effect_id) == []
    async with world.database.write(SCOPE) as tx:
        row, remaining, _ = await stop_progress.reconcile(tx, intent.intent_id)
        assert (row.state, row.outcome, remaining.effects) == ("done", "stopped", [])


async def test_what_a_killed_worker_kept_is_ended_by_the_next(world: World, told: Told, repository: Path) -> None:
    """E15, I6: at its start a supervisor finds what the last one kept, ends it, and says so in the trail."""
    async with command_machine(world, told) as first:
        effect, _ = await interactive(first, await world.task())
        async with command_machine(world, told) as second:
            await second.watch.recover()
            assert ("process", "ended") not in await world.trail(effect)
    # Its keeper is gone, and nobody has looked since.
    assert running(effect.effect_id) == []
    async with command_machine(world, told) as following:
        await following.watch.recover()
        assert ("process", "ended") in await world.trail(effect)
