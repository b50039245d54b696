"""Permission, rule, command and review on a real Steward, by the page and the command line (A9-A11, E5-E9, E15, O8)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.blackbox.instance import Instance
from tests.blackbox.scripts import delegate, say, steps, tool
from tests.fake_model_server import FakeModelServer
from tests.page.test_page_control_real import PATIENCE_MS, command

pytestmark = pytest.mark.browser


def writing(content: str) -> str:
    return steps(tool("write_file", path="plan.txt", content=content), tool("submit_result", summary="written"))


@pytest.mark.timeout(900)
async def test_a_person_allows_saves_a_rule_and_takes_back(
    tmp_path: Path, free_port: Callable[[], int], browser: Browser
) -> None:
    """A9-A11, E5, E7-E9, E16, E20: what the page shows is what a real host then does, and does not do."""
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
            expect.set_options(timeout=PATIENCE_MS)
            lines = steward.printed().splitlines()
            await page.goto(next(line for line in lines if line.startswith("Open ")).removeprefix("Open ").strip())

            await page.locator(".nav-item[data-view=settings]").click()
            await page.get_by_label("Always ask me").check(force=True)
            await expect(page.locator(".form-note")).to_have_count(0)
            await page.locator(".nav-item[data-view=twin]").click()
            await page.fill("#composer-text", delegate("Write the plan", writing("first")))
            await page.press("#composer-text", "Enter")
            admission = page.locator("#messages .admission[data-state=asked]")
            await expect(admission).to_contain_text("plan.txt")
            assert (await command(steward, "grants"))["proposals"][0]["words"] == "Create the file “plan.txt”."
            await expect(page.locator(".delivery-authorization")).to_be_visible()
            await admission.get_by_label("1 hour").check(force=True)
            await admission.get_by_role("button", name="Allow this task").click()
            card = page.locator("#messages .admission .approval[data-state=pending]")
            await card.get_by_role("button", name="Always handle like this").click()
            await expect(card.locator(".rule-words")).to_contain_text("plan.txt")
            await card.get_by_role("button", name="Save the rule").click()
            await expect(card).to_contain_text("This action still waits for your decision.")
            assert not (steward.files / "plan.txt").exists()
            await card.get_by_role("button", name="Allow once").click()
            await expect(page.locator(".delivery-result")).to_be_visible()
            assert (steward.files / "plan.txt").read_text() == "first"

            await page.goto(f"{steward.base}/#/settings/rules")
            await expect(page.locator(".rule")).to_contain_text("plan.txt")
            await page.get_by_role("link", name="Permissions").click()
            held = page.locator(".grant", has_text="In force")
            await held.get_by_role("button", name="Take back").click()
            await held.get_by_role("button", name="Take it back").click()
            await page.get_by_text("Earlier ones").click()
            await expect(page.locator(".earlier .pill")).to_have_text("Taken back")
            (grant,) = (await command(steward, "grants"))["items"]
            assert grant["state"] == "revoked"

            await page.locator(".nav-item[data-view=twin]").click()
            await page.fill("#composer-text", steps(tool("run_command", argv=["echo", "hello"]), say("it ran")))
            await page.press("#composer-text", "Enter")
            asked = page.locator("#turn-cards .approval[data-state=pending]")
            await expect(asked.locator(".whole-command .diff").first).to_have_text("echo hello")
            (listed,) = (await command(steward, "approvals"))["items"]
            warned = await asked.locator(".unconfined").count()
            assert warned == (0 if listed["confined"] else 1)
            await asked.locator(".approval-actions button").first.click()
            line = page.locator("#messages .change-line")
            await expect(line).to_contain_text("echo hello")
            await expect(line.locator(".pill")).to_have_text("Succeeded")
            await line.click()
            await expect(page.locator("#work-detail .trail li").last).to_contain_text("Outcome")
            await page.close()
        finally:
            await steward.end()
