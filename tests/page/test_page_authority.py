"""Permissions, cards, rules and settings in a real browser (A9-A11, E5-E9, E16, E20, O6)."""

import pytest
from playwright.async_api import Locator, Page, expect

from tests.conftest import Eventually
from tests.page.conftest import OpenPage
from tests.page.stand_in import Json, Refusal, StandIn, iso
from tests.page.stand_in_authority import said
from tests.page.test_page_control import assert_accessible
from tests.page.test_page_work import effect, task

pytestmark = pytest.mark.browser
COMMAND = """sh -c 'make ⟦U+202E⟧ test'

folder: notes
program: /usr/bin/dash
SHA-256: 3b5d5c3712955042212316173ccf37be800a1b2c3d4e5f60718293a4b5c6d7e8
confined: no
network: yes
environment: LANG=en
standard input:
| network: no"""
UNCONFINED: Json = {
    "kind": "command",
    "words": "Run “sh -c 'make test'” in “notes/” – not confined, with network.",
    "impact": "It is not confined: it can read, change and send whatever the user that Steward runs as can.",
    "confined": False,
    "details": {"command": COMMAND},
}


def handed_over(stand_in: StandIn, state: str = "running", **fields: object) -> Json:
    """A task that was handed over in the conversation, with the reply that says so."""
    asked = stand_in.add("user", "Summarise notes.txt into summary.md")
    stand_in.add("assistant", "I have handed it over.", turn_id=asked["turn_id"])
    row = task("task_1", "Summarise notes.txt", state, requirement_version=1, parent_task_id=None, **fields)
    source = {"session_id": "session_main", "message_seqs": [asked["seq"]]}
    requirement = {"version": 1, "instructions": asked["text"], "request_id": "r", "source": source}
    stand_in.tasks["task_1"] = {"task": row, "requirements": [requirement]}
    stand_in.activity["in_progress"] = [row]
    return row


def authorization(stand_in: StandIn, effect_id: str = "effect_1") -> Json:
    """The message that asks for a task's permission, and its request (A10)."""
    delivery = {"delivery_id": "d", "kind": "authorization", "task_id": "task_1"}
    stand_in.add("assistant", "To go on it would write summary.md.", delivery=delivery)
    return stand_in.add_request("task_1", effect_id, **said("Create the file “summary.md”."))


def admission(page: Page, place: str = "#messages") -> Locator:
    return page.locator(f"{place} .admission")


async def test_a_waiting_task_is_allowed_and_its_action_decided(
    stand_in: StandIn, open_page: OpenPage, eventually: Eventually
) -> None:
    """A10, A11, E9: words, lifetime, one button; the card of the exact action follows in the same place."""
    handed_over(stand_in, "waiting_authorization")
    request = authorization(stand_in)
    page = await open_page()
    card = admission(page)
    await expect(card).to_have_count(1)
    await expect(page.locator("#message-3 .admission .approval-words")).to_have_text("Create the file “summary.md”.")
    await expect(page.locator(".work-cards > *")).to_have_count(0)
    await expect(page.locator("#decision-strip")).to_have_text("1 permission is asked for")
    await expect(card.get_by_label("24 hours")).to_be_checked()
    await assert_accessible(page)
    await card.get_by_label("7 days").check(force=True)
    assert stand_in.calls_of("agents.grants.issue") == []
    await card.get_by_role("button", name="Allow this task").press("Enter")
    await expect(card).to_have_attribute("data-state", "allowed")
    sent = stand_in.calls_of("agents.grants.issue")[0]
    assert sent["params"] == {"proposal_id": request["proposal_id"], "lifetime_s": 7 * 24 * 3600}
    assert sent["request_id"]
    await expect(page.locator("#decision-strip")).to_be_hidden()
    stand_in.add_approval("approval_1", task_id="task_1", effect_id="effect_1")
    await stand_in.notify("approvals")
    followed = card.locator(".approval")
    await expect(followed).to_contain_text("Write summary.md")
    await expect(page.locator("#announcer")).to_have_text("Allowed. Now decide this one action.")
    await expect(page.locator(".approval-title", has_text="Decision needed")).to_have_count(1)
    await assert_accessible(page)
    await followed.get_by_role("button", name="Allow once").click()
    await expect(followed).to_have_attribute("data-state", "approved")
    await eventually(lambda: stand_in.approvals["approval_1"]["state"] == "approved", "two writes")


