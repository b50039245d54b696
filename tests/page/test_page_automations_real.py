"""An automation on a real Steward, by the page: proposed, confirmed, allowed, run, told, moved (U3, U6-U9, N9, O8)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.blackbox.instance import Instance
from tests.page.test_page_control_real import PATIENCE_MS
from tests.page.test_page_notifications import browser as with_notifications
from tests.page.test_page_notifications import in_front
from tests.push_service import PushService, base64url

pytestmark = pytest.mark.browser
SAID = "every weekday at 8 in Berlin, write 'good morning' to today.md"


def pushed_through(service: PushService) -> str:
    """A browser's push service, which is ours; what it was subscribed with is kept for the test."""
    subscription = service.subscribe()
    keys = {"p256dh": subscription.p256dh, "auth": subscription.auth}
    return """
    const made = { toJSON: () => (SUBSCRIPTION), unsubscribe: async () => true };
    PushManager.prototype.getSubscription = async () => (window.subscribedWith ? made : null);
    PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
      window.subscribedWith = [...applicationServerKey];
      return made;
    };
    """.replace("SUBSCRIPTION", json.dumps({"endpoint": subscription.endpoint, "keys": keys}))


async def opened(steward: Instance, browser: Browser, more: str) -> Page:
    context = await browser.new_context(
        viewport={"width": 1360, "height": 860}, locale="en-GB", timezone_id="Europe/Berlin"
    )
    await context.add_init_script(with_notifications(more=more))
    page = await context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    lines = steward.printed().splitlines()
    await page.goto(next(line for line in lines if line.startswith("Open ")).removeprefix("Open ").strip())
    return page


async def automation(steward: Instance) -> dict[str, Any]:
    (row,) = await listed(steward)
    return row


async def listed(steward: Instance) -> list[dict[str, Any]]:
    answer = await steward.ask(lambda client: client.call("agents.automations.list", {}))
    return list(answer["items"])


@pytest.mark.timeout(900)
async def test_an_automation_from_the_conversation_to_its_news(
    tmp_path: Path, free_port: Callable[[], int], browser: Browser
) -> None:
    """U3, U6-U9, A15, N2, N9: what the page shows is what a real host then does."""
    ports = (free_port(), free_port(), free_port())
    steward = Instance(tmp_path / "home", ports, {"STEWARD_ALLOW_INSECURE_PUSH": "1"})
    with PushService() as service:
        try:
            await steward.start()
            await _its_whole_way(steward, browser, service)
        finally:
            await steward.end()


async def _its_whole_way(steward: Instance, browser: Browser, service: PushService) -> None:
    page = await opened(steward, browser, pushed_through(service))
    await page.locator(".nav-item[data-view=settings]").click()
    await page.get_by_role("link", name="Notifications").click()
    await page.get_by_role("button", name="Notify this browser").click()
    await expect(page.locator(".browser-state[data-state=on]")).to_be_visible()
    assert await page.evaluate("navigator.serviceWorker.ready.then(({ scope }) => scope)") == f"{steward.base}/"
    await page.locator(".nav-item[data-view=twin]").click()
    await page.fill("#composer-text", SAID)
    await page.press("#composer-text", "Enter")
    card = page.locator("#messages .proposal[data-state=open]")
    await expect(card.locator(".schedule-words")).to_have_text("every weekday at 08:00, Europe/Berlin")
    await expect(card.locator(".next-times li")).to_have_count(3)
    assert await listed(steward) == []
    await card.get_by_role("button", name="Confirm").click()
    await page.locator("#messages .proposal[data-state=confirmed]").get_by_role("link").click()

    detail = page.locator("#work-detail")
    await detail.get_by_role("button", name="What it would need").click()
    await detail.get_by_role("button", name="Allow this automation").click()
    await expect(detail.locator(".grant")).to_contain_text("In force")
    await in_front(page, False)
    await detail.get_by_role("button", name="Run now").click()
    await expect(detail.locator(".run")).to_contain_text("Run by hand.")
    await detail.locator(".run a").click()
    await detail.locator(".approval[data-state=pending]").get_by_role("button", name="Allow once").click()
    await expect(page.locator(".delivery-result")).to_be_visible()
    await page.wait_for_function("window.shown.some(({ tag }) => tag === 'steward:twin')", timeout=PATIENCE_MS)
    assert "good morning" not in str(await page.evaluate("window.shown"))
    await steward.until(lambda: bool(service.pushes or service.refusals), "the push")
    assert service.refusals == []
    push = service.pushes[0]
    assert json.loads(push.payload)["kind"] == "news"
    assert base64url(bytes(await page.evaluate("window.subscribedWith"))) == push.application_server_key
    assert (steward.files / "today.md").read_text() == "good morning"

    await in_front(page, True)
    await page.evaluate("window.last.onclick()")
    await expect(page.locator("#nav-news")).to_be_hidden()
    await page.locator(".nav-item[data-view=automations]").click()
    await page.locator(".automation-row", has_text="last: Completed").click()
    await expect(detail.locator(".run").get_by_role("button", name="Show in conversation")).to_be_visible()
    before = await automation(steward)
    await detail.get_by_role("button", name="Reschedule…").click()
    await detail.get_by_label("At", exact=True).fill("09:30")
    await expect(detail.locator(".schedule-preview")).to_contain_text("09:30")
    await detail.get_by_role("button", name="Move it").click()
    await expect(detail.locator(".automation > .schedule-words")).to_contain_text("09:30")
    after = await automation(steward)
    kept = ("automation_id", "binding_id", "binding_revision")
    assert [after[name] for name in kept] == [before[name] for name in kept]
    assert after["schedule_revision"] == before["schedule_revision"] + 1
    await page.close()
