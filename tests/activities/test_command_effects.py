"""Commands behind the gate, with real processes (E13, E15, E16, S6): done once, ended for certain, told as it was."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import select
from temporalio.testing import ActivityEnvironment

from adapters.confinement import Confinement
from store.tables_authority import ApprovalRow, EffectRow
from tests.activities.command_machine import CommandMachine, command_machine, stop
from tests.activities.conftest import Told
from tests.command_world import running
from tests.conftest import Eventually
from tests.effect_world import SCOPE, World, ref

HANGING = "(setsid sh -c 'trap \"\" TERM; touch began; sleep 300' >/dev/null 2>&1 &); trap '' TERM; sleep 300"


@pytest.fixture(params=[False, None], ids=["unconfined", "as-here"])
async def machine(world: World, told: Told, request: pytest.FixtureRequest) -> AsyncIterator[CommandMachine]:
    """A machine without bubblewrap, and one with what this one has."""
    async with command_machine(world, told, confined=request.param) as opened:
        yield opened


@pytest.fixture
async def plain(world: World, told: Told) -> AsyncIterator[CommandMachine]:
    """A machine without bubblewrap, for what does not depend on it."""
    async with command_machine(world, told, confined=False) as opened:
        yield opened


async def state_of_card(world: World, effect: EffectRow) -> str:
    async with world.database.read(SCOPE) as tx:
        query = select(ApprovalRow.state).where(ApprovalRow.effect_id == effect.effect_id)
        return (await tx.session.scalars(query)).one()


async def test_an_allowed_command_runs_once(machine: CommandMachine, world: World) -> None:
    """E12, E15: gate, start, run, outcome; what it says is the call's answer; a second dispatch does nothing."""
    effect = await machine.proposed(await world.turn(), "sh", "-c", "echo x >> ran; echo out; echo err >&2", stdin="in")
    assert not (world.folder / "ran").exists()
    assert await machine.done(effect) == {
        "ok": True, "exit_code": 0, "stdout": "out\n", "stdout_bytes": 4, "stderr": "err\n", "stderr_bytes": 4,
    }  # fmt: skip
    assert (await machine.dispatch(effect)).state == "succeeded"
    assert (world.folder / "ran").read_text() == "x\n"


async def test_an_exit_code_is_an_answer_not_a_failure(plain: CommandMachine, world: World) -> None:
    """E13: what was allowed has happened; how it ended is told."""
    effect = await plain.proposed(await world.task(), "sh", "-c", "exit 2")
    told = await plain.done(effect)
    assert (told["ok"], told["exit_code"]) == (False, 2)
    assert (await world.reread(effect)).state == "succeeded"


async def test_a_command_that_takes_too_long_is_ended(machine: CommandMachine, world: World) -> None:
    """E15: failed at its time limit, with what it had said until then, and nothing left of it."""
    effect = await machine.proposed(await world.turn(), "sh", "-c", f"echo first; {HANGING}", timeout_s=1)
    told = await machine.done(effect)
    assert (told["error"]["code"], told["stdout"]) == ("limit_exceeded", "first\n")
    assert (await world.reread(effect)).state == "failed"
    assert running(effect.effect_id) == []


@pytest.mark.parametrize("change", ["program", "link", "folder", "confinement", "state"])
async def test_what_changed_before_the_gate_voids_the_card(
    plain: CommandMachine, world: World, change: str
) -> None:
    """E3, E10: another program, folder or confinement than was decided on is not run."""
    (world.folder / "work").mkdir()
    script = world.folder / "work/script"
    script.write_text("#!/bin/sh\ntouch ran\n")
    script.chmod(0o755)
    (world.folder / "argument").write_text("x")
    effect = await plain.proposed(await world.turn(), "./script", "../argument", cwd="work")
    await world.decide(effect)
    if change == "program":
        script.write_text("#!/bin/sh\ntouch other\n")
    elif change == "link":
        script.rename(world.folder / "script")
        script.symlink_to("../script")
    elif change == "folder":
        (world.folder / "work").rename(world.folder / "elsewhere")
        (world.folder / "work").symlink_to("elsewhere")
    elif change == "state":
        (world.folder / "argument").unlink()
        (world.folder / "argument").symlink_to(world.state)
    else:
        files, home = plain.confinement.files, plain.confinement.home
        plain.effect._confinement = Confinement("/bin/true", None, files, home)
    status = await plain.carried.gate(ref(effect))
    assert status.state == "refused"
    expected = "protected_path" if change in ("folder", "state") else "approval_invalidated"
    assert (await world.reread(effect)).reason == expected
    assert await state_of_card(world, effect) == "invalidated"
    assert not [path for path in world.folder.rglob("*") if path.name in ("ran", "other")]


async def confined_proposal(plain: CommandMachine, world: World) -> EffectRow:
    """A command that was proposed and allowed where a stand-in confines, with network."""
    works = Confinement("/bin/true", None, plain.confinement.files, plain.confinement.home)
    plain.effect._confinement, plain.effect._network = works, True
    effect = await plain.proposed(await world.turn(), "sh", "-c", "touch ran")
    assert effect.action["permissions"] == {"network": True, "confined": True}
    await world.decide(effect)
    return effect


async def test_confinement_that_is_gone_is_not_made_up_for(plain: CommandMachine, world: World) -> None:
    """E16: what was allowed confined does not run otherwise."""
    effect = await confined_proposal(plain, world)
    plain.effect._confinement = plain.confinement
    assert (await plain.carried.gate(ref(effect))).state == "refused"
    assert (await world.reread(effect)).reason == "not_confined"


