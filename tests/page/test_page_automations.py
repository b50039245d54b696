"""Automations in a real browser (U2, U3, U6-U9, O6): list, detail, forms, proposals, permission."""

import pytest
from playwright.async_api import Locator, Page, expect

from tests.conftest import Eventually
from tests.page.conftest import OpenPage
from tests.page.stand_in import Json, Refusal, StandIn, iso
from tests.page.test_page_automation_proposals import proposed
from tests.page.test_page_control import assert_accessible

pytestmark = pytest.mark.browser
AT_9: Json = {"cron": {"expression": "0 9 * * 1-5"}, "timezone": "Europe/Berlin"}
BERLIN = {"timezone_id": "Europe/Berlin"}


def ran(state: str = "ran", **fields: object) -> Json:
    return {"nominal_time": iso(), "state": state, "cause": "schedule", "count": 1, **fields}


async def fill_in(page: Page, title: str, instructions: str) -> Locator:
    form = page.locator(".automation-edit")
    await form.get_by_label("Name").fill(title)
    await form.get_by_label("What is to be done").fill(instructions)
    return form


async def test_the_list_says_when_and_how_it_went(stand_in: StandIn, open_page: OpenPage) -> None:
    """U8, O6: from the navigation, beside the conversation; one broken row is shown and stops nothing."""
    stand_in.add_automation(runs=[ran(outcome="completed", task_id="task_1")])
    stand_in.add_automation("Inbox", state="paused", reason="failures", next_times=[])
    stand_in.add_automation("Once", {"once": {"at": "2100-01-01T08:00"}, "timezone": "UTC"}, state="done")
    broken: Json = {"error": {"code": "invalid_params", "message": "?"}, "words": None, "next_times": []}
    stand_in.add_automation("Broken", **broken)
    page = await open_page(**BERLIN)
    await page.locator(".nav-item[data-view=automations]").click()
    await expect(page.locator("#conversation")).to_be_visible()
    rows = page.locator(".automation-row")
    await expect(rows).to_have_count(4)
    await expect(rows.nth(2)).to_contain_text("every weekday at 08:00, Europe/Berlin")
    await expect(rows.nth(2)).to_contain_text("last: Completed")
    await expect(rows.nth(2).locator("time")).to_contain_text("8:00")
    await expect(rows.nth(1)).to_contain_text("It failed several times in a row")
    await expect(rows.nth(0)).to_contain_text("Its schedule cannot be read.")
    await expect(rows.nth(3).locator(".pill")).to_have_text("Done")
    await assert_accessible(page)
    stand_in.add_automation("A new one")
    await stand_in.notify("automations")
    await expect(rows).to_have_count(5)
    await rows.first.press("Enter")
    await expect(page.locator("#work-detail .task-title")).to_have_text("A new one")
    await page.keyboard.press("Escape")
    await expect(rows).to_have_count(5)
    await page.keyboard.press("Escape")
    await expect(page.locator("#work-bands")).to_be_visible()


async def test_a_run_says_what_became_of_it(stand_in: StandIn, open_page: OpenPage) -> None:
    """U4, U8: ran, left out, missed, each with its reason in words; the way to its task and to its delivery."""
    stand_in.add("assistant", "Done.", delivery={"delivery_id": "d", "kind": "result", "task_id": "task_1"})
    delivery = {"delivery_id": "d", "kind": "result", "state": "delivered", "message_seq": 1}
    stand_in.add_automation(
        runs=[
            ran(outcome="completed", task_id="task_1", delivery=delivery),
            ran("skipped", reason="overlap"),
            ran("missed", reason="outage", count=12),
            ran("skipped", reason="authorization", cause="catch_up"),
            ran(task_id="task_2", cause="manual"),
        ]
    )
    page = await open_page("/#/automations/automation_1", **BERLIN)
    runs = page.locator(".run")
    await expect(runs).to_have_count(5)
    await expect(runs.nth(1)).to_contain_text("Left out")
    await expect(runs.nth(1)).to_contain_text("The run before had not ended.")
    await expect(runs.nth(2)).to_contain_text("12 times")
    await expect(runs.nth(3)).to_contain_text("Its permission had ended. Made up for late.")
    await expect(runs.nth(4)).to_contain_text("Running")
    await expect(page.locator(".automation > .part .next-times li")).to_have_count(5)
    await expect(page.locator(".next-times .quiet")).to_have_count(0)
    await assert_accessible(page)
    await runs.nth(0).get_by_role("button", name="Show in conversation").click()
    await expect(page.locator("#message-1")).to_be_focused()
    await runs.nth(4).get_by_role("link", name="Open task").click()
    assert page.url.endswith("#/automations/task/task_2")
    await page.keyboard.press("Escape")
    assert page.url.endswith("#/automations")


