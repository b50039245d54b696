"""Proposed automations in a real browser (U9): the cards under the answers that made them, confirmed and closed."""

import pytest
from playwright.async_api import expect

from tests.page.conftest import OpenPage
from tests.page.stand_in import Json, Refusal, StandIn
from tests.page.stand_in_automations import WEEKDAYS_AT_8
from tests.page.test_page_control import assert_accessible

pytestmark = pytest.mark.browser
AT_9: Json = {"cron": {"expression": "0 9 * * 1-5"}, "timezone": "Europe/Berlin"}
BERLIN = {"timezone_id": "Europe/Berlin"}


def proposed(stand_in: StandIn, **fields: object) -> Json:
    """A proposal, made in answer to what the person said."""
    asked = stand_in.add("user", "every weekday at 8 in Berlin, summarise notes.txt into today.md")
    stand_in.add("assistant", "Every weekday at 08:00, Europe/Berlin.", turn_id=asked["turn_id"])
    return stand_in.add_proposal("Notes of the day", WEEKDAYS_AT_8, [asked["seq"]], **fields)


async def test_a_proposal_is_confirmed_in_the_conversation(stand_in: StandIn, open_page: OpenPage) -> None:
    """U9: what, when in words, next times, one button; confirmed, it changes in its place."""
    proposal = proposed(stand_in)
    page = await open_page(**BERLIN)
    card = page.locator("#message-2 .proposal")
    await expect(card.locator(".schedule-words")).to_have_text("every weekday at 08:00, Europe/Berlin")
    await expect(card).to_contain_text("summarise notes.txt into today.md")
    await expect(card.locator(".next-times li")).to_have_count(3)
    await expect(page.locator(".work-cards > *")).to_have_count(0)
    await expect(page.locator("#decision-strip")).to_have_text("1 schedule is proposed")
    assert await page.title() == "(1) Steward"
    await assert_accessible(page)
    await page.locator("#decision-strip").press("Enter")
    await expect(card.get_by_role("button", name="Confirm")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(card).to_have_attribute("data-state", "confirmed")
    await expect(page.locator("#announcer")).to_have_text("Confirmed")
    assert stand_in.calls_of("agents.automations.confirm")[0]["params"] == {"proposal_id": proposal["proposal_id"]}
    await expect(page.locator("#decision-strip")).to_be_hidden()
    await card.get_by_role("link", name="Open automation").click()
    await expect(page.locator("#work-detail .task-title")).to_have_text("Notes of the day")


async def test_not_now_and_closed_elsewhere(stand_in: StandIn, open_page: OpenPage) -> None:
    """U9: putting off schedules nothing; what was closed elsewhere says so in its place, and cannot be confirmed."""
    proposed(stand_in)
    page = await open_page()
    card = page.locator("#messages .proposal")
    await card.get_by_role("button", name="Not now").click()
    await expect(card).to_contain_text("Not confirmed for now")
    await expect(page.locator("#decision-strip")).to_be_hidden()
    await card.get_by_role("button", name="Look again").click()
    stand_in.refusals["agents.automations.confirm"] = Refusal("invalid_params", "There are too many.", limit=200)
    await card.get_by_role("button", name="Confirm").click()
    await expect(card.locator(".approval-note")).to_have_text("That was not accepted: There are too many.")
    stand_in.automation_proposals.clear()
    await stand_in.notify("automations")
    await expect(card).to_contain_text("No longer proposed")
    await expect(card.locator("button")).to_have_count(0)
    assert stand_in.automations == []


async def test_a_move_shows_old_and_new_times(stand_in: StandIn, open_page: OpenPage) -> None:
    """U3, U9: of an automation that is there; it is shown with it too, and confirmed in one place it is in both."""
    stand_in.add_automation()
    asked = stand_in.add("user", "move Morning notes to 9")
    stand_in.add("assistant", "At 09:00.", turn_id=asked["turn_id"])
    moved: Json = {"kind": "reschedule", "automation_id": "automation_1"}
    stand_in.add_proposal("Morning notes", AT_9, [asked["seq"]], **moved)
    page = await open_page("/#/automations/automation_1", **BERLIN)
    for card in (page.locator("#messages .proposal"), page.locator("#work-detail .proposal")):
        await expect(card.locator(".schedule-words")).to_have_text(
            ["every weekday at 08:00, Europe/Berlin", "every weekday at 09:00, Europe/Berlin"]
        )
    await page.locator("#messages .proposal").get_by_role("button", name="Confirm").click()
    await expect(page.locator("#work-detail .proposal")).to_have_count(0)
    await expect(page.locator(".automation > .schedule-words")).to_have_text("every weekday at 09:00, Europe/Berlin")
    await expect(page.locator("#messages .proposal")).to_contain_text("Confirmed")


async def test_a_proposal_without_its_message_stands_with_what_waits(stand_in: StandIn, open_page: OpenPage) -> None:
    """U9: one that was made long ago is not lost."""
    stand_in.add_proposal("Long ago", AT_9, [], source=None)
    page = await open_page()
    await expect(page.locator(".work-cards .proposal")).to_contain_text("Long ago")
    await expect(page.locator("#phone-badge")).to_have_text("1")
