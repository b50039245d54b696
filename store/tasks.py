"""Tasks: created before they are acknowledged (T1), ended with evidence and delivery in one transaction (T5)."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.agent_profile import TWIN
from domain.attempt import ATTEMPT, AttemptEvent, AttemptState
from domain.delivery import DeliveryKind
from domain.limits import check_engine, check_text, check_title
from domain.refusal import accepted, refuse
from domain.run import RunKind, RunRef
from domain.task import TASK, TaskEvent, TaskState
from store import agent_profiles, changes, deliveries, grant_proposals, grant_rows, outbox, receipts
from store.attachment_choice import choose
from store.automation_follow import tell_firings
from store.database import Transaction
from store.parents import tell_parent
from store.question_ends import close_open
from store.spaces import space_of
from store.tables_conversation import SessionRow
from store.tables_host import ReceiptRow
from store.tables_work import ArtifactRow, AttemptRow, EvidenceRow, RequirementRow, TaskRow

METHOD = "agents.tasks.create"


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task as it is asked for (T1, T2); `source` names the session and sequences of the genuine inputs."""

    title: str
    instructions: str
    request_id: str
    agent_id: str = TWIN
    engine: str | None = None
    permission_mode: str | None = None
    attachment_ids: tuple[str, ...] = ()
    grant_ref: str | None = None
    source: tuple[str, tuple[int, ...]] | None = None


async def accept_task(tx: Transaction, task: NewTask, principal: str) -> tuple[ReceiptRow, TaskRow]:
    """Create a task with requirement 1 and attempt 1, or return those of the same request (I1, I2, T1).

    Raises:
        Refused: `invalid_params` (T14), `engine_unavailable`, or `not_found` for a grant, agent or attachment.
    """
    content = {
        "title": task.title,
        "instructions": task.instructions,
        "agent_id": task.agent_id,
        "engine": task.engine,
        "permission_mode": task.permission_mode,
        "attachment_ids": list(task.attachment_ids),
        "grant_ref": task.grant_ref,
    }
    earlier = await receipts.repeated(tx, task.request_id, METHOD, content)
    if earlier is not None:
        return earlier, await task_row(tx, earlier.task_id or "")
    accepted(check_title(task.title))
    accepted(check_text(task.instructions, field="instructions"))
    engine, mode = accepted(check_engine(task.engine, task.permission_mode))
    await agent_profiles.require_enabled(tx, task.agent_id)
    await choose(tx, task.attachment_ids)
    space = await space_of(tx)
    row = TaskRow(
        task_id=tx.new_id("task"),
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        title=task.title,
        state=TaskState.ACCEPTED.value,
        requirement_version=1,
        attempt=1,
        agent_id=task.agent_id,
        engine=engine,
        permission_mode=mode,
        request_id=task.request_id,
        graph_generation=space.graph_generation,
        created_at=tx.now,
        updated_at=tx.now,
    )
    tx.session.add(row)
    await add_requirement(
        tx,
        row,
        instructions=task.instructions,
        request_id=task.request_id,
        attachment_ids=task.attachment_ids,
        source=task.source,
    )
    if task.grant_ref is not None:
        await grant_rows.bind(tx, task.grant_ref, row)
    receipt = await receipts.accept(tx, task.request_id, METHOD, content, principal=principal)
    receipt.task_id = row.task_id
    outbox.post(tx, outbox.TASK_START, row.task_id)
    notify(tx, row)
    return receipt, row


async def add_requirement(
    tx: Transaction,
    task: TaskRow,
    *,
    instructions: str,
    request_id: str,
    attachment_ids: Sequence[str],
    source: tuple[str, tuple[int, ...]] | None,
) -> None:
    """Record the task's current requirement version with its first attempt and that attempt's hidden session (T1)."""
    session = SessionRow(
        session_id=tx.new_id("session"),
        user_space=tx.scope.user_space,
        domain=tx.scope.domain,
        kind="attempt",
        agent_id=task.agent_id,
        last_seq=0,
        created_at=tx.now,
    )
    source_session, source_seqs = source or (None, ())
    requirement = RequirementRow(
        task_id=task.task_id,
        version=task.requirement_version,
        instructions=instructions,
        request_id=request_id,
        source_session_id=source_session,
        source_seqs=list(source_seqs),
        attachment_ids=list(attachment_ids),
        created_at=tx.now,
    )
    tx.session.add(session)
    await tx.session.flush()
    attempt = AttemptRow(
        task_id=task.task_id,
        requirement_version=task.requirement_version,
        attempt=task.attempt,
        session_id=session.session_id,
        request_id=request_id,
        state=AttemptState.RUNNING.value,
        waited_seconds=0.0,
    )
    tx.session.add_all([requirement, attempt])
    await tx.session.flush()


async def begin(tx: Transaction, task_id: str) -> TaskRow:
    """Begin the current attempt of an accepted task; begun again, or terminal, it stays as it is (T10)."""
    task = await task_row(tx, task_id)
    if task.state == TaskState.ACCEPTED.value:
        attempt = await attempt_row(tx, run_of(task))
        attempt.started_at = tx.now
        advance(tx, task, TaskEvent.BEGIN)
    return task


