"""More of an effect's path inside runs: stops of turns that wait for a card, several effects of one step (C1, S8)."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from store import turn_stops
from store.tables_work import CallRow
from tests.workflows.rig import Rig, steward


def write(path: str, content: str = "written\n") -> str:
    """The directive that makes a model write a file."""
    return f"[[tool:write_file {json.dumps({'path': path, 'content': content})}]]"


@pytest.fixture
async def parking(tmp_path: Path, scripted: dict[str, Any]) -> AsyncIterator[Rig]:
    """A turn whose card nobody decides is parked at once."""
    async with steward(tmp_path / "home", card_park_s=0.2, **scripted) as running:
        yield running


async def stop(rig: Rig, turn_id: str | None) -> str | None:
    """Stop a turn as the owner; the outcome."""
    async with rig.parts.database.write(rig.scope) as tx:
        receipt = await turn_stops.stop_turn(tx, rig.session_id, turn_id or "", f"stop:{turn_id}", "owner")
    rig.pulse.ring()
    return receipt.outcome


async def withdrawn(rig: Rig, card: dict[str, Any]) -> None:
    """The card is void, the effect withdrawn, its workflow closed, nothing written."""
    assert (await rig.card(state="invalidated", approval_id=card["approval_id"]))["reason"] == "stopped"
    assert (await rig.effect(card["effect_id"]))["state"] == "withdrawn"
    assert await rig.client.get_workflow_handle(f"effect:{card['effect_id']}").result() == "withdrawn"
    assert list(rig.parts.files.root.iterdir()) == []


async def test_stopping_a_parked_turn_withdraws_its_card(parking: Rig) -> None:
    """S8, C1: the stored reply stays, no continuation comes, the next input is answered."""
    first = await parking.send(f"[[say:one moment]]{write('a.txt')}[[then]][[say:never]]")
    await parking.until_message(role="assistant", turn_id=first.turn_id)
    card = await parking.card(turn_id=first.turn_id)
    assert await stop(parking, first.turn_id) == "stopped"
    await withdrawn(parking, card)
    second = await parking.send("[[say:still here]]")
    await parking.until_message(role="assistant", turn_id=second.turn_id)
    said = [message["text"] for message in await parking.messages() if message["role"] == "assistant"]
    assert said == ["one moment", "still here"]


async def test_stopping_a_turn_that_waits_for_its_card_ends_it(rig: Rig) -> None:
    """S8, E13: the card is withdrawn with the stop, the turn ends interrupted, the next input is answered."""
    first = await rig.send(f"[[say:one moment]]{write('a.txt')}[[then]][[say:never]]")
    card = await rig.card(turn_id=first.turn_id)
    assert await stop(rig, first.turn_id) == "stopping"
    message = await rig.until_message(role="assistant", turn_id=first.turn_id)
    assert (message["text"], message["interrupted"]) == ("one moment", True)
    await withdrawn(rig, card)
    second = await rig.send("[[say:still here]]")
    await rig.until_message(role="assistant", turn_id=second.turn_id)


async def test_the_effects_of_one_step_come_one_after_the_other(parking: Rig) -> None:
    """T4, C1: the continuation does the step's remaining calls, each with a card of its own."""
    await parking.send(f"{write('a.txt', 'a')}{write('b.txt', 'b')}[[then]][[say:both]]")
    first = await parking.card()
    await parking.decide(first, "allow_once")
    second = await parking.card()
    assert second["approval_id"] != first["approval_id"]
    assert (parking.parts.files.root / "a.txt").read_text() == "a"
    assert not (parking.parts.files.root / "b.txt").exists()
    await parking.decide(second, "allow_once")
    await parking.until_message(role="assistant", text="both")
    assert (parking.parts.files.root / "b.txt").read_text() == "b"


async def test_an_edit_of_a_hidden_task_has_an_expiry_and_words(rig: Rig) -> None:
    """E1, E9, E11: the edit is shown as what it does to the file."""
    edit = json.dumps({"path": "notes.txt", "old": "draft", "new": "final"})
    script = f'[[tool:edit_file {edit}]][[then]][[tool:submit_result {{"summary":"edited"}}]]'
    (rig.parts.files.root / "notes.txt").write_text("a draft\n")
    task = json.dumps({"title": "Edit", "instructions": script})
    await rig.send(f"[[tool:delegate_task {task}]][[then]][[say:in hand]]")
    card = await rig.card()
    assert "expires_at" in card
    assert card["words"] == "Replace the content of the file “notes.txt”."
    await rig.decide(card, "allow_once")
    await rig.until_task(card["task_id"], "completed")
    assert (rig.parts.files.root / "notes.txt").read_text() == "a final\n"


async def test_a_call_that_cannot_be_an_effect_is_told_to_the_model_at_once(rig: Rig) -> None:
    """E3, api.md: no card, the error as the call's result, and the turn goes on."""
    await rig.send(f"{write('../out.txt')}[[then]][[say:went on]]")
    await rig.until_message(role="assistant", text="went on")
    assert not (rig.parts.files.root.parent / "out.txt").exists()
    async with rig.parts.database.read(rig.scope) as tx:
        [call] = await tx.session.scalars(select(CallRow))
    assert call.effect_id is None
    assert json.loads(call.result or "")["error"]["code"] == "protected_path"
