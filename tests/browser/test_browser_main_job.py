"""The main job in a real browser on a real Steward (O8): upload, hand over, decide, receive; the host killed meanwhile.

Screenshots of what a person sees are kept in `artefacts/` of the run.
"""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.async_api import FilePayload, async_playwright, expect

from tests.blackbox.instance import Instance
from tests.page.conftest import CHROMIUM_ARGUMENTS

ARTEFACTS = Path(__file__).parents[2] / "artefacts"
PATIENCE_MS = 120_000
NOTES = "Ana brings the figures for March.\nThe printer on the second floor is broken.\n"


@pytest.mark.timeout(600)
async def test_a_person_hands_work_over_and_gets_it_back(
    tmp_path: Path, free_port: Callable[[], int], chromium_path: str
) -> None:
    """O2, O6-O8, C9, E9, D2: from an attached file to the delivered summary, across a killed host, without a reload."""
    ARTEFACTS.mkdir(exist_ok=True)
    steward = Instance(tmp_path / "home", (free_port(), free_port(), free_port()), {})
    try:
        await steward.start()
        link = next(line for line in steward.printed().splitlines() if line.startswith("Open ")).removeprefix("Open ")
        async with async_playwright() as playwright:
            chromium = await playwright.chromium.launch(executable_path=chromium_path, args=CHROMIUM_ARGUMENTS)
            page = await chromium.new_page(viewport={"width": 1360, "height": 860})
            await page.goto(link.strip())
            expect.set_options(timeout=PATIENCE_MS)
            page.set_default_timeout(PATIENCE_MS)
            await page.locator("#composer-picker").set_input_files(
                FilePayload(name="notes.txt", mimeType="text/plain", buffer=NOTES.encode())
            )
            await expect(page.locator("#composer-files li")).to_have_count(1)
            await expect(page.locator("#composer-files progress")).to_have_count(0)
            await page.locator("#composer-text").fill("summarise notes.txt into summary.md")
            await page.locator("#composer-text").press("Enter")
            # The reply names the task at once; what it may do unattended is the person's to say (A10, A11).
            # The card offers to ask until the task's first effect asks by itself.
            admission = page.locator("#messages .admission[data-state=asked]")
            await expect(admission).to_contain_text("summary.md")
            await page.screenshot(path=ARTEFACTS / "main-job-permission.png")
            await admission.get_by_role("button", name="Allow this task").click()
            card = page.locator(".approval[data-approval][data-state=pending]")
            await expect(card).to_be_visible()
            await page.screenshot(path=ARTEFACTS / "main-job-card.png")
            os.kill(int((steward.home / "run" / "host.pid").read_text().split()[0]), signal.SIGKILL)
            await steward.until(steward.is_ready, "the host is back", 150.0)
            await card.get_by_role("button", name="Allow once").click()
            await expect(page.locator(".delivery-result")).to_be_visible()
            await page.screenshot(path=ARTEFACTS / "main-job-delivered.png")
            await chromium.close()
        assert (steward.files / "summary.md").read_text().strip()
    finally:
        await steward.end()