async def test_not_now_leaves_the_task_waiting(stand_in: StandIn, open_page: OpenPage) -> None:
    """A11: putting it off grants nothing and asks no more, and can be taken up again; the keyboard is not lost."""
    handed_over(stand_in, "waiting_authorization")
    authorization(stand_in)
    page = await open_page()
    card = admission(page)
    await card.get_by_role("button", name="Not now").press("Enter")
    await expect(card).to_contain_text("Not allowed for now. It waits.")
    await expect(card.get_by_role("button", name="Look again")).to_be_focused()
    await expect(page.locator("#decision-strip")).to_be_hidden()
    await page.keyboard.press("Enter")
    await expect(card.get_by_role("button", name="Allow this task")).to_be_focused()
    assert stand_in.calls_of("agents.grants.issue") == []


async def test_a_delegation_offers_its_bounds_with_one_button(stand_in: StandIn, open_page: OpenPage) -> None:
    """A11: where a task was handed over without permission, what it would need is asked for on a press, then given."""
    handed_over(stand_in)
    page = await open_page()
    card = page.locator("#message-2 .admission")
    await expect(card).to_contain_text("This task can read, but may not change anything yet.")
    await card.get_by_role("button", name="What it would need").press("Enter")
    await expect(card.locator(".approval-words")).to_have_text("Create and change “summary.md”.")
    await expect(card.get_by_role("button", name="Allow this task")).to_be_focused()
    await card.get_by_text("Exact bounds").click()
    await expect(card.locator(".bounds dd").first).to_contain_text("file.create")
    await card.get_by_role("button", name="Allow this task").click()
    await expect(card).to_contain_text("Allowed until")
    stand_in.grants[0].update(state="revoked", revoked_at=iso())
    await stand_in.notify("grants")
    await expect(card).to_contain_text("You took back the permission of this task.")


async def test_a_card_in_use_does_not_move(stand_in: StandIn, open_page: OpenPage) -> None:
    """A10, O6: the request's own message takes the card, but not from under a hand; in the end it says what became."""
    row = handed_over(stand_in, "waiting_authorization")
    stand_in.add_request("task_1", "effect_1")
    page = await open_page()
    button = page.locator("#message-2 .admission").get_by_role("button", name="Allow this task")
    await button.focus()
    delivery = {"delivery_id": "d", "kind": "authorization", "task_id": "task_1"}
    stand_in.add("assistant", "To go on it would write summary.md.", delivery=delivery)
    await stand_in.stored()
    await expect(page.locator("#message-3")).to_be_visible()
    await expect(button).to_be_focused()
    await expect(admission(page)).to_have_count(1)
    await page.locator("#composer-text").focus()
    await stand_in.notify("grants")
    await expect(page.locator("#message-3 .admission")).to_be_visible()
    await expect(admission(page)).to_have_count(1)
    await page.locator("#message-3").get_by_role("button", name="Allow this task").click()
    await expect(page.locator("#message-3 .admission")).to_contain_text("Allowed until")
    row["state"] = "completed"
    await stand_in.notify("tasks", task_id="task_1")
    await expect(page.locator("#message-3 .message-extra")).to_have_text("You allowed it.")
    await expect(page.locator("#message-2 .message-extra")).to_have_text("")


@pytest.mark.parametrize("state", ["completed", "stopping"])
async def test_a_task_that_needs_nothing_is_offered_nothing(stand_in: StandIn, open_page: OpenPage, state: str) -> None:
    """A11: an ended or stopping task, one that only reads, and a part of another one are offered no permission."""
    handed_over(stand_in, state)
    others = {"task_2": {"permission_mode": "read_only"}, "task_3": {"parent_task_id": "task_1"}}
    for task_id, fields in others.items():
        row = task(task_id, task_id, "running", requirement_version=1, **fields)
        stand_in.tasks[task_id] = {**stand_in.tasks["task_1"], "task": row}
        stand_in.activity["in_progress"].append(row)
    page = await open_page()
    await expect(page.locator(".row")).to_have_count(3)
    await expect(page.locator("#message-2")).to_be_visible()
    await expect(page.locator(".admission")).to_have_count(0)


