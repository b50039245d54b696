"""File effects on their whole path inside tasks and turns: nothing happens without a person, and happens once."""

import json
from pathlib import Path
from typing import Any

from tests.workflows.rig import Rig, steward


def write(path: str, content: str) -> str:
    """The directive that makes a model write a file."""
    return f"[[tool:write_file {json.dumps({'path': path, 'content': content})}]]"


def delegate(title: str, script: str) -> str:
    """The directive that hands a scripted task over."""
    return f"[[tool:delegate_task {json.dumps({'title': title, 'instructions': script})}]][[then]][[say:in hand]]"


SUBMIT = '[[then]][[tool:submit_result {"summary":"done"}]]'


async def test_a_tasks_file_is_written_once_after_a_person_allowed_it(rig: Rig) -> None:
    """E9, E10, E12, E18: the task waits for the card; allowed, the file is there and the result is delivered."""
    await rig.send(delegate("Write", write("out/a.txt", "hello") + SUBMIT))
    card = await rig.card(kind="file")
    (task,) = await rig.tasks()
    assert (task["state"], card["task_id"]) == ("waiting_approval", task["task_id"])
    assert not (rig.parts.files.root / "out").exists()
    await rig.decide(card, "allow_once")
    await rig.until_message(origin="delivery")
    assert (rig.parts.files.root / "out" / "a.txt").read_text() == "hello"
    effect = await rig.effect(card["effect_id"])
    assert effect["state"] == "succeeded"
    assert [entry["step"] for entry in effect["trail"]][-3:] == ["claim", "start", "outcome"]


async def test_a_denied_card_is_told_to_the_executor_and_nothing_is_written(rig: Rig) -> None:
    """E10, E13: a denial is an answer to the model; the effect is refused."""
    await rig.send(delegate("Write", write("a.txt", "hello") + SUBMIT))
    card = await rig.card(kind="file")
    await rig.decide(card, "deny")
    await rig.until_message(origin="delivery")
    assert list(rig.parts.files.root.iterdir()) == []
    effect = await rig.effect(card["effect_id"])
    assert (effect["state"], effect["reason"]) == ("refused", "approval_denied")


async def test_a_tasks_card_expires_and_the_executor_goes_on(tmp_path: Path, scripted: dict[str, Any]) -> None:
    """E11: an undecided card of a hidden task expires; the executor is told."""
    async with steward(tmp_path / "home", card_expiry_s=1, **scripted) as rig:
        await rig.send(delegate("Write", write("a.txt", "hello") + SUBMIT))
        card = await rig.card(state="expired")
        await rig.until_message(origin="delivery")
        assert (await rig.effect(card["effect_id"]))["reason"] == "approval_expired"


async def test_a_file_that_changed_meanwhile_invalidates_the_card(rig: Rig) -> None:
    """E10: what was approved is what happens, or nothing."""
    (rig.parts.files.root / "a.txt").write_text("first")
    await rig.send(delegate("Write", write("a.txt", "hello") + SUBMIT))
    card = await rig.card(kind="file")
    (rig.parts.files.root / "a.txt").write_text("second")
    await rig.decide(card, "allow_once")
    await rig.until_message(origin="delivery")
    assert (rig.parts.files.root / "a.txt").read_text() == "second"
    assert (await rig.effect(card["effect_id"]))["reason"] == "approval_invalidated"


async def test_a_turn_goes_on_when_its_card_is_decided_before_it_is_parked(rig: Rig) -> None:
    """C1, A13: the conversation's own effect, decided in the same turn."""
    receipt = await rig.send(write("a.txt", "hello") + "[[then]][[say:written]]")
    card = await rig.card(turn_id=receipt.turn_id)
    await rig.decide(card, "allow_once")
    message = await rig.until_message(role="assistant", turn_id=receipt.turn_id)
    assert message["text"] == "written"
    assert (rig.parts.files.root / "a.txt").read_text() == "hello"


async def test_a_turn_that_waits_for_a_card_is_parked_when_something_is_queued(rig: Rig) -> None:
    """C1: its reply ends with the card, the queue goes on, the decision queues a continuation with the outcome."""
    first = await rig.send("[[say:let me write]]" + write("a.txt", "hello") + "[[then]][[say:written]]")
    card = await rig.card(turn_id=first.turn_id)
    second = await rig.send("[[say:something else]]")
    parked = await rig.until_message(role="assistant", turn_id=first.turn_id)
    assert (parked["text"], parked["card"]) == ("let me write", card["approval_id"])
    await rig.until_message(role="assistant", turn_id=second.turn_id)
    await rig.decide(card, "allow_once")
    continued = await rig.until_message(role="assistant", text="written")
    assert continued["origin"] == "reply"
    assert continued["turn_id"] not in (first.turn_id, second.turn_id)
    assert (rig.parts.files.root / "a.txt").read_text() == "hello"


async def test_a_parked_turn_goes_on_after_a_denial(tmp_path: Path, scripted: dict[str, Any]) -> None:
    """C1: parked after the patience for cards; a denial queues the continuation too."""
    async with steward(tmp_path / "home", card_park_s=0.2, **scripted) as rig:
        first = await rig.send(write("a.txt", "hello") + "[[then]][[say:then not]]")
        parked = await rig.until_message(role="assistant", turn_id=first.turn_id)
        card = await rig.card(approval_id=parked["card"])
        await rig.decide(card, "deny")
        await rig.until_message(role="assistant", text="then not")
        assert list(rig.parts.files.root.iterdir()) == []
