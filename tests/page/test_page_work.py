"""The right column in a real browser: decisions, bands, details, settings (O6, E9, E10, E20, T16)."""

from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import expect

from tests.conftest import Eventually
from tests.page.conftest import OpenPage
from tests.page.stand_in import Json, StandIn, iso

pytestmark = pytest.mark.browser


def task(task_id: str, title: str, state: str, **fields: object) -> Json:
    now = iso()
    return {"task_id": task_id, "title": title, "state": state, "created_at": now, "updated_at": now, **fields}


def effect(effect_id: str, state: str = "succeeded") -> Json:
    steps = [("proposal", "proposed"), ("policy", "allow"), ("decision", "approved"), ("outcome", state)]
    trail = [{"step": step, "verdict": verdict, "at": iso()} for step, verdict in steps]
    return {
        "effect_id": effect_id,
        "kind": "file",
        "state": state,
        "task_id": "task_1",
        "action_digest": "ab" * 32,
        "words": "Write summary.md",
        "created_at": iso(),
        "trail": trail,
    }


async def test_decision_names_what_was_shown(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """E9, E10: the diff shows on demand; the decision names version and digest; the card then says how it ended."""
    added = "+# Summary\n+" + "a line longer than the column " * 9
    card = stand_in.add_approval(
        "approval_1",
        task_id="task_1",
        expires_at=iso(datetime.now(UTC) + timedelta(minutes=25)),
        details={"diff": "--- /dev/null\n+++ summary.md\n@@ -0,0 +1,2 @@\n" + added},
    )
    page = await open_page()
    shown = page.locator(".work-cards .approval")
    await expect(shown).to_contain_text("Write summary.md")
    await expect(shown.locator("time")).to_have_text("expires in 25 min")
    await expect(page.locator("#decision-strip")).to_have_text("1 decision is waiting")
    assert await page.title() == "(1) Steward"
    await expect(shown.locator(".diff")).to_have_count(0)
    await shown.get_by_role("button", name="Show changes").click()
    await expect(shown.locator(".diff-added")).to_have_text(added.splitlines())
    assert await page.locator("#work").evaluate("node => node.scrollWidth <= node.clientWidth")
    digest = card["action_digest"]
    await shown.get_by_role("button", name="Allow once").click()
    await eventually(lambda: len(stand_in.calls_of("agents.approvals.decide")) == 1, "the decision")
    sent = stand_in.calls_of("agents.approvals.decide")[0]
    assert sent["params"] == {
        "approval_id": "approval_1",
        "version": 1,
        "action_digest": digest,
        "decision": "allow_once",
    }
    assert sent["request_id"]
    await expect(page.locator("#decision-strip")).to_be_hidden()
    assert await page.title() == "Steward"


async def test_card_of_a_turn_stands_in_the_conversation(stand_in: StandIn, open_page: OpenPage) -> None:
    """C1, E9: a running turn's card shows below its text, and the parked turn's message carries it once."""
    page = await open_page()
    await stand_in.notify("turn.state", turn_id="turn_1", state="running")
    stand_in.add_approval("approval_1", turn_id="turn_1")
    await stand_in.notify("approvals")
    await expect(page.locator("#turn-cards .approval")).to_have_count(1)
    await expect(page.locator(".stream-status")).to_have_text("Waiting for your decision")
    await stand_in.end_turn("turn_1", "I would write summary.md.", state="parked", card="approval_1")
    inline = page.locator("#messages .approval")
    await expect(inline).to_have_count(1)
    await expect(page.locator("#turn-cards .approval")).to_have_count(0)
    await inline.get_by_role("button", name="Deny").click()
    await expect(inline).to_have_attribute("data-state", "denied")
    await expect(inline.locator(".approval-title")).to_have_text("Denied")
    await expect(inline.locator("button")).to_have_count(0)


async def test_conflict_shows_the_card_as_it_is_now(stand_in: StandIn, open_page: OpenPage) -> None:
    """E10: when the card changed meanwhile nothing is decided; the new card shows, with a word about it."""
    card = stand_in.add_approval("approval_1", turn_id="turn_1")
    page = await open_page()
    shown = page.locator("#turn-cards .approval")
    await expect(shown).to_contain_text("Write summary.md")
    card.update(version=2, words="Write summary.md and notes.md")
    await shown.get_by_role("button", name="Allow once").click()
    await expect(shown.locator(".approval-note")).to_contain_text("Look at it again")
    await expect(shown).to_contain_text("Write summary.md and notes.md")
    assert card["state"] == "pending"
    await shown.get_by_role("button", name="Allow once").click()
    await expect(page.locator("#turn-cards .approval")).to_have_count(0)


async def test_no_preview_is_said(stand_in: StandIn, open_page: OpenPage) -> None:
    """E9: large or binary content says that there is no preview."""
    stand_in.add_approval("approval_1", task_id="task_1", details={"diff": None})
    page = await open_page()
    await page.get_by_role("button", name="Show changes").click()
    await expect(page.locator(".approval-preview")).to_contain_text("No preview")


async def test_bands_change_without_reload_and_keep_focus(stand_in: StandIn, open_page: OpenPage) -> None:
    """O6: the bands follow notices; a focused row that changes keeps the focus."""
    stand_in.activity["in_progress"] = [task("task_1", "First", "running"), task("task_2", "Second", "running")]
    page = await open_page()
    rows = page.locator(".band").first.locator(".row")
    await expect(rows).to_have_count(2)
    await rows.first.focus()
    stand_in.activity["in_progress"][0]["progress"] = "Read 2 of 3 parts"
    await stand_in.notify("activity")
    await expect(rows.first).to_contain_text("Running · Read 2 of 3 parts")
    await expect(rows.first).to_be_focused()


async def test_detail_takes_only_the_right_column(stand_in: StandIn, open_page: OpenPage) -> None:
    """O6, T16, E20: a task's detail shows result, requirement, effects with trail, deliveries and workflows."""
    art = stand_in.add_file(b"# Summary\n", "summary.md", "text/markdown", "artifact")
    row = task("task_1", "Summarise notes", "completed", result={"summary": "All in there.", "artifacts": [art]})
    stand_in.add("assistant", "Done.")
    stand_in.activity["recent_activity"] = [row]
    stand_in.tasks["task_1"] = {
        "task": row,
        "requirements": [{"version": 1, "instructions": "Summarise notes.txt", "request_id": "r"}],
        "attempts": [{"requirement_version": 1, "attempt": 1, "session_id": "s", "request_id": "r", "state": "failed"}],
        "effects": [effect("effect_1", "unknown")],
        "deliveries": [{"delivery_id": "d", "kind": "result", "state": "delivered", "message_seq": 1}],
        "workflows": [
            {"workflow_id": "task:task_1", "url": "http://127.0.0.1:8233/x"},
            {"workflow_id": "w", "url": None},
        ],
    }
    page = await open_page()
    await page.fill("#composer-text", "still here")
    await page.locator(".row", has_text="Summarise notes").click()
    detail = page.locator("#work-detail")
    await expect(detail.locator("h2")).to_be_focused()
    for words in ("All in there.", "Summarise notes.txt", "Attempt 1", "Delivered", "task:task_1"):
        await expect(detail).to_contain_text(words)
    await detail.locator(".effect summary").click()
    verdicts = ["Proposed", "Allowed", "Allowed once", "Outcome unknown"]
    await expect(detail.locator(".trail-verdict")).to_have_text(verdicts)
    await expect(detail).to_contain_text("It was started, and its outcome is not known.")
    await detail.get_by_role("button", name="Show", exact=True).click()
    await expect(detail.locator(".file-text")).to_have_text("# Summary\n")
    await expect(page.locator("#composer-text")).to_have_value("still here")
    await page.keyboard.press("Escape")
    await expect(page.locator(".row", has_text="Summarise notes")).to_be_focused()
    await page.go_back()
    await expect(detail).to_be_visible()


async def test_open_detail_follows_its_task(stand_in: StandIn, open_page: OpenPage) -> None:
    """T1, O6: an open detail changes when its task does, without closing what was opened in it."""
    row = task("task_1", "Work", "running", progress="Step 1")
    stand_in.tasks["task_1"] = {"task": row, "effects": [effect("effect_1")]}
    page = await open_page("/#/task/task_1")
    await page.locator(".effect summary").click()
    row.update(progress="Step 2")
    await stand_in.notify("tasks", task_id="task_1")
    await expect(page.locator(".task-progress")).to_have_text("Step 2")
    await expect(page.locator(".trail")).to_be_visible()


async def test_effect_opens_from_recent_activity(stand_in: StandIn, open_page: OpenPage) -> None:
    """E20: an effect's whole trail opens in the right column."""
    stand_in.effects = [effect("effect_1")]
    stand_in.activity["recent_activity"] = [
        {"effect_id": "effect_1", "words": "Write summary.md", "state": "succeeded", "at": iso()}
    ]
    page = await open_page()
    await page.locator(".row", has_text="Write summary.md").click()
    await expect(page.locator("#work-detail .trail li")).to_have_count(4)


async def test_settings_are_shown_read_only(open_page: OpenPage) -> None:
    """O6, P14: settings show what is set; theme and language are this browser's own."""
    page = await open_page("/#/settings")
    facts = page.locator(".facts.wide")
    await expect(facts).to_contain_text("model_api_key")
    await expect(facts).to_contain_text("not set")
    await page.get_by_text("Dark", exact=True).click()
    assert await page.evaluate("document.documentElement.dataset.theme") == "dark"
    await page.get_by_text("中文").last.click()
    await expect(page.locator("#settings-title")).to_have_text("设置")
    await page.reload()
    await expect(page.locator("#settings-title")).to_have_text("设置")
    assert await page.evaluate("document.documentElement.dataset.theme") == "dark"