async def test_times_are_told_in_the_persons_zone(stand_in: StandIn, open_page: OpenPage) -> None:
    """U8: what the person's clock shows, and beside it what the clock there shows."""
    stand_in.add_automation()
    page = await open_page("/#/automations/automation_1", timezone_id="Asia/Kolkata")
    first = page.locator(".next-times li").first
    await expect(first).to_contain_text("(8:00 there)")
    await expect(first.locator("time")).not_to_contain_text(" 8:00")


async def test_pause_run_and_delete(stand_in: StandIn, open_page: OpenPage, eventually: Eventually) -> None:
    """U7: each press names the revision on screen; what was refused shows how things stand; deletion asks first."""
    stand_in.add_automation()
    page = await open_page("/#/automations/automation_1")
    detail = page.locator("#work-detail")
    await detail.get_by_role("button", name="Pause").press("Enter")
    await expect(detail.locator(".pill").first).to_have_text("Paused")
    await detail.get_by_role("button", name="Resume").click()
    await expect(detail.locator(".pill").first).to_have_text("Active")
    await detail.get_by_role("button", name="Run now").click()
    await expect(page.locator("#announcer")).to_have_text("It is being run.")
    await expect(detail.locator(".run")).to_contain_text("Run by hand.")
    assert stand_in.calls_of("agents.automations.trigger")[0]["params"]["expected_revision"] == 3
    stand_in.refusals["agents.automations.pause"] = Refusal("revision_conflict")
    await detail.get_by_role("button", name="Pause").click()
    await expect(detail.locator(".form-note").first).to_have_text("It has changed meanwhile.")
    await detail.get_by_role("button", name="Delete…").click()
    await expect(detail).to_contain_text("A task of it that is running goes on.")
    assert stand_in.calls_of("agents.automations.delete") == []
    await detail.get_by_role("button", name="Delete the automation").click()
    await eventually(lambda: stand_in.automations == [], "the deletion")
    await expect(page.locator(".automations")).to_contain_text("Nothing runs by itself yet.")
    await page.goto(page.url.split("#")[0] + "#/automations/automation_1")
    await expect(detail).to_contain_text("This automation does not exist.")


