"""The main agent's tools about automations (U3, U7, U9): proposed once, told exactly, changed by the person's word."""

import json
from typing import Any

import pytest

from activities.run_context import model_call
from activities.tool_calls import ToolCalls
from assistant.prompts import read_clock_note
from contracts.model_io import HostNote, UserText
from contracts.run import RunPoint
from domain.run import RunKind, RunRef
from store import automation_proposals, automations, turns
from store.automations import Write
from store.run_steps import steps_of_run
from store.tables_automations import AutomationProposalRow, AutomationRow
from store.tables_conversation import TurnRow
from store.tables_work import CallRow
from store.user_settings import import_choice
from tests.automation_owner import WEEKDAYS, by, made, read
from tests.control_plane import BOUNDS, Plane

WORK = {"title": "Morning", "instructions": "summarise notes.txt into today.md", "schedule": WEEKDAYS}


async def answer(plane: Plane, run: RunRef, name: str, given: object, number: int = 1) -> dict[str, Any]:
    """What the model is told of a new step's only call."""
    await plane.step(run, "", (name, given), number=number)
    point = RunPoint(run=run, step=number)
    calls = ToolCalls(plane.database, BOUNDS)
    await calls.shared(point)
    await calls.shared(point)
    call = await plane.only(CallRow, CallRow.run_id == run.run_id, CallRow.step == number)
    told: dict[str, Any] = json.loads(call.result or "{}")
    return told


async def test_a_schedule_is_only_proposed(plane: Plane) -> None:
    """U9: the answer has the exact schedule, words and times of its zone; nothing is made before the owner's yes."""
    run = await plane.turn("every weekday at 8 in Berlin, summarise notes.txt into today.md")
    told = await answer(plane, run, "schedule_task", WORK)
    proposal = told["proposal"]
    assert (told["saved"], proposal["kind"], proposal["schedule"]) == (False, "create", WEEKDAYS)
    assert (proposal["timezone"], len(proposal["next_times"])) == ("Europe/Berlin", 5)
    assert all(time.endswith(" 08:00:00") and time[:3] not in ("Sat", "Sun") for time in proposal["next_times"])
    assert set(proposal["words"]) == {"en", "zh"}
    assert await plane.rows(AutomationRow) == []
    row = await plane.only(AutomationProposalRow)
    turn = await plane.only(TurnRow, TurnRow.turn_id == run.turn_id)
    assert (row.source_session_id, row.source_seqs) == (plane.main_session_id, [turn.input_seq])
    async with plane.database.write(plane.scope) as tx:
        confirmed = (await automation_proposals.confirm(tx, proposal["proposal_id"], by(plane)))[1]
    assert (confirmed.title, confirmed.source_seqs, confirmed.agent_id) == ("Morning", [turn.input_seq], "twin")


async def test_intervals_are_told_in_the_persons_zone(plane: Plane) -> None:
    """U9: an interval has no zone of its own."""
    async with plane.database.write(plane.scope) as tx:
        assert await import_choice(tx, "quiet_hours", {"timezone": "Asia/Shanghai"})
    given = WORK | {"schedule": {"every": {"seconds": 86_400}}}
    proposal = (await answer(plane, await plane.turn(), "schedule_task", given))["proposal"]
    assert proposal["timezone"] == "Asia/Shanghai"
    assert all(time.endswith(" 08:00:00") for time in proposal["next_times"])


@pytest.mark.parametrize(
    ("name", "given", "code"),
    [
        ("schedule_task", WORK | {"schedule": {}}, "invalid_params"),
        ("schedule_task", WORK | {"schedule": {"cron": {"expression": "0 8 * * 1-5"}}}, "invalid_params"),
        ("schedule_task", WORK | {"schedule": {"once": {"at": "2020-01-01T00:00:00Z"}}}, "invalid_params"),
        ("schedule_task", WORK | {"schedule": WEEKDAYS | {"every": {"seconds": 60}}}, "invalid_params"),
        ("schedule_task", WORK | {"command": "ls"}, "invalid_params"),
        ("schedule_task", WORK | {"title": "t" * 201}, "invalid_params"),
        ("reschedule_automation", {"automation_id": "automation_no", "schedule": WEEKDAYS}, "not_found"),
        ("pause_automation", {"automation_id": "automation_no"}, "not_found"),
        ("delete_automation", {"automation_id": "automation_no"}, "not_found"),
    ],
)
async def test_a_mistake_is_an_answer(plane: Plane, name: str, given: object, code: str) -> None:
    """T14, P3: the model reads what to change, and nothing is proposed."""
    assert (await answer(plane, await plane.turn(), name, given))["error"]["code"] == code
    assert await plane.rows(AutomationProposalRow) == []


