"""Tool calls about automations (U3, U7, U9): schedules are proposed; a pause or deletion needs the person's word."""

from typing import Any
from zoneinfo import ZoneInfo

from activities.call_names import call_request
from assistant import tool_results
from assistant.automation_arguments import (
    DeleteAutomation,
    ListAutomations,
    PauseAutomation,
    RescheduleAutomation,
    ScheduleTask,
)
from contracts.run import RunPoint
from domain.automation import AutomationMode, Binding
from domain.occurrences import next_instants
from domain.refusal import accepted, refuse
from domain.schedule import schedule_of
from domain.turn import TurnKind
from domain.wall_time import wall_time
from store import automation_edits, automation_proposals, automation_views, automations
from store.automation_proposal_rows import Asked
from store.automations import Write
from store.database import Transaction
from store.person_zone import person_zone
from store.tables_automations import AutomationProposalRow, AutomationRow
from store.tables_conversation import TurnRow
from store.turns import first_of_run

LISTED = 50
OWNER = "owner"
SHOWN = ("automation_id", "title", "state", "reason", "schedule", "words", "next_times", "error")


async def schedule_task(tx: Transaction, point: RunPoint, arguments: ScheduleTask) -> str:
    """Propose an automation; the owner's confirmation makes it one (U9)."""
    binding = Binding(
        title=arguments.title, instructions=arguments.instructions, agent_id=point.run.agent_id,
        mode=arguments.mode or AutomationMode.NEW.value,
    )  # fmt: skip
    schedule = accepted(schedule_of(arguments.schedule.spelled_out()))
    proposal = await automation_proposals.propose_new(tx, binding, schedule, await _asked(tx, point))
    return await _proposed(tx, proposal)


async def reschedule_automation(tx: Transaction, point: RunPoint, arguments: RescheduleAutomation) -> str:
    """Propose other times for the same automation (U3, U9)."""
    schedule = accepted(schedule_of(arguments.schedule.spelled_out()))
    asked = await _asked(tx, point)
    proposal = await automation_proposals.propose_reschedule(tx, arguments.automation_id, schedule, asked)
    return await _proposed(tx, proposal)


async def list_automations(tx: Transaction, point: RunPoint, arguments: ListAutomations) -> str:
    """The newest automations with their times, and what is proposed."""
    page = await automation_views.automation_page(tx, LISTED, None)
    items = [{name: item[name] for name in SHOWN if name in item} for item in page["items"]]
    for item, whole in zip(items, page["items"], strict=True):
        item["last_run"] = next(iter(whole["runs"]), None)
    proposals = [{name: one[name] for name in ("proposal_id", *SHOWN) if name in one} for one in page["proposals"]]
    return tool_results.answered(automations=items, proposals=proposals, more=page["next_cursor"] is not None)


async def pause_automation(tx: Transaction, point: RunPoint, arguments: PauseAutomation) -> str:
    """Pause an automation at once, for the person has just said so (U7)."""
    turn = await _genuine(tx, point)
    row = await automations.automation_row(tx, arguments.automation_id)
    write = Write(call_request(point), turn.principal)
    return _written((await automation_edits.pause(tx, row.automation_id, row.revision, write))[1])


async def delete_automation(tx: Transaction, point: RunPoint, arguments: DeleteAutomation) -> str:
    """Delete an automation at once, for the person has just said so; its running task goes on (U7)."""
    turn = await _genuine(tx, point)
    row = await automations.automation_row(tx, arguments.automation_id)
    write = Write(call_request(point), turn.principal)
    return _written((await automation_edits.delete(tx, row.automation_id, row.revision, write))[1])


async def _genuine(tx: Transaction, point: RunPoint) -> TurnRow:
    """The turn behind a run that answers an input of the owner.

    Raises:
        Refused: `forbidden` for any other turn, and for an input that came by a paired device (H20).
    """
    turn = await first_of_run(tx, point.run.run_id)
    if turn.kind != TurnKind.INPUT.value or turn.input_seq is None:
        raise refuse("forbidden", "Only what the user has just said pauses or deletes an automation.")
    if turn.principal != OWNER:
        raise refuse("forbidden", "Automations are not changed from a paired device.")
    return turn


async def _asked(tx: Transaction, point: RunPoint) -> Asked:
    turn = await first_of_run(tx, point.run.run_id)
    source = (turn.session_id, (turn.input_seq,)) if turn.input_seq is not None else None
    return Asked(call_request(point), source)


async def _proposed(tx: Transaction, proposal: AutomationProposalRow) -> str:
    """What the user has to be told before anything is saved: the schedule in words, and when it would fire."""
    schedule = accepted(schedule_of(proposal.content["schedule"]))
    view = automation_views.proposal_view(proposal, tx.now) or {}
    by_wall_time = schedule.cron is not None or (schedule.once is not None and schedule.once.is_local)
    zone = schedule.timezone if by_wall_time else await person_zone(tx)
    times = next_instants(schedule, tx.now, automation_views.TIMES_SHOWN)
    shown: dict[str, Any] = {
        **{name: view.get(name) for name in ("proposal_id", "kind", "title", "schedule", "words")},
        "timezone": zone,
        "next_times": [wall_time(ZoneInfo(zone), time).strftime("%a %Y-%m-%d %H:%M:%S") for time in times],
    }
    return tool_results.answered(proposal=shown, saved=False, needs="the user's confirmation of the proposal's card")


def _written(row: AutomationRow) -> str:
    return tool_results.answered(automation_id=row.automation_id, title=row.title, state=row.state)
