"""Question, stop, resume on a real Steward, by the page and by the command line (O4, O8, T7, T9, T11, S1-S3, S11)."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.blackbox.instance import STEWARD, Instance
from tests.blackbox.scripts import delegate, hang, say, steps, tool
from tests.fake_model_server import FakeModelServer

pytestmark = pytest.mark.browser
PATIENCE_MS = 120_000


async def command(steward: Instance, *arguments: str) -> Any:
    """Run a command to its end and return what it wrote as JSON."""
    process = await asyncio.create_subprocess_exec(
        STEWARD,
        *arguments,
        "--json",
        env=steward.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    return json.loads(out)


@pytest.mark.timeout(600)
async def test_a_person_answers_stops_and_resumes(
    tmp_path: Path, free_port: Callable[[], int], browser: Browser
) -> None:
    """T7, T9, T11, S1-S3, S11, O4, O8: what the page and the commands show is what a real host does."""
    asking = steps(
        tool("ask_user", question="Which month?", options=["March", "April"]), tool("submit_result", summary="done")
    )
    with FakeModelServer() as model:
        settings = {
            "STEWARD_MODEL": "openai-chat:fake-model",
            "STEWARD_MODEL_BASE_URL": f"{model.url}/v1",
            "STEWARD_MODEL_API_KEY": "scripted-model-key",
        }
        steward = Instance(tmp_path / "home", (free_port(), free_port(), free_port()), settings)
        try:
            await steward.start()
            page = await browser.new_page(viewport={"width": 1360, "height": 860}, locale="en-GB")
            page.set_default_timeout(PATIENCE_MS)
            lines = steward.printed().splitlines()
            await page.goto(next(line for line in lines if line.startswith("Open ")).removeprefix("Open ").strip())
            await page.fill("#composer-text", delegate("Ask", asking))
            await page.press("#composer-text", "Enter")
            inline = page.locator("#messages .question")
            await expect(inline).to_be_visible(timeout=PATIENCE_MS)
            (listed,) = (await command(steward, "questions"))["items"]
            assert [option["label"] for option in listed["options"]] == ["March", "April"]
            await inline.get_by_role("button", name="April").click()
            await expect(inline.locator(".question-answer")).to_have_text("Answer: April", timeout=PATIENCE_MS)
            await expect(page.locator(".delivery-result")).to_be_visible(timeout=PATIENCE_MS)

            await page.fill("#composer-text", delegate("Hang", steps(hang(300), say("late"))))
            await page.press("#composer-text", "Enter")
            await page.locator(".row", has_text="Hang").click()
            detail = page.locator("#work-detail")
            await expect(detail.locator(".task-state")).to_contain_text("Running", timeout=PATIENCE_MS)
            await detail.get_by_role("button", name="Stop").click()
            await detail.get_by_role("button", name="Stop the task").click()
            await expect(detail.locator(".intent")).to_have_text(
                "Stopped. Nothing of it runs any more.", timeout=PATIENCE_MS
            )
            task_id = page.url.rpartition("/")[2]
            assert (await command(steward, "tasks", "stop", task_id))["intent"]["outcome"] == "stopped"

            await detail.get_by_role("button", name="Resume").click()
            await detail.get_by_label("New instructions").fill(asking)
            await detail.get_by_role("button", name="Resume the task").click()
            await expect(detail.locator(".question")).to_be_visible(timeout=PATIENCE_MS)
            (second,) = (await command(steward, "questions"))["items"]
            await command(steward, "questions", "answer", second["question_id"], "1")
            await expect(detail.locator(".task-state")).to_contain_text("Completed", timeout=PATIENCE_MS)
            await expect(detail.locator(".answered")).to_contain_text("Answer: March")
            await expect(page.locator(".delivery-result")).to_have_count(2, timeout=PATIENCE_MS)
            await page.close()
        finally:
            await steward.end()