async def test_an_automation_is_created_by_the_form(stand_in: StandIn, open_page: OpenPage) -> None:
    """U1, U2: what is missing is said at its field; the next times show while the person writes."""
    page = await open_page("/#/automations", **BERLIN)
    await page.get_by_role("link", name="New automation").click()
    form = page.locator(".automation-edit")
    await expect(form.locator(".schedule-preview")).to_contain_text("Europe/Berlin")
    await form.get_by_role("button", name="Create the automation").click()
    await expect(form.get_by_text("Give it a name.")).to_be_visible()
    await expect(form.get_by_label("Name")).to_be_focused()
    assert stand_in.calls_of("agents.automations.create") == []
    await fill_in(page, "Weekly letter", "write letter.md")
    await form.get_by_label("How often").select_option("weekly")
    await form.get_by_label("Monday").uncheck(force=True)
    await expect(form.get_by_text("Choose at least one day.")).to_be_visible()
    await expect(form.locator(".schedule-preview")).to_be_hidden()
    await form.get_by_label("At", exact=True).fill("")
    await form.get_by_role("button", name="Create the automation").click()
    await expect(form.get_by_label("Monday")).to_be_focused()
    await form.get_by_label("Monday").check(force=True)
    await expect(form.get_by_text("Give a time of day.")).to_be_visible()
    assert stand_in.calls_of("agents.automations.create") == []
    await form.get_by_label("Friday").check(force=True)
    await form.get_by_label("At", exact=True).fill("17:30")
    await expect(form.locator(".schedule-words")).to_have_text("every Monday and Friday at 17:30, Europe/Berlin")
    await expect(form.locator(".next-times li")).to_have_count(5)
    await assert_accessible(page)
    await form.get_by_text("More", exact=True).click()
    await form.get_by_label("Each time").select_option("continue")
    await form.get_by_label("A missed run").select_option("0")
    await form.get_by_role("button", name="Create the automation").click()
    await expect(page.locator("#work-detail .task-title")).to_have_text("Weekly letter")
    call = stand_in.calls_of("agents.automations.create")[0]
    assert call["user_input"] == {"text": "write letter.md"}
    assert call["params"]["schedule"] == {"cron": {"expression": "30 17 * * 1,5"}, "timezone": "Europe/Berlin"}
    wanted = {"mode": "continue", "catchup_s": 0, "overlap": "skip", "permission_mode": "standard", "agent_id": "twin"}
    assert {key: call["params"][key] for key in wanted} == wanted
    await page.get_by_role("button", name="Back").click()
    await page.get_by_role("link", name="New automation").click()
    await expect(page.locator(".automation-edit").get_by_label("Name")).to_have_value("")


async def test_faults_of_a_schedule_show_at_their_field(stand_in: StandIn, open_page: OpenPage) -> None:
    """U2: while typing and on saving; in Chinese in the page's own words; what was typed stays."""
    page = await open_page("/#/automations/new")
    form = await fill_in(page, "Odd", "do it")
    await form.get_by_label("How often").select_option("cron")
    expression = form.get_by_label("Expression")
    await expression.fill("61 8 * * *")
    await expect(expression).to_have_attribute("aria-invalid", "true")
    fault = form.locator("[id$=expression-error]")
    await expect(fault).to_contain_text("61")
    await form.get_by_role("button", name="Create the automation").click()
    await stand_in.notify("automations")
    await expect(fault).to_contain_text("61")
    await expect(expression).to_have_value("61 8 * * *")
    await page.locator("#language-toggle").click()
    await expect(page.locator("[id$=expression-error]")).to_have_text("无法据此计算时间。")
    await expect(page.get_by_label("名称")).to_have_value("Odd")
    await page.get_by_label("表达式").fill("*/20 8 * * *")
    await expect(page.locator("[id$=expression-error]")).to_be_empty()
    await page.get_by_label("频率").select_option("once")
    await page.get_by_label("日期和时间").fill("2020-01-01T08:00")
    await expect(page.locator(".automation-edit")).to_contain_text("该时间已过，不会运行。")
    await page.get_by_label("频率").select_option("interval")
    await page.get_by_label("每隔", exact=True).fill("0")
    await expect(page.locator("[id$=amount-error]")).to_have_text("请填写不小于 1 的整数。")
    assert stand_in.automations == []