async def test_automations_are_listed_moved_paused_and_deleted(plane: Plane) -> None:
    """U3, U7: other times are proposed; a pause and a deletion of a genuine turn are done, once, in the turn's name."""
    row = await made(plane)
    run = await plane.turn()
    listed = await answer(plane, run, "list_automations", {})
    [item] = listed["automations"]
    assert (item["automation_id"], item["title"], len(item["next_times"])) == (row.automation_id, "Morning", 5)
    assert "instructions" not in item
    given = {"automation_id": row.automation_id, "schedule": {"every": {"seconds": 900}}}
    told = await answer(plane, run, "reschedule_automation", given, 2)
    assert (told["proposal"]["kind"], told["proposal"]["title"]) == ("reschedule", "Morning")
    assert (await read(plane, row.automation_id)).revision == 1
    assert (await answer(plane, run, "pause_automation", {"automation_id": row.automation_id}, 3))["state"] == "paused"
    assert (await answer(plane, run, "delete_automation", {"automation_id": row.automation_id}, 4))[
        "state"
    ] == "deleted"
    assert (await read(plane, row.automation_id)).revision == 3
    assert (await answer(plane, run, "list_automations", {}, 5))["automations"] == []


@pytest.mark.parametrize("name", ["pause_automation", "delete_automation"])
async def test_only_the_owners_own_words_pause_or_delete(plane: Plane, name: str) -> None:
    """U7, H20: neither a turn that brings a result nor a message of a paired device does."""
    row = await made(plane)
    named = {"automation_id": row.automation_id}
    delivering = await plane.delivery_turn()
    assert (await answer(plane, delivering, name, named))["error"]["code"] == "forbidden"
    await plane.complete(delivering)
    run = await plane.turn()
    async with plane.database.write(plane.scope) as tx:
        (await turns.turn_row(tx, run.turn_id or "")).principal = "device_1"
    assert (await answer(plane, run, name, named))["error"]["code"] == "forbidden"
    assert (await read(plane, row.automation_id)).state == "active"


@pytest.mark.parametrize(
    "name", ["schedule_task", "reschedule_automation", "list_automations", "pause_automation", "delete_automation"]
)
async def test_a_task_has_none_of_them(plane: Plane, name: str) -> None:
    """U9, C5: a hidden task schedules nothing and sees no automation."""
    run = await plane.attempt()
    assert run.kind is RunKind.ATTEMPT
    assert (await answer(plane, run, name, {}))["error"]["code"] == "method_not_found"


async def test_the_model_is_told_when_the_message_came(plane: Plane) -> None:
    """U9, C6: by the wall clock of the person's zone, before the message, the same at each step, and recorded."""
    run = await plane.turn("tomorrow at 9, summarise notes.txt into today.md")
    async with plane.database.read(plane.scope) as tx:
        first = (await model_call(tx, run, [], 24_000)).context
    await plane.step(run, "", ("list_automations", {}))
    async with plane.database.read(plane.scope) as tx:
        second = (await model_call(tx, run, await steps_of_run(tx, run), 24_000)).context
    note, said = first.items[-2:]
    assert isinstance(note, HostNote)
    assert isinstance(said, UserText)
    clock = read_clock_note(note.text)
    assert clock is not None
    assert clock.zone == "UTC"
    assert note in second.items
    assert [item.kind for item in first.record.items] == ["host_note", "user_text"]


async def test_a_confirmed_schedule_is_the_owners(plane: Plane) -> None:
    """U9: whoever confirms is who made it; the model's words are its instructions."""
    await answer(plane, await plane.turn(), "schedule_task", WORK)
    proposal = await plane.only(AutomationProposalRow)
    async with plane.database.write(plane.scope) as tx:
        row = (await automation_proposals.confirm(tx, proposal.proposal_id, Write("yes", "owner")))[1]
        assert row.created_by == "owner"
        assert automations.binding_of(row).instructions == WORK["instructions"]
