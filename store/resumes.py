"""Explicit resume (T11): a new requirement version with its own attempt, session and request; the old ones stay."""

from dataclasses import dataclass

from domain.intent import IntentState
from domain.limits import check_engine, check_text
from domain.refusal import accepted, refuse
from domain.task import TERMINAL, TaskEvent, TaskState
from store import grant_proposals, grant_rows, outbox, receipts, tasks
from store.database import Transaction
from store.stops import intent_of
from store.tables_host import ReceiptRow
from store.tables_work import RequirementRow, TaskRow

METHOD = "agents.tasks.resume"


@dataclass(frozen=True, slots=True)
class Resume:
    """What is wanted of an ended task; None keeps what the version before had."""

    task_id: str
    request_id: str
    instructions: str | None = None
    engine: str | None = None
    permission_mode: str | None = None
    grant_ref: str | None = None
    source: tuple[str, tuple[int, ...]] | None = None


async def resume_task(tx: Transaction, wanted: Resume, principal: str) -> tuple[ReceiptRow, TaskRow]:
    """Begin the task's next requirement version, or return that of the same request (I2).

    Raises:
        Refused: `intent_active` while a stop is unsettled, `task_active` for a task that has not ended,
            `invalid_params`, `engine_unavailable`, `not_found`, `request_id_conflict`.
    """
    content = {
        "task_id": wanted.task_id,
        "instructions": wanted.instructions,
        "engine": wanted.engine,
        "permission_mode": wanted.permission_mode,
        "grant_ref": wanted.grant_ref,
    }
    earlier = await receipts.repeated(tx, wanted.request_id, METHOD, content)
    task = await tasks.task_row(tx, wanted.task_id)
    if earlier is not None:
        return earlier, task
    intent = await intent_of(tx, task)
    if intent is not None and intent.state != IntentState.DONE.value:
        raise refuse("intent_active", "This task is being stopped. Wait until the stop has settled.")
    if TaskState(task.state) not in TERMINAL:
        raise refuse("task_active", "This task has not ended. Only an ended task can be resumed.", state=task.state)
    if task.parent_task_id is not None:
        raise refuse("task_active", "A sub-task belongs to its parent's attempt. Resume the parent.")
    before = await tx.session.get_one(RequirementRow, (task.task_id, task.requirement_version))
    instructions = before.instructions
    if wanted.instructions is not None:
        instructions = accepted(check_text(wanted.instructions, field="instructions"))
    mode = wanted.permission_mode or task.permission_mode
    task.engine, task.permission_mode = accepted(check_engine(wanted.engine or task.engine, mode))
    tasks.advance(tx, task, TaskEvent.RESUME)
    task.requirement_version += 1
    task.attempt = 1
    task.reason = task.reason_text = task.result_summary = task.progress = None
    task.admitted_at = task.progress_at = None
    # The new requirement needs its own grant (T11); what asked for the old one is asked no longer.
    task.grant_ref = task.grant_expires_at = None
    await grant_proposals.close_requests(tx, task.task_id, "newer_requirement")
    source = wanted.source or (before.source_session_id or "", tuple(before.source_seqs))
    await tasks.add_requirement(
        tx,
        task,
        instructions=instructions,
        request_id=wanted.request_id,
        attachment_ids=before.attachment_ids,
        source=source if source[0] else None,
    )
    if wanted.grant_ref is not None:
        await grant_rows.bind(tx, wanted.grant_ref, task)
    receipt = await receipts.accept(tx, wanted.request_id, METHOD, content, principal=principal)
    receipt.task_id = task.task_id
    outbox.post(tx, outbox.TASK_START, task.task_id)
    return receipt, task
