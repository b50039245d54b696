"""Commands on their whole path inside tasks and turns (E15, E16, S6): allowed, run, stopped, kept for input."""

import json
from pathlib import Path
from typing import Any

from adapters.confinement import find_confinement
from domain.command_action import process_of
from store.stops import accept_stop
from store.turn_stops import stop_turn
from tests.command_world import running
from tests.conftest import Eventually
from tests.workflows.rig import Rig, steward

SUBMIT = '[[then]][[tool:submit_result {"summary":"done"}]]'


def run(*argv: str, **given: Any) -> str:
    """The directive that makes a model run a command."""
    return f"[[tool:run_command {json.dumps({'argv': argv, **given})}]]"


def delegate(script: str) -> str:
    """The directive that hands a scripted task over."""
    given = json.dumps({"title": "Run", "instructions": script})
    return f"[[tool:delegate_task {given}]][[then]][[say:in hand]]"


async def test_a_tasks_command_runs_after_a_person_allowed_it(rig: Rig) -> None:
    """E9, E15, E16: the card says what runs where and whether it is confined; its output is the call's result."""
    (rig.parts.files.root / "notes").mkdir()
    await rig.send(delegate(run("sh", "-c", "pwd > here; echo said; exit 3", cwd="notes") + SUBMIT))
    card = await rig.card(kind="command")
    works = find_confinement(rig.parts.files.root, rig.parts.settings.home).works
    assert card["confined"] is works
    assert card["words"].startswith("Run “sh -c 'pwd > here; echo said; exit 3'” in “notes/” – ")
    assert card["words"].endswith("confined, no network." if works else "not confined, with network.")
    assert not (rig.parts.files.root / "notes/here").exists()
    await rig.decide(card, "allow_once")
    await rig.until_message(origin="delivery")
    assert (rig.parts.files.root / "notes/here").read_text().strip() == str(rig.parts.files.root / "notes")
    assert (await rig.effect(card["effect_id"]))["state"] == "succeeded"
    assert await rig.told(card["effect_id"]) == {
        "ok": False, "exit_code": 3, "stdout": "said\n", "stdout_bytes": 5, "stderr": "", "stderr_bytes": 0,
    }  # fmt: skip


HANGING = ("sh", "-c", "(setsid sleep 300 >/dev/null 2>&1 &); touch began; trap '' TERM; sleep 300")


async def test_a_stopped_task_ends_its_hanging_command_and_then_is_stopped(rig: Rig, eventually: Eventually) -> None:
    """S1, S6, I6: the stop ends the running command, waits for its outcome, and is done when nothing runs."""
    await rig.send(delegate(run(*HANGING) + SUBMIT))
    card = await rig.card(kind="command")
    await rig.decide(card, "allow_once")
    await eventually((rig.parts.files.root / "began").exists, "the command runs")
    assert running(card["effect_id"]) != []
    async with rig.parts.database.write(rig.scope) as tx:
        await accept_stop(tx, card["task_id"], "test:stop", "owner")
    rig.pulse.ring()
    await rig.until_task(card["task_id"], "stopped")
    assert running(card["effect_id"]) == []
    effect = await rig.effect(card["effect_id"])
    assert (effect["state"], effect["reason"]) == ("failed", "task_stopping")


async def test_a_stopped_reply_ends_its_hanging_command(rig: Rig, eventually: Eventually) -> None:
    """S8, S11: stop_turn ends a command of the conversation's own."""
    receipt = await rig.send("[[say:let me run]]" + run(*HANGING) + "[[then]][[say:ran]]")
    card = await rig.card(turn_id=receipt.turn_id)
    await rig.decide(card, "allow_once")
    await eventually((rig.parts.files.root / "began").exists, "the command runs")
    async with rig.parts.database.write(rig.scope) as tx:
        await stop_turn(tx, rig.session_id, receipt.turn_id or "", "test:stop", "owner")
    rig.pulse.ring()
    message = await rig.until_message(role="assistant", turn_id=receipt.turn_id)
    assert (message["text"], message.get("interrupted")) == ("let me run", True)
    assert running(card["effect_id"]) == []
    assert (await rig.effect(card["effect_id"]))["reason"] == "turn_stopped"


async def test_a_command_that_waits_for_input_ends_with_its_reply(rig: Rig, eventually: Eventually) -> None:
    """E15: started, typed into under a card of its own, and killed when the turn that started it has ended."""
    started = run("sh", "-c", 'while read -r line; do echo "<$line>"; done', interactive=True)
    receipt = await rig.send(started + "[[then]][[hang:3]]")
    card = await rig.card(turn_id=receipt.turn_id)
    await rig.decide(card, "allow_once")

    async def waits() -> bool:
        return bool((await rig.effect(card["effect_id"]))["state"] == "succeeded")

    await eventually(waits, "the command was started")
    assert (await rig.told(card["effect_id"]))["process_id"] == process_of(card["effect_id"])
    await rig.until_message(role="assistant", turn_id=receipt.turn_id)

    async def ended() -> bool:
        trail = (await rig.effect(card["effect_id"]))["trail"]
        return any(entry["step"] == "process" for entry in trail)

    await eventually(ended, "the process has ended with the turn")
    assert running(card["effect_id"]) == []


async def test_nothing_of_a_command_is_in_histories(rig: Rig) -> None:
    """I9: neither argv, environment, input nor output gets into Temporal."""
    receipt = await rig.send(
        run("sh", "-c", "echo planted-output; cat", env={"A": "planted-value"}, stdin="planted-input")
        + "[[then]][[say:ran]]"
    )
    card = await rig.card(turn_id=receipt.turn_id)
    await rig.decide(card, "allow_once")
    await rig.until_message(role="assistant", turn_id=receipt.turn_id)
    assert (await rig.told(card["effect_id"]))["stdout"] == "planted-output\nplanted-input"
    for workflow_id in (f"effect:{card['effect_id']}", f"turn:{receipt.turn_id}"):
        history = await rig.client.get_workflow_handle(workflow_id).fetch_history()
        assert not [event for event in history.events if b"planted" in event.SerializeToString()]


async def test_the_workers_end_is_the_end_of_its_commands(
    tmp_path: Path, scripted: dict[str, Any], eventually: Eventually
) -> None:
    """H16, E15: an orderly stop ends a running command at once, and its effect says that it was interrupted."""
    async with steward(tmp_path / "home", **scripted) as rig:
        await rig.send(delegate(run(*HANGING) + SUBMIT))
        card = await rig.card(kind="command")
        await rig.decide(card, "allow_once")
        await eventually((rig.parts.files.root / "began").exists, "the command runs")
    assert running(card["effect_id"]) == []
