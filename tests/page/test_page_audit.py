"""The audit list in a real browser (A14, E19): filter, pages, what was imported, the way to what it is about."""

import pytest
from playwright.async_api import Page, expect

from tests.page.conftest import OpenPage
from tests.page.stand_in import Refusal
from tests.page.stand_in_audit import AuditStandIn
from tests.page.test_page_control import assert_accessible
from tests.page.test_page_work import effect

pytestmark = pytest.mark.browser
DIGEST = "3b5d5c3712955042" + "0" * 48


@pytest.fixture
def stand_in() -> AuditStandIn:
    """A host with decisions of several kinds."""
    made = AuditStandIn()
    made.add_decision("legacy.import", "imported", DIGEST, details={"actions": 2})
    made.add_decision(
        "legacy.action", "unknown", "a2", principal="legacy", action_digest="77aa",
        details={"kind": "command", "source_state": "claimed", "at": "2026-05-04T10:00:00Z"},
    )  # fmt: skip
    made.add_decision("legacy.audit", "approved", "a2", details={"at": "some day"})
    made.add_decision("approval", "deny", "approval_1", code="approval_denied", action_digest=DIGEST)
    made.add_decision("effect.review", "unsure", "effect_1", principal="model:test")
    made.add_decision("effect.gate", "allow", "effect_1", action_digest=DIGEST, details={"grant_ref": "grant_7"})
    made.effects = [effect("effect_1", "succeeded")]
    return made


async def kinds(page: Page) -> list[str]:
    return await page.locator(".decision-kind").all_inner_texts()


async def test_decisions_are_read_newest_first(open_page: OpenPage) -> None:
    """A14, O6: reached from the navigation; who, why, which digest and permission; accessible."""
    page = await open_page()
    await page.locator(".nav-item[data-view=settings]").click()
    await page.get_by_role("link", name="Decisions").click()
    rows = page.locator(".decision")
    await expect(rows).to_have_count(6)
    assert await kinds(page) == [
        "Gate", "Automatic review", "Card", "Entry of an earlier version", "Action of an earlier version",
        "Ledger of an earlier version",
    ]  # fmt: skip
    await expect(rows.nth(0)).to_contain_text("Allowed")
    await expect(rows.nth(0)).to_contain_text("By you")
    await expect(rows.nth(0)).to_contain_text("Permission grant_7")
    await expect(rows.nth(0)).to_contain_text(f"Digest {DIGEST[:16]}")
    await expect(rows.nth(1)).to_contain_text("By the model test")
    await expect(rows.nth(2).locator(".decision-why")).not_to_be_empty()
    await assert_accessible(page)


async def test_imported_actions_are_told_apart(open_page: OpenPage) -> None:
    """E19: as imported, dated as in their ledger, an unknown outcome as unknown, with nothing to press."""
    page = await open_page("/#/settings/audit")
    await page.get_by_label("Which decisions").select_option("legacy")
    rows = page.locator(".decision")
    await expect(rows).to_have_count(3)
    action = rows.nth(1)
    await expect(action).to_contain_text("Outcome unknown")
    await expect(action).to_contain_text("By the earlier version")
    await expect(action.locator("time")).to_have_attribute("datetime", "2026-05-04T10:00:00Z")
    title = await action.locator("time").get_attribute("title")
    assert title is not None
    assert title.startswith("imported ")
    assert await rows.nth(0).locator("time").get_attribute("datetime") != "some day"
    await expect(rows.locator("a, button")).to_have_count(0)


async def test_the_filter_holds_while_decisions_are_made(stand_in: AuditStandIn, open_page: OpenPage) -> None:
    """A14: a new decision appears by itself, of the chosen kind only; the filter keeps the focus."""
    page = await open_page("/#/settings/audit")
    choice = page.get_by_label("Which decisions")
    await choice.focus()
    await choice.select_option("effect")
    await expect(page.locator(".decision")).to_have_count(2)
    stand_in.add_decision("effect.start", "allow", "effect_1")
    stand_in.add_decision("rule.save", "allow", "rule_1")
    await stand_in.notify("activity")
    await expect(page.locator(".decision")).to_have_count(3)
    assert (await kinds(page))[0] == "Start of an effect"
    await expect(choice).to_have_value("effect")
    await expect(choice).to_be_focused()
    await choice.select_option("grant")
    await expect(page.locator(".settings-section")).to_contain_text("There are none.")
    stand_in.add_decision("grant.some_new_kind", "allow", "grant_1")
    await stand_in.notify("approvals")
    await expect(page.locator(".decision-kind")).to_have_text("Permission")


async def test_older_decisions_are_fetched_on_demand(stand_in: AuditStandIn, open_page: OpenPage) -> None:
    """A14: page by page; a notice takes nothing back."""
    for at in range(120):
        stand_in.add_decision("effect.gate", "allow", f"effect_{at}")
    page = await open_page("/#/settings/audit")
    rows = page.locator(".decision")
    await expect(rows).to_have_count(50)
    for count in (100, 126):
        await page.get_by_role("button", name="Show more").click()
        await expect(rows).to_have_count(count)
    await expect(page.get_by_role("button", name="Show more")).to_have_count(0)
    stand_in.add_decision("rule.save", "allow", "rule_1")
    await stand_in.notify("approvals")
    await expect(rows).to_have_count(127)


async def test_a_decision_leads_to_its_effect(open_page: OpenPage) -> None:
    """A14, E20: its trail opens in the right column, and the list stays."""
    page = await open_page("/#/settings/audit")
    await page.get_by_role("link", name="Gate").click()
    await expect(page.locator("#work-detail .effect")).to_be_visible()
    await expect(page.locator(".decision")).to_have_count(6)
    await page.keyboard.press("Escape")
    await expect(page.locator("#work-detail")).to_be_hidden()
    assert page.url.endswith("#/settings/audit")


async def test_in_chinese_and_on_a_phone(open_page: OpenPage) -> None:
    """O6: the same words in the other language, within a phone's width."""
    page = await open_page("/#/settings/audit", locale="zh-CN", viewport={"width": 390, "height": 780})
    await expect(page.locator(".decision").first).to_contain_text("由 你")
    await expect(page.locator(".decision").last).to_contain_text("早期版本的账本")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await assert_accessible(page)


async def test_a_host_that_refuses_says_so(stand_in: AuditStandIn, open_page: OpenPage) -> None:
    """O7: an error state, and the list as soon as there is one."""
    stand_in.refusals["agents.audit.list"] = Refusal("forbidden")
    page = await open_page("/#/settings/audit")
    await expect(page.locator(".settings-section [role=alert]")).to_be_visible()
    del stand_in.refusals["agents.audit.list"]
    await stand_in.notify("activity")
    await expect(page.locator(".decision")).to_have_count(6)
