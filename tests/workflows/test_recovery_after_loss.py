"""A Temporal that lost everything heals from the rows at the host's next start (T10, D12, S9)."""

from pathlib import Path
from typing import Any

from store import questions
from store.questions import Settlement
from tests.conftest import Eventually
from tests.workflows.rig import Rig, steward
from tests.workflows.test_control import SUBMIT, ask, open_question, stop, the_task, until_done
from tests.workflows.test_effects_of_runs import delegate, write


async def test_everything_goes_on_after_temporal_was_wiped(
    tmp_path: Path, scripted: dict[str, Any], eventually: Eventually
) -> None:
    """T10, D12, S9: a waiting task is answered, a card decided, a stop completed, each under its first identity."""
    home = tmp_path / "home"
    async with steward(home, **scripted) as before:
        await before.send(delegate("Ask", ask("Which month?") + SUBMIT))
        question = await open_question(before)
        await before.send(delegate("Write", write("a.txt", "hello") + SUBMIT))
        card = await before.card(kind="file")
        await before.send(delegate("Hang", "[[hang:60]][[say:late]]"))
        hanging = await the_task(before, title="Hang", state="running")
        asking = await the_task(before, title="Ask", state="waiting_user")
    async with steward(home, **scripted) as after:
        intent_id = await stop(after, str(hanging["task_id"]))
        await _answer(after, question)
        await after.decide(card, "allow_once")
        assert (await until_done(after, intent_id))["outcome"] == "stopped"
        done = await after.until_task(str(asking["task_id"]), "completed")
        assert (done["attempt"], done["requirement_version"]) == (1, 1)
        await after.until_task(str(card["task_id"]), "completed")
        assert (after.parts.files.root / "a.txt").read_text() == "hello"

        async def all_told() -> bool:
            return sorted(await _told(after)) == ["echo: Which month?", "echo: done", "echo: done"]

        await eventually(all_told, "each reply is in the conversation once")


async def _told(rig: Rig) -> list[str]:
    return [message["text"] for message in await rig.messages() if message["origin"] == "delivery"]


async def _answer(rig: Rig, question: dict[str, object]) -> None:
    answer = Settlement(str(question["question_id"]), int(str(question["revision"])), "answer-1", text="March")
    async with rig.parts.database.write(rig.scope) as tx:
        await questions.settle(tx, answer, "owner")
    rig.pulse.ring()