SCHEDULES: list[tuple[Json, str]] = [
    ({"cron": {"expression": "5 7 * * *"}, "timezone": "UTC"}, "daily"),
    ({"cron": {"expression": "0 8 * * mon-fri"}, "timezone": "UTC"}, "weekdays"),
    ({"cron": {"expression": "0 8 * * mon,7"}, "timezone": "UTC"}, "weekly"),
    ({"cron": {"expression": "0 8 31 * *"}, "timezone": "UTC"}, "monthly"),
    ({"cron": {"expression": "0 8 1 1 *"}, "timezone": "UTC"}, "cron"),
    ({"cron": {"expression": "*/5 * * * *"}, "timezone": "UTC"}, "cron"),
    ({"cron": {"expression": "0 8 * * mon#1"}, "timezone": "UTC"}, "cron"),
    ({"every": {"seconds": 5400, "offset_s": 60}, "timezone": "UTC"}, "interval"),
    ({"every": {"seconds": 172800, "offset_s": 0}, "timezone": "UTC"}, "interval"),
    ({"every": {"seconds": 7, "offset_s": 0}, "timezone": "UTC"}, "interval"),
    ({"once": {"at": "2100-01-01T08:00:00"}, "timezone": "Europe/Berlin"}, "once"),
    ({"once": {"at": "2100-01-01T07:00:00Z"}, "timezone": "Europe/Berlin"}, "once"),
]


async def test_a_schedule_fills_the_form_and_comes_out_the_same(open_page: OpenPage) -> None:
    """U2, U3: every kind has its preset, what none can say stays an expression, and nothing is changed by looking."""
    page = await open_page(**BERLIN)
    module = (await page.locator("script[type=module]").get_attribute("src") or "").replace("main.js", "")
    there_and_back = """async ([folder, schedules]) => {
      const { fieldsOf, scheduleOf } = await import(`${folder}schedule_presets.js`);
      return schedules.map((schedule) => [fieldsOf(schedule).preset, scheduleOf(fieldsOf(schedule))]);
    }"""
    found = await page.evaluate(there_and_back, [module, [schedule for schedule, _ in SCHEDULES]])
    assert [preset for preset, _ in found] == [preset for _, preset in SCHEDULES]
    names = {"mon-fri": "1-5", "mon,7": "0,1"}
    for (before, _), (_, after) in zip(SCHEDULES, found, strict=True):
        if "cron" in before:
            expression = before["cron"]["expression"]
            fields = expression.rsplit(" ", 1)
            assert after["cron"]["expression"] == f"{fields[0]} {names.get(fields[1], fields[1])}"
        elif "every" in before:
            assert after["every"].get("offset_s", 0) == before["every"]["offset_s"]
            assert after["every"]["seconds"] == before["every"]["seconds"]
        else:
            assert after == {"once": {"at": "2100-01-01T08:00"}, "timezone": "Europe/Berlin"}


async def test_rescheduling_keeps_the_automation(stand_in: StandIn, open_page: OpenPage) -> None:
    """U3: the form begins with the present schedule, survives notices, and moves the same automation."""
    stand_in.add_automation()
    page = await open_page("/#/automations/automation_1", **BERLIN)
    await page.get_by_role("button", name="Reschedule…").click()
    form = page.locator(".automation-edit")
    await expect(form.get_by_label("How often")).to_be_focused()
    await expect(form.get_by_label("How often")).to_have_value("weekdays")
    clock = form.get_by_label("At", exact=True)
    await clock.fill("09:00")
    stand_in.automations[0]["runs"].append(ran(outcome="completed"))
    await stand_in.notify("automations")
    await expect(page.locator(".run")).to_have_count(1)
    await expect(clock).to_have_value("09:00")
    await expect(clock).to_be_focused()
    await form.get_by_role("button", name="Move it").click()
    await expect(page.locator(".automation > .schedule-words")).to_have_text("every weekday at 09:00, Europe/Berlin")
    assert stand_in.calls_of("agents.automations.reschedule")[0]["params"]["schedule"] == AT_9
    await expect(page.get_by_role("button", name="Reschedule…")).to_be_focused()


