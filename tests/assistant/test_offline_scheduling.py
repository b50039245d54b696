"""The offline model in whole runs about automations (O2, U9): what it calls, and that it says the exact times."""

from datetime import datetime
from typing import Any

import pytest

from assistant.prompts import AttachmentLine, Clock, QuestionLine, attachments_note, clock_note, questions_note
from assistant.tool_results import answered
from assistant.tools import tool_error
from contracts.model_io import ContextItem, UserText
from domain.refusal import Refusal
from tests.assistant.test_offline import whole_run

CLOCK = clock_note(Clock(datetime(2026, 11, 30, 16, 5), "Europe/Berlin"))  # noqa: DTZ001 - it is wall time
WORK = "summarise notes.txt into today.md"
MORNING: dict[str, Any] = {
    "automation_id": "automation_1", "title": "Morning notes", "state": "active",
    "schedule": {"cron": {"expression": "30 8 * * 1-5"}, "timezone": "Europe/Berlin"},
    "words": {"en": "every weekday at 08:30, Europe/Berlin", "zh": "每个工作日 08:30（Europe/Berlin）"},
    "next_times": ["2026-12-01T07:30:00.000Z"],
}  # fmt: skip
EVENING = MORNING | {
    "automation_id": "automation_2", "title": "Evening notes", "state": "paused", "next_times": [],
    "schedule": {"every": {"seconds": 900}, "timezone": "UTC"}, "words": {"en": "every 15 minutes", "zh": "每 15 分钟"},
}  # fmt: skip
LISTED = answered(automations=[MORNING, EVENING], proposals=[], more=False)


def proposed(kind: str = "create") -> str:
    """The answer of a tool that proposes."""
    times = ["Tue 2026-12-01 09:00:00", "Wed 2026-12-02 09:00:00"]
    shown = {
        "proposal_id": "proposal_1", "kind": kind, "title": "A title", "timezone": "Europe/Berlin", "next_times": times,
        "schedule": {}, "words": {"en": "every weekday at 09:00, Europe/Berlin", "zh": "每个工作日 09:00"},
    }  # fmt: skip
    return answered(proposal=shown, saved=False)


ANSWERS = {
    "schedule_task": [proposed()], "reschedule_automation": [proposed("reschedule")], "list_automations": [LISTED],
    "pause_automation": [answered(automation_id="automation_1", title="Morning notes", state="paused")],
    "delete_automation": [answered(automation_id="automation_1", title="Morning notes", state="deleted")],
}  # fmt: skip


async def run(text: str, *before: ContextItem) -> Any:
    """A whole run about one message."""
    return await whole_run([*before, CLOCK, UserText(text=text)], answers=ANSWERS)


@pytest.mark.parametrize(
    ("text", "title", "instructions"),
    [
        (f"every weekday at 9, {WORK}", "Summarise notes.txt into today.md", WORK),
        ("tomorrow at 9 summarise notes.txt", "Summarise notes.txt", "summarise notes.txt"),
        ("every hour copy a.txt to b.txt", "Copy a.txt to b.txt", "copy a.txt to b.txt"),
        ("in 20 minutes, write 'hi' to n.txt", "Write n.txt", "write 'hi' to n.txt"),
        ("append 'hi' to n.txt every day at 8", "Append to n.txt", "append 'hi' to n.txt"),
        ("每天早上八点总结 notes.txt 到 today.md", "总结 notes.txt 到 today.md", "总结 notes.txt 到 today.md"),
    ],
)
async def test_work_is_proposed_with_its_exact_times(text: str, title: str, instructions: str) -> None:
    """U9: one proposal; the reply says the schedule, its next times and zone, and that nothing is saved."""
    outcome = await run(text)
    [(name, arguments)] = outcome.calls
    assert name == "schedule_task"
    assert (arguments["title"], arguments["instructions"]) == (title, instructions)
    english, chinese = "Tue 2026-12-01 09:00:00; Wed 2026-12-02 09:00:00", "周二 2026-12-01 09:00:00；周三 2026-12-02"
    assert (chinese if "每" in text else english) in outcome.text
    assert "Europe/Berlin" in outcome.text
    assert "proposal_1" in outcome.text
    assert ("尚未保存" if "每" in text else "Nothing is saved yet") in outcome.text


