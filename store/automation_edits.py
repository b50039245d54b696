"""Changes of automations (U3, U7): the same ids for ever, each write at the revision that was seen.

The hard thing is what a change leaves behind: no time that has passed is caught up for a schedule or a state that it
did not belong to, and no permission or proposal outlives what it was for. Tasks end by their own stop, never by these.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from domain.automation import (
    AUTOMATION,
    AutomationEvent,
    AutomationState,
    changed,
    check_to_come,
    does_other_work,
)
from domain.automation_firing import Reason
from domain.refusal import accepted, refuse
from domain.schedule import Schedule
from store import agent_profiles, automation_runs, grant_proposals, receipts
from store.automation_passed import pass_over
from store.automation_proposal_rows import close_reschedules
from store.automation_runs import FiringRules
from store.automations import Write, automation_row, bind, binding_of, check_room, schedule_of_row, written
from store.database import Transaction
from store.tables_automations import AutomationRow
from store.tables_host import ReceiptRow

UPDATE: Final = "agents.automations.update"
RESCHEDULE: Final = "agents.automations.reschedule"
PAUSE: Final = "agents.automations.pause"
RESUME: Final = "agents.automations.resume"
TRIGGER: Final = "agents.automations.trigger"
DELETE: Final = "agents.automations.delete"
Written = tuple[ReceiptRow, AutomationRow]


async def update(
    tx: Transaction,
    automation_id: str,
    expected_revision: int,
    fields: Mapping[str, Any],
    grant_ref: str | None,
    write: Write,
) -> Written:
    """Change what is done or how it is called (U3); a change of what is done voids the grant that was given for it.

    Raises:
        Refused: `not_found` also for an agent, `revision_conflict`, `invalid_params`, `engine_unavailable`, what `bind`
            refuses, and `request_id_conflict`.
    """
    content = {
        "automation_id": automation_id, "expected_revision": expected_revision, **fields, "grant_ref": grant_ref,
    }  # fmt: skip
    earlier = await _earlier(tx, UPDATE, content, write)
    if earlier is not None:
        return earlier
    row = await expected(tx, automation_id, expected_revision)
    if not fields and grant_ref is None:
        raise refuse("invalid_params", "Name what to change.")
    before = binding_of(row)
    after = accepted(changed(before, fields))
    if after.agent_id != before.agent_id:
        await agent_profiles.require_enabled(tx, after.agent_id)
    for field, value in asdict(after).items():
        setattr(row, field, value)
    if does_other_work(before, after):
        row.binding_revision += 1
        row.grant_ref, row.failures = None, 0
        # What the person once said asked for other work than this.
        row.source_session_id, row.source_seqs = None, []
        await grant_proposals.close_automation_requests(tx, automation_id, "newer_requirement")
    if grant_ref is not None:
        await bind(tx, grant_ref, row)
    row.revision += 1
    return await written(tx, UPDATE, content, row, write), row


async def reschedule(
    tx: Transaction, automation_id: str, expected_revision: int, schedule: Schedule, write: Write
) -> Written:
    """Have the same automation fire at other times (U3): a paused one stays paused, a done one is active again.

    Raises:
        Refused: `not_found`, `revision_conflict`, `invalid_params` for a time that has passed or too many automations,
            and `request_id_conflict`.
    """
    content = {
        "automation_id": automation_id, "expected_revision": expected_revision, "schedule": schedule.stored(),
    }  # fmt: skip
    earlier = await _earlier(tx, RESCHEDULE, content, write)
    if earlier is not None:
        return earlier
    row = await expected(tx, automation_id, expected_revision)
    await replace_schedule(tx, row, schedule)
    return await written(tx, RESCHEDULE, content, row, write), row


async def replace_schedule(tx: Transaction, row: AutomationRow, schedule: Schedule) -> None:
    """Give a row its new schedule and the revisions of that (U3); its receipt is the caller's business.

    Raises:
        Refused: `invalid_params` for a time that has passed, or too many automations.
    """
    accepted(check_to_come(schedule, tx.now))
    following = accepted(AUTOMATION.advance(AutomationState(row.state), AutomationEvent.RESCHEDULE))
    if following is AutomationState.ACTIVE and row.state != following.value:
        await check_room(tx)
    if row.state != AutomationState.DONE.value:
        await pass_over(tx, row, Reason.SCHEDULE_CHANGED)
    row.decided_until = max(row.decided_until, tx.now)
    row.state, row.schedule = following.value, schedule.stored()
    row.schedule_revision += 1
    row.revision += 1
    await close_reschedules(tx, row.automation_id, "newer_schedule")


async def pause(tx: Transaction, automation_id: str, expected_revision: int, write: Write) -> Written:
    """Let no more of its times fire until it is resumed (U7); a task that runs goes on.

    Raises:
        Refused: `not_found`, `revision_conflict`, `invalid_params` for a done one, `request_id_conflict`.
    """
    content = {"automation_id": automation_id, "expected_revision": expected_revision}
    earlier = await _earlier(tx, PAUSE, content, write)
    if earlier is not None:
        return earlier
    row = await expected(tx, automation_id, expected_revision)
    following = accepted(AUTOMATION.advance(AutomationState(row.state), AutomationEvent.PAUSE))
    if row.state != following.value:
        await pass_over(tx, row, Reason.PAUSED)
    row.state = following.value
    row.reason = None
    row.revision += 1
    return await written(tx, PAUSE, content, row, write), row


async def resume(tx: Transaction, automation_id: str, expected_revision: int, write: Write) -> Written:
    """Let its times fire again, from now on: what was due while it was paused is not caught up (U7).

    Raises:
        Refused: `not_found`, `revision_conflict`, `invalid_params` for a done one, a one-off whose time has passed, or
            too many automations; `request_id_conflict`.
    """
    content = {"automation_id": automation_id, "expected_revision": expected_revision}
    earlier = await _earlier(tx, RESUME, content, write)
    if earlier is not None:
        return earlier
    row = await expected(tx, automation_id, expected_revision)
    following = accepted(AUTOMATION.advance(AutomationState(row.state), AutomationEvent.RESUME))
    if row.state != following.value:
        await check_room(tx)
        accepted(check_to_come(schedule_of_row(row), tx.now))
        await pass_over(tx, row, Reason.PAUSED)
    row.state, row.reason, row.failures = following.value, None, 0
    row.revision += 1
    return await written(tx, RESUME, content, row, write), row


async def trigger(
    tx: Transaction,
    automation_id: str,
    expected_revision: int,
    write: Write,
    rules: FiringRules = automation_runs.NATIVE_RULES,
) -> Written:
    """Fire now, beside its times (U7); whether it runs is decided as for any firing, and recorded (U4, U6).

    Raises:
        Refused: `not_found`, `revision_conflict`, `request_id_conflict`.
    """
    content = {"automation_id": automation_id, "expected_revision": expected_revision}
    earlier = await _earlier(tx, TRIGGER, content, write)
    if earlier is not None:
        return earlier
    row = await expected(tx, automation_id, expected_revision)
    await automation_runs.trigger(tx, row, write.principal, rules)
    row.revision += 1
    return await written(tx, TRIGGER, content, row, write), row


async def delete(tx: Transaction, automation_id: str, expected_revision: int, write: Write) -> Written:
    """Delete an automation: it fires no more, is listed no more, and its running task goes on (U7).

    Raises:
        Refused: `not_found`, `revision_conflict`, `request_id_conflict`.
    """
    content = {"automation_id": automation_id, "expected_revision": expected_revision}
    earlier = await _earlier(tx, DELETE, content, write)
    if earlier is not None:
        return earlier
    row = await expected(tx, automation_id, expected_revision)
    following = accepted(AUTOMATION.advance(AutomationState(row.state), AutomationEvent.DELETE))
    if row.state != AutomationState.DONE.value:
        await pass_over(tx, row, Reason.DELETED)
    row.state = following.value
    row.reason = None
    row.revision += 1
    await grant_proposals.close_automation_requests(tx, automation_id, "deleted")
    await close_reschedules(tx, automation_id, "deleted")
    return await written(tx, DELETE, content, row, write), row


async def expected(tx: Transaction, automation_id: str, expected_revision: int) -> AutomationRow:
    """An automation at the revision that was seen.

    Raises:
        Refused: `not_found`; `revision_conflict` with how it stands.
    """
    row = await automation_row(tx, automation_id)
    if row.revision != expected_revision:
        message = f"This automation was changed meanwhile: it is at revision {row.revision}. Read it again."
        raise refuse(
            "revision_conflict", message, revision=row.revision, state=row.state,
            binding_revision=row.binding_revision, schedule_revision=row.schedule_revision,
        )  # fmt: skip
    return row


async def _earlier(tx: Transaction, method: str, content: Mapping[str, Any], write: Write) -> Written | None:
    receipt = await receipts.repeated(tx, write.request_id, method, content)
    if receipt is None:
        return None
    return receipt, await automation_row(tx, receipt.subject_id or "", deleted=True)
