"""The main job on PostgreSQL instead of SQLite (O14, O15): the same code, real workflows, a real server."""

from pathlib import Path
from typing import Any

from pydantic import SecretStr

from tests.workflows.rig import steward
from tests.workflows.test_effects_of_runs import SUBMIT, delegate, write


async def test_a_task_with_a_file_is_delivered(
    tmp_path: Path, scripted: dict[str, Any], fresh_postgres_url: str
) -> None:
    """O15, D2, E12: accepted, delegated, decided, done and delivered, once."""
    async with steward(tmp_path / "home", database_url=SecretStr(fresh_postgres_url), **scripted) as rig:
        await rig.send(delegate("Write", write("a.txt", "hello") + SUBMIT))
        card = await rig.card(kind="file")
        await rig.decide(card, "allow_once")
        await rig.until_message(origin="delivery")
        assert (rig.parts.files.root / "a.txt").read_text() == "hello"
        (task,) = await rig.tasks()
        assert task["state"] == "completed"
        assert [m["origin"] for m in await rig.messages()] == ["user", "reply", "delivery"]
