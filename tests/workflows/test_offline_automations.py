"""Automations by talking, with the offline model on a real server: proposed, confirmed, fired, paused (U3, U7, U9)."""

from pathlib import Path
from typing import Any

from store import automation_edits, automation_proposals, automation_views
from store.automations import Write
from tests.workflows.rig import Rig, steward
from tests.workflows.test_offline_job import NOTES


async def page(rig: Rig) -> dict[str, Any]:
    """What the list shows now."""
    async with rig.parts.database.read(rig.scope) as tx:
        return await automation_views.automation_page(tx, 10, None)


async def said(rig: Rig, text: str) -> str:
    """The reply to a message."""
    receipt = await rig.send(text)
    reply = await rig.until_message(role="assistant", turn_id=receipt.turn_id)
    return str(reply["text"])


async def test_a_sentence_becomes_an_automation_that_works(tmp_path: Path) -> None:
    """U9, O2: the exact times are said first; after the owner's yes each firing makes a task and brings its result."""
    async with steward(tmp_path / "home") as rig:
        (rig.parts.files.root / "notes.txt").write_text(NOTES)
        reply = await said(rig, "every weekday at 8 in Berlin, summarise notes.txt")
        assert "every weekday at 08:00, Europe/Berlin" in reply
        assert "Nothing is saved yet" in reply
        shown = await page(rig)
        assert shown["items"] == []
        [proposal] = shown["proposals"]
        async with rig.parts.database.write(rig.scope) as tx:
            made = (await automation_proposals.confirm(tx, proposal["proposal_id"], Write("yes", "owner")))[1]
        rig.pulse.ring()
        async with rig.parts.database.write(rig.scope) as tx:
            await automation_edits.trigger(tx, made.automation_id, 1, Write("now", "owner"))
        rig.pulse.ring()
        delivered = await rig.until_message(origin="delivery")
        assert "March" in delivered["text"]
        [task] = await rig.tasks()
        assert (task["state"], task["automation_id"]) == ("completed", made.automation_id)
        assert "is paused" in await said(rig, "pause summarise notes.txt")
        [item] = (await page(rig))["items"]
        assert (item["state"], item["next_times"]) == ("paused", [])
        assert item["runs"][0]["task_id"] == task["task_id"]
        assert item["runs"][0]["delivery"]["kind"] == "result"
