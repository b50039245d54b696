"""The main job with the offline model: real input, no model, no network (O2)."""

from pathlib import Path

from tests.workflows.rig import steward

NOTES = """The meeting moved to Thursday. Ana brings the figures for March.
The printer on the second floor is broken again. Somebody should call the service.
"""


async def test_a_file_is_summarised_by_a_hidden_task(tmp_path: Path) -> None:
    """O1, O2: hand over, work out of sight, ask before a file changes, deliver."""
    async with steward(tmp_path / "home") as rig:
        (rig.parts.files.root / "notes.txt").write_text(NOTES)
        receipt = await rig.send("summarise notes.txt into summary.md")
        await rig.until_message(role="assistant", turn_id=receipt.turn_id)
        card = await rig.card(kind="file")
        await rig.decide(card, "allow_once")
        delivered = await rig.until_message(origin="delivery")
        assert (rig.parts.files.root / "summary.md").read_text().strip()
        assert delivered["delivery"]["kind"] == "result"
        (task,) = await rig.tasks()
        assert task["state"] == "completed"


async def test_what_it_cannot_do_it_says(tmp_path: Path) -> None:
    """O2: the offline model is honest about what it is."""
    async with steward(tmp_path / "home") as rig:
        receipt = await rig.send("write me a poem about the sea")
        reply = await rig.until_message(role="assistant", turn_id=receipt.turn_id)
        assert reply["text"].startswith("offline mode: I can")