async def test_a_refused_permission_says_why_and_shows_what_holds(stand_in: StandIn, open_page: OpenPage) -> None:
    """A10: a request that was closed meanwhile is not issued; the page says so and shows the one that is open now."""
    handed_over(stand_in, "waiting_authorization")
    request = authorization(stand_in)
    page = await open_page()
    request.update(proposal_id="proposal_9", **said("Create the file “other.md”."))
    card = admission(page)
    await card.get_by_role("button", name="Allow this task").click()
    await expect(card.get_by_role("status")).to_contain_text("The request is closed")
    await expect(card.locator(".approval-words")).to_have_text("Create the file “other.md”.")
    assert stand_in.grants == []


async def test_a_permission_is_taken_back(stand_in: StandIn, open_page: OpenPage) -> None:
    """A9: the list shows state, end and holder; taking one back asks first; the task's detail shows the same."""
    handed_over(stand_in)
    stand_in.add_grant("task_1")
    stand_in.add_grant("task_9", "expired", hours=-3)
    stand_in.add_request("task_7", **said("Run “make test”."))
    page = await open_page("/#/settings/grants")
    section = page.locator(".settings-section")
    await expect(section.locator(".admission")).to_contain_text("Run “make test”.")
    held = section.locator(".grant", has_text="In force")
    await expect(held.get_by_role("link", name="Summarise notes.txt")).to_be_visible()
    await assert_accessible(page)
    await section.get_by_text("Earlier ones").click()
    await expect(section.locator(".earlier .pill")).to_have_text("Ended")
    await held.get_by_role("link").click()
    detail = page.locator("#work-detail")
    await expect(detail.locator(".grant")).to_contain_text("In force")
    await expect(section).to_be_visible()
    await held.get_by_role("button", name="Take back").press("Enter")
    await expect(held.get_by_role("button", name="Cancel")).to_be_focused()
    assert stand_in.calls_of("agents.grants.revoke") == []
    await held.get_by_role("button", name="Take it back").click()
    await expect(section.locator(".earlier .pill", has_text="Taken back")).to_be_visible()
    await expect(detail.locator(".grant")).to_contain_text("Taken back")
    sent = stand_in.calls_of("agents.grants.revoke")[0]
    assert sent["params"] == {"grant_ref": "grant_1"}
    assert sent["request_id"]


async def test_an_unconfined_command_cannot_be_overlooked(stand_in: StandIn, open_page: OpenPage) -> None:
    """E9, E16: the whole command stands on the card with where it runs; a warning and the button say "not confined"."""
    stand_in.add_approval("approval_1", task_id="task_2", **UNCONFINED)
    page = await open_page(viewport={"width": 360, "height": 740})
    await page.click("#decision-strip")
    card = page.locator(".work-cards .approval")
    await expect(card.locator(".unconfined")).to_contain_text("whatever the user that Steward runs as can")
    await expect(card.locator(".whole-command .diff").first).to_have_text("sh -c 'make ⟦U+202E⟧ test'")
    facts = card.locator(".facts > div")
    await expect(facts).to_have_count(6)
    await expect(facts.filter(has_text="Network")).to_have_text("Networkcan be reached")
    await expect(card.locator(".whole-command .diff").last).to_have_text("network: no")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    await assert_accessible(page)
    await expect(card.get_by_role("button", name="Allow once", exact=True)).to_have_count(0)
    await card.get_by_role("button", name="Allow once, not confined").click()
    await expect(card).to_have_count(0)


