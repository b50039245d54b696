"""Questions, stops, resumes, retries and settlements in a real browser (T7-T12, S1-S6, D5, E13, O6)."""

import pytest
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page, expect

from tests.conftest import Eventually
from tests.page.conftest import OpenPage
from tests.page.stand_in import StandIn
from tests.page.test_page_work import effect, task

pytestmark = pytest.mark.browser
DELIVERY = {"delivery_id": "d", "kind": "question", "task_id": "task_1"}


async def assert_accessible(page: Page) -> None:
    found = await Axe().run(page)
    serious = [v["id"] for v in found.response["violations"] if v["impact"] in {"serious", "critical"}]
    assert serious == []


async def test_a_question_is_answered_by_an_option(
    stand_in: StandIn, open_page: OpenPage, eventually: Eventually
) -> None:
    """T7, T9, O6: the card stands under its message and nowhere else; one press answers, by id and revision."""
    stand_in.add("assistant", "Which month do you mean?", delivery=DELIVERY)
    stand_in.add_question("question_1", "Which month?", "March", "April", message_seq=1)
    stand_in.activity["in_progress"] = [task("task_1", "Work", "waiting_user", question={"text": "Which month?"})]
    page = await open_page()
    inline = page.locator("#messages .question")
    await expect(inline.locator(".approval-words")).to_have_text("Which month?")
    await expect(page.locator(".row-line")).to_have_text("Waiting for your answer")
    await expect(page.get_by_text("Which month?", exact=True)).to_have_count(1)
    await expect(page.locator("#decision-strip")).to_have_text("1 question is waiting")
    assert await page.title() == "(1) Steward"
    await page.locator("#decision-strip").press("Enter")
    await expect(inline.get_by_role("button", name="March")).to_be_focused()
    await assert_accessible(page)
    await inline.get_by_role("button", name="April").press("Enter")
    await eventually(lambda: len(stand_in.calls_of("user-question/respond")) == 1, "the answer")
    sent = stand_in.calls_of("user-question/respond")[0]["params"]
    assert sent.pop("request_id")
    assert sent == {"question_id": "question_1", "revision": 1, "answer": {"option_id": "option_2"}}
    await expect(inline.locator(".approval-title")).to_have_text("Answered")
    await expect(inline.locator(".question-answer")).to_have_text("Answer: April")
    await expect(page.locator("#decision-strip")).to_be_hidden()
    await page.reload()
    await expect(inline.locator(".question-answer")).to_have_text("Answer: April")


async def test_a_question_whose_message_is_not_on_screen_stands_at_the_right(
    stand_in: StandIn, open_page: OpenPage
) -> None:
    """T7, O6: a question that no message on screen tells is asked in the right column, until one does."""
    stand_in.add_question("question_1", "Which month?", "March", message_seq=1)
    stand_in.add_approval("approval_1", task_id="task_2")
    page = await open_page()
    right = page.locator(".work-cards .question")
    await expect(right).to_have_count(1)
    await expect(page.locator("#decision-strip")).to_have_text("1 decision is waiting · 1 question is waiting")
    assert await page.title() == "(2) Steward"
    stand_in.add("assistant", "Which month do you mean?", delivery=DELIVERY)
    await stand_in.stored()
    await expect(page.locator("#messages .question")).to_have_count(1)
    await expect(right).to_have_count(0)
    await page.locator("#messages .question").get_by_role("button", name="March").click()
    await expect(page.locator("#decision-strip")).to_have_text("1 decision is waiting")


async def test_words_typed_survive_and_the_loser_is_told(stand_in: StandIn, open_page: OpenPage) -> None:
    """T9, O6: both places share what was typed, in both languages; an answer that lost is told and shown as it is."""
    stand_in.add("assistant", "Which month do you mean?", delivery=DELIVERY)
    question = stand_in.add_question("question_1", "Which month?", message_seq=1)
    page = await open_page()
    field = page.locator("#messages .question textarea")
    await field.fill("the last one")
    await page.click("#language-toggle")
    await expect(field).to_have_value("the last one")
    await page.click("#language-toggle")
    question["revision"] = 2
    await field.press("Enter")
    note = page.locator("#messages .question .approval-note")
    await expect(note).to_contain_text("The question has changed. Look at it again.")
    await expect(field).to_have_value("the last one")
    question.update(state="answered", answer="April", revision=3)
    await field.press("Enter")
    await expect(note).to_contain_text("The question was answered or closed meanwhile.")
    await expect(page.locator("#messages .question-answer")).to_have_text("Answer: April")
    await expect(page.locator("#messages .question textarea")).to_have_count(0)


async def test_a_question_that_arrives_can_be_left_unanswered(stand_in: StandIn, open_page: OpenPage) -> None:
    """T9, D9, O6: a question shows on notice, on a phone too, and is closed without an answer."""
    page = await open_page(viewport={"width": 360, "height": 740})
    label = "A label that is longer than a phone is wide" * 2
    stand_in.add_question("question_1", "Which " + "month" * 30 + "?", label)
    await stand_in.notify("questions", question_id="question_1")
    await expect(page.locator("#phone-badge")).to_have_text("1")
    await page.click("#decision-strip")
    card = page.locator(".work-cards .question")
    await expect(card.get_by_role("button").first).to_be_focused()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    await card.get_by_role("button", name="Go on without an answer").click()
    await expect(card).to_have_count(0)
    assert stand_in.questions["question_1"]["state"] == "cancelled"


