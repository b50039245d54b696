"""Agents beside twin in the settings, in a real browser (N2, N12, O6): made, disabled, taken back, and their switch."""

import pytest
from playwright.async_api import expect

from tests.page.conftest import OpenPage
from tests.page.stand_in import Refusal, StandIn
from tests.page.test_page_control import assert_accessible

pytestmark = pytest.mark.browser


async def test_an_agent_is_made_disabled_and_taken_back(stand_in: StandIn, open_page: OpenPage) -> None:
    """N12: with its instructions; from then on its news has a switch of its own; by keyboard, and accessible."""
    page = await open_page("/#/settings/notifications")
    agents = page.locator(".agents li")
    await expect(agents).to_have_count(1)
    await expect(agents.get_by_role("button")).to_have_count(0)
    await page.get_by_role("button", name="Add an agent").press("Enter")
    name = page.get_by_label("Name", exact=True)
    await expect(name).to_be_focused()
    await name.fill("Researcher <b>")
    await page.get_by_label("What it is told with each task").fill("Name your sources.")
    await assert_accessible(page)
    await name.press("Enter")
    await expect(agents).to_have_count(2)
    await expect(agents.nth(1)).to_contain_text("Researcher <b>")
    await expect(agents.nth(1)).to_contain_text("Name your sources.")
    await expect(page.get_by_role("button", name="Add an agent")).to_be_focused()
    await expect(page.get_by_role("group", name="Researcher <b>")).to_be_visible()
    made = stand_in.calls_of("agents.profiles.create")[0]
    assert made["params"] == {"name": "Researcher <b>", "instructions": "Name your sources."}
    assert made["request_id"]
    await page.get_by_role("button", name="Disable: Researcher <b>").click()
    await expect(agents.nth(1)).to_contain_text("Disabled")
    assert stand_in.profiles[1]["enabled"] is False
    await assert_accessible(page)
    await page.get_by_role("button", name="Enable: Researcher <b>").click()
    await expect(page.get_by_role("button", name="Disable: Researcher <b>")).to_be_focused()
    assert stand_in.calls_of("agents.profiles.update")[0]["params"] == {
        "agent_id": "agent_1", "expected_revision": 2, "enabled": True,
    }  # fmt: skip
    await page.locator("#language-toggle").click()
    await expect(page.get_by_role("button", name="添加助手")).to_be_visible()


async def test_a_refused_agent_stays_in_its_form(stand_in: StandIn, open_page: OpenPage) -> None:
    """O6: what was typed is not lost, and the host's word stands beside it; Escape closes the form alone."""
    stand_in.refusals["agents.profiles.create"] = Refusal("invalid_params", "The name is taken.")
    page = await open_page("/#/settings/notifications")
    await page.get_by_role("button", name="Add an agent").click()
    await page.get_by_label("Name", exact=True).fill("Aide")
    await page.get_by_role("button", name="Add", exact=True).click()
    await expect(page.locator(".form-note")).to_contain_text("The name is taken.")
    await expect(page.get_by_label("Name", exact=True)).to_have_value("Aide")
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Name", exact=True)).to_have_count(0)
    await expect(page.locator("#settings")).to_be_visible()


async def test_a_phone_shows_them_whole(stand_in: StandIn, open_page: OpenPage) -> None:
    """O6: long names wrap, those of the switches for their news too; nothing is wider than the screen or its panel."""
    stand_in.profiles.append(
        {"agent_id": "agent_1", "name": "n" * 90, "instructions": "i" * 400, "enabled": False, "revision": 3}
    )
    page = await open_page("/#/settings/notifications", viewport={"width": 360, "height": 780})
    await expect(page.locator(".agents li")).to_have_count(2)
    await expect(page.get_by_role("group", name="n" * 90)).to_be_visible()
    assert await page.evaluate(_BEYOND_THEIR_PANEL) == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


_BEYOND_THEIR_PANEL = """() => [...document.querySelectorAll(".panel")].flatMap((panel) => {
  const edge = panel.getBoundingClientRect().right;
  const beyond = (inner) => inner.getBoundingClientRect().right > edge;
  return [...panel.querySelectorAll("*")].filter(beyond).map((inner) => inner.tagName);
})"""