async def test_a_rule_shows_its_scope_and_decides_nothing(stand_in: StandIn, open_page: OpenPage) -> None:
    """E5, E7, E9: the scope is shown before it is saved, by its digest; the card still waits for its own decision."""
    stand_in.add_approval("approval_1", task_id="task_1")
    page = await open_page()
    card = page.locator(".work-cards .approval")
    await card.get_by_role("button", name="Always handle like this").press("Enter")
    await expect(card.locator(".rule-words")).to_have_text("Create and change “summary.md”, whatever is in it.")
    await expect(card.get_by_label("Allow", exact=True)).to_be_focused()
    await assert_accessible(page)
    await page.keyboard.press("Escape")
    await expect(card.get_by_role("button", name="Always handle like this")).to_be_focused()
    await page.keyboard.press("Enter")
    await card.get_by_label("Ask me every time").check(force=True)
    await card.get_by_role("button", name="Save the rule").click()
    await expect(card).to_contain_text("The rule is saved. This action still waits for your decision.")
    sent = stand_in.calls_of("agents.rules.save")[0]["params"]
    assert sent == {"approval_id": "approval_1", "scope_digest": "cd" * 32, "mode": "ask"}
    assert stand_in.approvals["approval_1"]["state"] == "pending"
    assert stand_in.calls_of("agents.approvals.decide") == []
    await card.get_by_role("link", name="All rules").click()
    await expect(page.locator(".rule")).to_have_count(1)


async def test_what_no_rule_covers_is_said(stand_in: StandIn, open_page: OpenPage) -> None:
    """E6, E7: a card that no rule can cover says so; after an answer that was lost the state is read, not assumed."""
    stand_in.add_approval("approval_1", task_id="task_1")
    page = await open_page()
    card = page.locator(".work-cards .approval")
    stand_in.refusals["agents.rules.preview"] = Refusal("rule_scope_invalid")
    await card.get_by_role("button", name="Always handle like this").click()
    await expect(card).to_contain_text("No rule can cover this")
    del stand_in.refusals["agents.rules.preview"]
    await card.get_by_role("button", name="Always handle like this").click()
    stand_in.refusals["agents.rules.save"] = Refusal("internal_error")
    await card.get_by_role("button", name="Save the rule").click()
    await expect(card.get_by_role("alert")).to_contain_text("It did not work")
    scope = {"operations": ["file.create", "file.replace"], "path": "/files/summary.md", "kind": "file"}
    stand_in.add_rule("rule_1", "Create and change “summary.md”.", scope=scope)
    await card.get_by_role("button", name="Save the rule").click()
    await expect(card).to_contain_text("The rule is saved.")


async def test_rules_are_switched_paused_and_deleted(stand_in: StandIn, open_page: OpenPage) -> None:
    """E6, E7: each change names the revision that was shown; a conflict is told and shown as it is now."""
    rule = stand_in.add_rule("rule_1", "Create and change “summary.md”.")
    page = await open_page("/#/settings/rules")
    row = page.locator(".rule")
    await assert_accessible(page)
    await row.get_by_label("Ask me every time").check(force=True)
    await expect(row.get_by_role("button", name="Pause")).to_be_enabled()
    assert rule["mode"] == "ask"
    await row.get_by_role("button", name="Pause").press("Enter")
    await expect(row.locator(".pill")).to_have_text("Paused")
    assert rule["paused"] is True
    rule.update(revision=9, mode="allow")
    await row.get_by_role("button", name="Put in force").click()
    await expect(row.get_by_role("alert")).to_have_text("It has changed meanwhile.")
    await expect(row.get_by_label("Allow", exact=True)).to_be_checked()
    await row.get_by_role("button", name="Delete").click()
    await row.get_by_role("button", name="Delete the rule").click()
    await expect(page.locator(".settings-section")).to_contain_text("No rule yet.")
    assert stand_in.rules == []
    revisions = [call["params"]["expected_revision"] for call in stand_in.calls_of("agents.rules.update")]
    assert revisions == [1, 2, 3]


async def test_the_reviewers_words_are_on_the_card(stand_in: StandIn, open_page: OpenPage) -> None:
    """E8, E9: why the automatic review left it to a person, as the model's words and as text only."""
    review = {"verdict": "unsure", "reason": "<b>odd</b>"}
    stand_in.add_approval("approval_1", review=review)
    stand_in.effects = [{**effect("effect_1", "refused"), "review": {**review, "verdict": "deny"}}]
    page = await open_page("/#/approval/approval_1")
    said = "The automatic review was not sure. Its model says: “<b>odd</b>”"
    await expect(page.locator(".approval .approval-review").first).to_have_text(said)
    page = await open_page("/#/settings/effects")
    await page.locator(".effect summary").click()
    await expect(page.locator(".effect")).to_contain_text(
        "The automatic review denied this. Its model says: “<b>odd</b>”"
    )


