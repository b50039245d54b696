"""The automatic review on its way through real workflows (E8, E18): allowed, denied, left to the person."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from activities import review
from assistant.review import ask_reviewer
from domain.gate import Review
from tests.workflows.rig import Rig, steward


@pytest.fixture
async def watched(tmp_path: Path, scripted: dict[str, Any]) -> AsyncIterator[Rig]:
    """A Steward whose owner wants reviews."""
    async with steward(tmp_path / "home", reviewed=True, **scripted) as running:
        yield running


async def test_an_action_is_reviewed_before_anybody_is_asked(watched: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """E8: allow runs without a card, deny never runs; a model that says something else leaves it to the person."""
    rig, prompts = watched, []

    def saying(verdict: Review) -> None:
        async def reviewer(_model: Any, prompt: str, _wait_s: float) -> tuple[Review, str | None]:
            prompts.append(prompt)
            return verdict, "scripted"

        monkeypatch.setattr(review, "ask_reviewer", reviewer)

    saying(Review.ALLOW)
    await rig.send('[[tool:write_file {"path": "a.txt", "content": "hello"}]][[then]][[say:written]]')
    await rig.until_message(role="assistant", text="written")
    assert (rig.parts.files.root / "a.txt").read_text() == "hello"
    saying(Review.DENY)
    await rig.send('[[tool:write_file {"path": "b.txt", "content": "hello"}]][[then]][[say:not written]]')
    await rig.until_message(role="assistant", text="not written")
    assert not (rig.parts.files.root / "b.txt").exists()
    assert ["a.txt" in prompt for prompt in prompts] == [True, False]
    monkeypatch.setattr(review, "ask_reviewer", ask_reviewer)
    # The scripted server answers a question without tools with words: no verdict.
    await rig.send('[[tool:write_file {"path": "c.txt", "content": "hello"}]][[then]][[say:allowed by hand]]')
    card = await rig.card()
    effect = await rig.effect(card["effect_id"])
    assert [entry["verdict"] for entry in effect["trail"] if entry["step"] == "review"] == ["unsure"]
    await rig.decide(card, "allow_once")
    await rig.until_message(role="assistant", text="allowed by hand")
    assert (rig.parts.files.root / "c.txt").read_text() == "hello"