async def test_a_stop_is_confirmed_and_followed(stand_in: StandIn, open_page: OpenPage) -> None:
    """S1-S3, S6, O6: a stop asks back, says how far it is, and names what it could not settle."""
    stand_in.tasks["task_1"] = {"task": task("task_1", "Work", "running"), "effects": [effect("effect_1", "unknown")]}
    child = task("task_2", "Part", "stopping", parent_task_id="task_1")
    page = await open_page("/#/task/task_1", color_scheme="dark", reduced_motion="reduce")
    detail = page.locator("#work-detail")
    await detail.get_by_role("button", name="Stop").press("Enter")
    await expect(detail.get_by_role("button", name="Cancel")).to_be_focused()
    await assert_accessible(page)
    await page.keyboard.press("Escape")
    await expect(detail.get_by_role("button", name="Stop")).to_be_focused()
    await expect(detail.locator(".task-title")).to_have_text("Work")
    assert stand_in.calls_of("agents.tasks.stop") == []
    await page.keyboard.press("Enter")
    await detail.get_by_role("button", name="Stop the task").click()
    state = detail.locator(".stop-state")
    await expect(state).to_have_text("Stop accepted. Nothing new starts.")
    await expect(detail.get_by_role("button", name="Stop")).to_have_count(0)
    stand_in.tasks["task_2"] = {"task": child}
    stand_in.tasks["task_1"]["intents"][0].update(state="reconciling", covered=["task_1", "task_2"])
    await stand_in.notify("tasks", task_id="task_1")
    await expect(state).to_have_text("Stopping… 2 tasks are still running")
    stand_in.finish_stop("task_1", unsettled=["effect_1"])
    await stand_in.notify("tasks", task_id="task_1")
    await expect(state).to_have_count(0)
    await expect(detail.locator(".intent")).to_contain_text("Stopped. Nothing of it runs any more.")
    await expect(detail.locator(".intent a")).to_have_attribute("href", "#/effect/effect_1")
    await expect(detail.locator(".unknown-effects")).to_contain_text("The outcome of 1 effect is unknown")
    await assert_accessible(page)


async def test_an_ended_task_is_resumed_with_new_instructions(
    stand_in: StandIn, open_page: OpenPage, eventually: Eventually
) -> None:
    """T11, T12, O6: resume takes words, keeps them while the detail changes, warns of unknown effects."""
    row = task("task_1", "Work", "failed", reason="model_unavailable", requirement_version=1)
    stand_in.tasks["task_1"] = {"task": row, "effects": [effect("effect_1", "unknown")]}
    page = await open_page("/#/task/task_1")
    detail = page.locator("#work-detail")
    await detail.get_by_role("button", name="Resume").click()
    field = detail.get_by_label("New instructions")
    await expect(field).to_be_focused()
    await expect(detail.locator(".inline-form.open")).to_contain_text("The outcome of 1 effect is unknown. Look at it")
    await assert_accessible(page)
    await page.keyboard.type("Once more, shor")
    row["updated_at"] = "2030-01-01T00:00:00.000Z"
    await stand_in.notify("tasks", task_id="task_1")
    await expect(detail.locator(".facts")).to_contain_text("2030")
    await page.keyboard.type("ter")
    await detail.get_by_role("button", name="Resume the task").click()
    await expect(detail.locator(".task-state .pill")).to_have_text("Accepted")
    await eventually(lambda: len(stand_in.calls_of("agents.tasks.resume")) == 1, "the resume")
    sent = stand_in.calls_of("agents.tasks.resume")[0]
    assert sent["params"] == {"task_id": "task_1", "instructions": "Once more, shorter"}
    assert sent["request_id"]
    await expect(page.locator("#announcer")).to_have_text("Resumed as version 2")


async def test_a_failed_delivery_is_retried_and_an_unknown_effect_settled(
    stand_in: StandIn, open_page: OpenPage
) -> None:
    """D5, E13, O6: a retry that is refused says why; an unknown effect is settled by the person who looked."""
    delivery = {"delivery_id": "delivery_1", "kind": "result", "state": "failed", "reason": "turn_stopped"}
    stand_in.tasks["task_1"] = {
        "task": task("task_1", "Work", "completed", result={"summary": "Done.", "artifacts": []}),
        "effects": [effect("effect_1", "unknown")],
        "deliveries": [delivery],
        "questions": [{**stand_in.add_question("question_1", "Which?", state="answered"), "answer": "This one"}],
    }
    page = await open_page("/#/task/task_1")
    detail = page.locator("#work-detail")
    await expect(detail.locator(".answered")).to_contain_text("Answer: This one")
    delivery["state"] = "delivered"
    await detail.get_by_role("button", name="Deliver again").click()
    await expect(detail.get_by_role("alert")).to_have_text("Only a failed delivery can be delivered again.")
    delivery["state"] = "failed"
    await stand_in.notify("tasks", task_id="task_1")
    await detail.get_by_role("button", name="Deliver again").click()
    await expect(detail.locator(".line .pill-submitted")).to_be_visible()
    await detail.locator(".effect summary").click()
    await detail.get_by_role("button", name="Say what became of it").click()
    await detail.get_by_label("What you found").fill("The file is there")
    await detail.get_by_role("button", name="It happened").click()
    await expect(detail.locator(".effect summary .pill")).to_have_text("Succeeded")
    settled = stand_in.calls_of("agents.effects.settle")[0]["params"]
    assert settled == {"effect_id": "effect_1", "outcome": "succeeded", "note": "The file is there"}
    await expect(detail.locator(".unknown-effects")).to_have_count(0)