async def test_effects_are_listed_and_say_why(stand_in: StandIn, open_page: OpenPage) -> None:
    """E13, E20: every effect with its trail; a voided one says why in words; an unknown one is settled, not retried."""
    voided = {**effect("effect_1", "refused"), "reason": "approval_invalidated", "approval_id": "approval_1"}
    voided["trail"] += [{"step": "policy", "verdict": "deny", "code": "precondition_changed", "at": iso()}]
    stand_in.add_approval("approval_1", state="invalidated", reason="precondition_changed")
    stand_in.effects = [voided, effect("effect_2", "unknown")]
    page = await open_page("/#/settings/effects")
    section = page.locator(".settings-section")
    first = section.locator(".effect", has_text="Refused")
    why = "What was decided about has changed, so nothing was done. The file or program has changed meanwhile."
    await expect(first.locator(".effect-why")).to_have_text(why)
    await assert_accessible(page)
    await section.get_by_label("Which effects").select_option("unknown")
    await expect(section.locator(".effect")).to_have_count(1)
    await section.locator(".effect summary").click()
    await section.get_by_role("button", name="Say what became of it").click()
    await section.get_by_label("What you found").fill("The file is there")
    await section.get_by_role("button", name="It happened").click()
    await expect(section).to_contain_text("There are none.")
    await section.get_by_label("Which effects").select_option("all")
    await first.locator("summary").click()
    await first.get_by_role("link", name="Show the decision").click()
    await expect(page.locator("#work-detail .approval")).to_have_attribute("data-state", "invalidated")
    await expect(section).to_be_visible()


async def test_a_card_decided_before_parking_is_reached_from_its_message(
    stand_in: StandIn, open_page: OpenPage
) -> None:
    """C1, E20: a message whose turn changed something names it and leads to the trail and the decision."""
    asked = stand_in.add("user", "Write it")
    stand_in.add("assistant", "Written.", turn_id=asked["turn_id"])
    own = {**effect("effect_1"), "turn_id": asked["turn_id"], "approval_id": "approval_1"}
    del own["task_id"]
    stand_in.add_approval("approval_1", state="approved", turn_id=asked["turn_id"], effect_id="effect_1")
    stand_in.effects = [own]
    page = await open_page()
    line = page.locator("#message-2 .change-line")
    await expect(line).to_contain_text("Write summary.md")
    await line.press("Enter")
    await page.locator("#work-detail").get_by_role("link", name="Show the decision").click()
    await expect(page.locator("#work-detail .approval-title")).to_have_text("Allowed once")


async def test_the_person_chooses_review_and_language(
    stand_in: StandIn, open_page: OpenPage, eventually: Eventually
) -> None:
    """E8, O6: automatic review is the person's choice, under the revision shown; the host keeps the language too."""
    page = await open_page("/#/settings")
    panel = page.locator(".panel", has_text="Automatic review")
    await expect(panel.get_by_label("Are reviewed")).to_be_checked()
    await panel.get_by_label("Always ask me").check(force=True)
    await eventually(lambda: stand_in.settings["auto_review"] is False, "the choice")
    assert stand_in.calls_of("agents.settings.update")[0]["params"] == {
        "expected_revision": 0,
        "changes": {"auto_review": False},
    }
    await expect(panel.get_by_label("Always ask me")).to_be_focused()
    await page.click("#language-toggle")
    await eventually(lambda: stand_in.settings["language"] == "zh", "the language")
    stand_in.settings.update(auto_review=True, revision=7)
    await stand_in.notify("settings")
    await expect(page.get_by_label("自动审查", exact=True)).to_be_checked()


async def test_what_was_said_is_not_kept_in_the_other_language(stand_in: StandIn, open_page: OpenPage) -> None:
    """O6: after a switch no line for screen readers stays in the language before."""
    stand_in.add_approval("approval_1", task_id="task_1")
    page = await open_page()
    await page.get_by_role("button", name="Deny").click()
    await expect(page.locator("#announcer")).to_have_text("Denied")
    await page.click("#language-toggle")
    await expect(page.locator("#announcer")).to_have_text("")