async def succeed(tx: Transaction, run: RunRef, summary: str, artifacts: Sequence[ArtifactRow]) -> None:
    """Complete a task with the evidence of its current attempt, and open the result's delivery (T5, D7).

    Raises:
        Refused: `stale_result` for another version, attempt or an ended task; `question_pending`; `task_stopping`.
    """
    task, attempt = await current(tx, run)
    following = accepted(TASK.advance(TaskState(task.state), TaskEvent.SUCCEED))
    _end_attempt(tx, attempt, AttemptEvent.SUCCEED)
    await grant_proposals.close_requests(tx, task.task_id, "task_ended")
    task.state, task.result_summary = following.value, summary
    tx.session.add(
        EvidenceRow(
            task_id=task.task_id,
            requirement_version=run.requirement_version,
            attempt=run.attempt,
            request_id=attempt.request_id,
            session_id=attempt.session_id,
            outcome="succeeded",
            summary=summary,
            created_at=tx.now,
        )
    )
    tx.session.add_all(artifacts)
    await _deliver(tx, task, run, DeliveryKind.RESULT)


async def fail(tx: Transaction, run: RunRef, reason: str, reason_text: str | None = None) -> None:
    """Fail a task's current attempt with a reason code, and words of the executor if it gave some (T4, D10).

    Raises:
        Refused: `stale_result` when another attempt is current or the task has ended; `task_stopping`.
    """
    task, attempt = await current(tx, run)
    following = accepted(TASK.advance(TaskState(task.state), TaskEvent.FAIL))
    _end_attempt(tx, attempt, AttemptEvent.FAIL, reason)
    attempt.reason_text = reason_text
    await close_open(tx, task.task_id)
    await grant_proposals.close_requests(tx, task.task_id, "task_ended")
    task.state, task.reason, task.reason_text = following.value, reason, reason_text
    await _deliver(tx, task, run, DeliveryKind.FAILURE)


async def current(tx: Transaction, run: RunRef) -> tuple[TaskRow, AttemptRow]:
    """The task of a run and its attempt, if that is the task's current one.

    Raises:
        Refused: `stale_result` when a newer requirement version or attempt is current (T5); `not_found`.
    """
    task = await task_row(tx, run.task_id or "")
    attempt = await attempt_row(tx, run)
    if (task.requirement_version, task.attempt) != (run.requirement_version, run.attempt):
        raise refuse("stale_result", "This task has a newer requirement or attempt; the result is not its result.")
    return task, attempt


def _end_attempt(tx: Transaction, attempt: AttemptRow, event: AttemptEvent, reason: str | None = None) -> None:
    attempt.state = accepted(ATTEMPT.advance(AttemptState(attempt.state), event)).value
    attempt.reason = reason
    attempt.ended_at = tx.now


def stop_attempt(tx: Transaction, attempt: AttemptRow) -> None:
    """End an attempt that a stop covers (S2)."""
    _end_attempt(tx, attempt, AttemptEvent.STOP, "task_stopped")


async def _deliver(tx: Transaction, task: TaskRow, run: RunRef, kind: DeliveryKind) -> None:
    task.updated_at = tx.now
    notify(tx, task)
    await tell_firings(tx, task)
    if task.parent_task_id is not None:
        await tell_parent(tx, task)
        return
    await deliveries.open_delivery(
        tx,
        kind,
        task_id=task.task_id,
        requirement_version=run.requirement_version,
        attempt=run.attempt,
        subject_id=run.run_id,
    )


def advance(tx: Transaction, task: TaskRow, event: TaskEvent) -> None:
    """Move a task along its lifecycle and tell clients; an illegal move is refused (T3, I7)."""
    task.state = accepted(TASK.advance(TaskState(task.state), event)).value
    task.updated_at = tx.now
    notify(tx, task)


def notify(tx: Transaction, task: TaskRow) -> None:
    """Tell clients that a task changed."""
    changes.notify(tx, "tasks", task_id=task.task_id)
    changes.notify(tx, "activity")


async def task_row(tx: Transaction, task_id: str) -> TaskRow:
    """A task of this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    task = await tx.session.get(TaskRow, task_id)
    if task is None or (task.user_space, task.domain) != (tx.scope.user_space, tx.scope.domain):
        raise refuse("not_found", "No such task.")
    return task


async def attempt_row(tx: Transaction, run: RunRef) -> AttemptRow:
    """The attempt that a run is."""
    attempt = await tx.session.get(AttemptRow, (run.task_id, run.requirement_version, run.attempt))
    if attempt is None:
        raise refuse("not_found", "No such attempt.")
    return attempt


def run_of(task: TaskRow) -> RunRef:
    """The run of a task's current attempt."""
    return RunRef(
        kind=RunKind.ATTEMPT,
        user_space=task.user_space,
        domain=task.domain,
        run_id=f"{task.task_id}:{task.requirement_version}:{task.attempt}",
        task_id=task.task_id,
        requirement_version=task.requirement_version,
        attempt=task.attempt,
        agent_id=task.agent_id,
        engine=task.engine,
    )
