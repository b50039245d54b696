"""The offline model asks back and understands an answer by talking, with real workflows (O2, T7, T9, D9)."""

from pathlib import Path

from tests.workflows.rig import steward
from tests.workflows.test_control import open_question, the_task

NOTES = "Durable workflows survive crashes. Durable workflows replay their history. A cat slept."


async def test_a_missing_file_is_asked_for_and_named_by_talking(tmp_path: Path) -> None:
    """O2, T7, T9, D9: question in the conversation, answer in plain words, the same attempt goes on to the result."""
    async with steward(tmp_path / "home") as rig:
        (rig.parts.files.root / "notes-2025.txt").write_text(NOTES)
        await rig.send("summarise notes.txt into summary.md")
        question = await open_question(rig)
        assert [option["label"] for option in question["options"]] == ["notes-2025.txt"]
        asked = await rig.until_message(origin="delivery")
        assert (asked["delivery"]["kind"], "Which file do you mean?" in asked["text"]) == ("question", True)
        receipt = await rig.send("notes-2025.txt")
        reply = await rig.until_message(role="assistant", turn_id=receipt.turn_id)
        assert reply["text"] == "I have passed your answer on to the task."
        await rig.decide(await rig.card(kind="file"), "allow_once")
        done = await the_task(rig, state="completed")
        assert (done["attempt"], done["requirement_version"]) == (1, 1)
        assert "Durable workflows" in (rig.parts.files.root / "summary.md").read_text()


async def test_that_is_stopped_by_talking(tmp_path: Path) -> None:
    """O2, S1: “停止它” stops the one task in progress."""
    async with steward(tmp_path / "home") as rig:
        await rig.send("总结 notes.txt 到 summary.md")
        await the_task(rig, state="waiting_user")
        await rig.until_message(origin="delivery")
        receipt = await rig.send("停止它")
        assert "正在停止" in (await rig.until_message(role="assistant", turn_id=receipt.turn_id))["text"]
        await the_task(rig, state="stopped")