async def test_a_network_that_is_no_longer_permitted_voids_the_card(plain: CommandMachine, world: World) -> None:
    """E3, E16: no approval lifts what the policy says now."""
    effect = await confined_proposal(plain, world)
    plain.effect._network = False
    assert (await plain.carried.gate(ref(effect))).state == "refused"
    assert (await world.reread(effect)).reason == "approval_invalidated"


async def test_a_program_that_changed_after_the_claim_fails_the_effect(plain: CommandMachine, world: World) -> None:
    """E3: resolved and hashed again when it is done; nothing runs."""
    script = world.folder / "script"
    script.write_text("#!/bin/sh\ntouch ran\n")
    script.chmod(0o755)
    effect = await plain.proposed(await world.turn(), "./script")
    await plain.claim(effect)
    script.write_text("#!/bin/sh\ntouch other\n")
    assert (await plain.dispatch(effect)).state == "failed"
    assert (await world.result(effect))["error"]["code"] == "precondition_changed"
    assert not (world.folder / "ran").exists()
    assert not (world.folder / "other").exists()


@pytest.mark.parametrize("tampered", ["stdin", "environment"])
async def test_values_that_are_not_the_decided_ones_are_not_used(
    plain: CommandMachine, world: World, tampered: str
) -> None:
    """E2: the stored values must have the digests of the action."""
    effect = await plain.proposed(await world.turn(), "sh", "-c", "touch ran", stdin="a", env={"A": "1"})
    await plain.claim(effect)
    async with world.database.write(SCOPE) as tx:
        row = await tx.session.get_one(EffectRow, effect.effect_id)
        old, new = (b'"a"', b'"b"') if tampered == "stdin" else (b'"1"', b'"2"')
        row.content = (row.content or b"").replace(old, new)
    assert (await plain.dispatch(effect)).state == "failed"
    assert not (world.folder / "ran").exists()


@pytest.mark.parametrize("kind", ["task", "turn"])
async def test_a_stop_ends_a_hanging_command(
    machine: CommandMachine, world: World, eventually: Eventually, kind: str
) -> None:
    """S6, S11: the rows are enough; what ignores being asked is killed, sessions of its own included."""
    run = await (world.task() if kind == "task" else world.turn())
    effect = await machine.proposed(run, "sh", "-c", f"echo first; {HANGING}")
    await machine.claim(effect)
    dispatch = asyncio.create_task(machine.dispatch(effect))
    await eventually((world.folder / "began").exists, "the command runs")
    await machine.watch.look()
    assert not dispatch.done()
    await stop(world, run)
    await machine.watch.look()
    assert (await dispatch).state == "failed"
    told = await world.result(effect)
    assert told["error"]["code"] == ("task_stopping" if kind == "task" else "turn_stopped")
    assert told["stdout"] == "first\n"
    assert running(effect.effect_id) == []


async def test_a_cancelled_dispatch_ends_its_command_and_says_so(
    machine: CommandMachine, world: World, eventually: Eventually
) -> None:
    """H16, E13: whoever gives up waiting leaves nothing running, and the outcome is stored as it was."""
    effect = await machine.proposed(await world.task(), "sh", "-c", HANGING)
    await machine.claim(effect)
    dispatch = asyncio.create_task(machine.dispatch(effect))
    await eventually((world.folder / "began").exists, "the command runs")
    dispatch.cancel()
    assert (await dispatch).state == "failed"
    assert (await world.result(effect))["error"]["code"] == "runtime_restarted"
    assert running(effect.effect_id) == []


@pytest.mark.parametrize(
    ("point", "state", "code"),
    [
        ("claimed", "waiting_decision", None),
        ("started", "unknown", "effect_outcome_unknown"),
        ("running", "failed", "runtime_restarted"),
        ("ended", "succeeded", None),
        ("stored", "succeeded", None),
    ],
)
async def test_a_worker_killed_at_any_point_leaves_no_orphan_and_no_lie(
    machine: CommandMachine, world: World, repository: Path, eventually: Eventually, point: str, state: str,
    code: str | None,
) -> None:  # fmt: skip
    """E13, I4: the record of its end settles it, without a record it is unknown; it never runs twice."""
    script = f"echo x >> ran; {HANGING}" if point == "running" else "echo x >> ran; echo out"
    effect = await machine.proposed(await world.task(), "sh", "-c", script)
    await world.decide(effect)
    url = world.database.engine.url.render_as_string()
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.activities.command_victim", url, str(world.folder.parent), effect.effect_id, point,
        str(machine.confinement.works), cwd=repository,
    )  # fmt: skip
    assert await victim.wait() == 9
    await eventually(lambda: running(effect.effect_id) == [], "nothing of the command runs")
    for _ in range(2):
        assert (await ActivityEnvironment().run(machine.carried.reconcile, ref(effect))).state == state
    assert (await world.reread(effect)).reason == code
    ran = world.folder / "ran"
    assert (ran.read_text() if ran.exists() else "") == ("" if point in ("claimed", "started") else "x\n")
    if state == "succeeded":
        assert (await world.result(effect))["stdout"] == "out\n"


async def test_an_unknown_outcome_is_settled_when_its_record_is_found(plain: CommandMachine, world: World) -> None:
    """E13: a dispatcher that was given up too early is believed later, by the record, once; the record goes then."""
    effect = await plain.proposed(await world.task(), "sh", "-c", "exit 3")
    await plain.claim(effect)
    await plain.dispatch(effect)
    async with world.database.write(SCOPE) as tx:
        (await tx.session.get_one(EffectRow, effect.effect_id)).state = "unknown"
    await plain.watch.look()
    assert (await world.reread(effect)).state == "succeeded"
    assert plain.keeper.recorded_ends() == []