async def test_an_edit_writes_only_what_changed(stand_in: StandIn, open_page: OpenPage) -> None:
    """U3: instructions, name and rules; Escape leaves the form and nothing else."""
    stand_in.add_automation()
    page = await open_page("/#/automations/automation_1")
    await page.get_by_role("button", name="Edit…").click()
    form = page.locator(".automation-edit")
    await expect(form).to_contain_text("the permission that was given for it no longer counts")
    await page.keyboard.press("Escape")
    await expect(form).to_have_count(0)
    await page.get_by_role("button", name="Edit…").click()
    await form.get_by_label("What is to be done").fill("summarise notes.txt into week.md")
    await form.get_by_role("button", name="Save").click()
    await expect(page.locator(".automation .plain")).to_have_text("summarise notes.txt into week.md")
    sent = stand_in.calls_of("agents.automations.update")[0]["params"]
    assert sent == {
        "automation_id": "automation_1", "expected_revision": 1, "instructions": "summarise notes.txt into week.md"
    }  # fmt: skip


async def test_a_permission_is_given_for_the_binding(stand_in: StandIn, open_page: OpenPage) -> None:
    """U6, A15: the same card as for tasks; what it does is changed, and the permission does not count any more."""
    row = stand_in.add_automation()
    page = await open_page("/#/automations/automation_1")
    card = page.locator("#work-detail .admission")
    await card.get_by_role("button", name="What it would need").click()
    await expect(card.locator(".approval-title")).to_have_text("Allow this automation?")
    await expect(card).to_contain_text("Create and change “summary.md”.")
    await assert_accessible(page)
    await card.get_by_label("7 days").check(force=True)
    await card.get_by_role("button", name="Allow this automation").click()
    held = page.locator("#work-detail .grant")
    await expect(held).to_contain_text("In force")
    sent = stand_in.calls_of("agents.grants.issue")[0]["params"]
    assert sent == {"proposal_id": "proposal_of_automation_1", "lifetime_s": 604800}
    row.update(binding_revision=2, revision=2)
    await stand_in.notify("automations")
    await expect(card).to_contain_text("The first change of each asks you.")
    row.update(binding_revision=1, revision=3)
    stand_in.grants[0].update(state="revoked", revoked_at=iso())
    await stand_in.notify("automations")
    await stand_in.notify("grants")
    await expect(card).to_contain_text("You took back its permission.")


async def test_in_chinese_on_a_phone(stand_in: StandIn, open_page: OpenPage) -> None:
    """O6: the entry of the switch below, the list, the detail and the form within a phone's width, dark."""
    stand_in.add_automation(runs=[ran("skipped", reason="overlap")])
    proposed(stand_in)
    size = {"width": 390, "height": 780}
    page = await open_page(locale="zh-CN", viewport=size, color_scheme="dark")
    switch = page.locator(".phone-switch")
    await switch.get_by_role("button", name="自动任务").click()
    await expect(page.locator(".automations .proposal")).to_contain_text("设为自动任务？")
    await expect(switch.get_by_role("button", name="自动任务")).to_have_attribute("aria-pressed", "true")
    await page.locator(".automation-row").click()
    await expect(page.locator(".run")).to_contain_text("上一次运行尚未结束。")
    await assert_accessible(page)
    await page.get_by_role("button", name="改时间").click()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await assert_accessible(page)
    await switch.get_by_role("button", name="事项").click()
    await expect(page.locator("#work-bands")).to_be_visible()
    await expect(switch.get_by_role("button", name="事项")).to_have_attribute("aria-pressed", "true")
    await switch.get_by_role("button", name="对话").click()
    await expect(page.locator("#composer")).to_be_visible()


async def test_a_host_without_automations_says_so(stand_in: StandIn, open_page: OpenPage) -> None:
    """O7: an error state that goes away with the reason."""
    stand_in.refusals["agents.automations.list"] = Refusal("method_not_found")
    page = await open_page("/#/automations")
    await expect(page.locator("#work-detail")).to_contain_text("This host does not offer that.")
    del stand_in.refusals["agents.automations.list"]
    await stand_in.notify("automations")
    await expect(page.locator("#work-detail")).to_contain_text("Nothing runs by itself yet.")