async def test_an_attachment_is_named_by_its_working_copy() -> None:
    """C9, O2: a task later has the file where the host put it."""
    note = attachments_note([AttachmentLine("att_1", "notes.txt", "text/plain", 3, "attachments/att_1/notes.txt")])
    outcome = await whole_run([CLOCK, note, UserText(text=f"every day at 8, {WORK}")], answers=ANSWERS)
    assert outcome.calls[0][1]["instructions"] == "summarise attachments/att_1/notes.txt into today.md"


@pytest.mark.parametrize(
    ("text", "calls", "said"),
    [
        (
            "list automations",
            ["list_automations"],
            ["Morning notes", "08:30", "2026-12-01 08:30 Europe/Berlin", "paused"],
        ),
        ("自动化列表", ["list_automations"], ["每个工作日 08:30"]),
        ("pause automation morning notes", ["list_automations", "pause_automation"], ["“Morning notes” is paused"]),
        ("pause morning", ["list_automations", "pause_automation"], ["is paused"]),
        ("delete automation Morning notes", ["list_automations", "delete_automation"], ["is deleted"]),
        ("pause notes", ["list_automations"], ["Which automation", "automation_1", "automation_2"]),
        ("pause something", ["list_automations"], ["no automation called “something”"]),
        ("move morning to 9", ["list_automations", "reschedule_automation"], ["other times", "2026-12-01 09:00:00"]),
        ("move evening to 9", ["list_automations"], ["no single time of the day"]),
        ("move evening to every monday at 9", ["list_automations", "reschedule_automation"], ["other times"]),
        ("every day, summarise notes.txt into today.md", [], ["offline mode: at what time?"]),
        ("every day at 9 in Atlantis, summarise a.txt into b.txt", [], ["no time zone for “Atlantis”"]),
        ("every other day at 9, summarise a.txt into b.txt", [], ["exact schedule"]),
        ("every day at 9, tell me a joke", [], ["can be scheduled"]),
    ],
)
async def test_orders_and_what_is_unclear(text: str, calls: list[str], said: list[str]) -> None:
    """O2, U3, U7: the one that is meant, or a plain question; times in the person's zone."""
    outcome = await run(text)
    assert outcome.names == calls
    assert [word for word in said if word not in outcome.text] == []


async def test_a_move_keeps_the_days() -> None:
    """U3: only the time of the day is another one."""
    [_, (_, arguments)] = (await run("move morning to 9")).calls
    assert arguments == {
        "automation_id": "automation_1",
        "schedule": {"cron": {"expression": "0 9 * * 1-5"}, "timezone": "Europe/Berlin"},
    }


async def test_a_refusal_is_told() -> None:
    """O2: what did not work is said with the tool's own words."""
    refused = tool_error(Refusal("invalid_params", "This time has passed."))
    outcome = await whole_run([CLOCK, UserText(text=f"tomorrow at 9, {WORK}")], answers={"schedule_task": [refused]})
    assert outcome.text == "That did not work: This time has passed."


async def test_a_time_may_answer_a_question() -> None:
    """T9: with a question open, a bare time is its answer; a whole request still is one."""
    asked = questions_note([QuestionLine("question_1", "Trip", "When?")])
    answers = ANSWERS | {"answer_question": [answered(question_id="question_1", state="answered")]}
    outcome = await whole_run([asked, CLOCK, UserText(text="tomorrow at 9")], answers=answers)
    assert outcome.names == ["answer_question"]
    outcome = await whole_run([asked, CLOCK, UserText(text=f"tomorrow at 9, {WORK}")], answers=answers)
    assert outcome.names == ["schedule_task"]


async def test_without_a_clock_nothing_is_scheduled() -> None:
    """U9: no time is resolved by a moment that nobody told."""
    outcome = await whole_run([UserText(text=f"tomorrow at 9, {WORK}")])
    assert (outcome.calls, "offline mode: I can" in outcome.text) == ([], True)


async def test_a_task_does_the_work_alone() -> None:
    """O2, C5: an executor has no such tools, and reads a sentence about time as no assignment."""
    outcome = await whole_run([UserText(text=f"every day at 8, {WORK}")], executor=True)
    assert outcome.names == ["fail_task"]
