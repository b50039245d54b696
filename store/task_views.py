"""Tasks as the wire contract shows them (api.md): summaries, pages, the whole detail, the right column."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import select

from domain.question import QuestionState
from domain.refusal import refuse
from domain.task import ACTIVE
from store.control_views import question_view, task_intents, task_questions
from store.database import Transaction
from store.effect_views import task_effects
from store.keyset import cursor_after, text_key
from store.tables_control import QuestionRow
from store.tables_work import ArtifactRow, AttemptRow, DeliveryRow, RequirementRow, RunEventRow, TaskRow
from store.tasks import task_row
from store.wire_time import wire_time, wire_time_or_none

Json = dict[str, Any]
IN_PROGRESS, RECENT = 50, 20
EVENTS_SHOWN = 200


async def task_view(tx: Transaction, task: TaskRow) -> Json:
    """One task."""
    return (await task_summaries(tx, [task]))[0]


async def task_summaries(tx: Transaction, rows: Sequence[TaskRow]) -> list[Json]:
    """Some tasks with their deliveries and results, in the order given."""
    ids = [row.task_id for row in rows]
    found: dict[str, list[DeliveryRow]] = defaultdict(list)
    for delivery in await tx.session.scalars(
        select(DeliveryRow).where(DeliveryRow.owner_id.in_(ids)).order_by(DeliveryRow.position)
    ):
        found[delivery.owner_id].append(delivery)
    files: dict[str, list[ArtifactRow]] = defaultdict(list)
    for artifact in await tx.session.scalars(
        select(ArtifactRow)
        .where(ArtifactRow.task_id.in_(ids))
        .order_by(ArtifactRow.created_at, ArtifactRow.artifact_id)
    ):
        files[artifact.task_id].append(artifact)
    asked: dict[str, Json] = {}
    for question, delivery in await tx.session.execute(
        select(QuestionRow, DeliveryRow)
        .outerjoin(DeliveryRow, DeliveryRow.delivery_id == QuestionRow.delivery_id)
        .where(QuestionRow.task_id.in_(ids), QuestionRow.state == QuestionState.OPEN.value)
    ):
        asked[question.task_id] = await question_view(tx, question, delivery)
    shown = [_summary(row, found[row.task_id], files[row.task_id]) for row in rows]
    return [view | {"question": asked[view["task_id"]]} if view["task_id"] in asked else view for view in shown]


def _summary(task: TaskRow, deliveries: Sequence[DeliveryRow], artifacts: Sequence[ArtifactRow]) -> Json:
    view: Json = {
        "task_id": task.task_id,
        "title": task.title,
        "state": task.state,
        "requirement_version": task.requirement_version,
        "attempt": task.attempt,
        "agent_id": task.agent_id,
        "engine": task.engine,
        "permission_mode": task.permission_mode,
        "parent_task_id": task.parent_task_id,
        "automation_id": task.automation_id,
        "grant": _grant(task),
        "deliveries": [delivery_view(delivery) for delivery in deliveries],
        "progress": task.progress,
        "progress_at": wire_time_or_none(task.progress_at),
        "created_at": wire_time(task.created_at),
        "updated_at": wire_time(task.updated_at),
    }
    if task.reason is not None:
        view["reason"] = task.reason
    if task.reason_text is not None:
        view["reason_text"] = task.reason_text
    if task.result_summary is not None:
        current = [row for row in artifacts if row.requirement_version == task.requirement_version]
        view["result"] = {"summary": task.result_summary, "artifacts": [artifact_view(row) for row in current]}
    return view


def _grant(task: TaskRow) -> Json | None:
    if task.grant_ref is None:
        return None
    return {"ref": task.grant_ref, "expires_at": wire_time_or_none(task.grant_expires_at)}


def delivery_view(delivery: DeliveryRow) -> Json:
    """One delivery of a task."""
    view: Json = {
        "delivery_id": delivery.delivery_id,
        "kind": delivery.kind,
        "state": delivery.state,
        "requirement_version": delivery.requirement_version,
    }
    optional = {"reason": delivery.reason, "message_seq": delivery.message_seq}
    return view | {key: value for key, value in optional.items() if value is not None}


def artifact_view(artifact: ArtifactRow) -> Json:
    """One file of a result."""
    return {
        "artifact_id": artifact.artifact_id,
        "name": artifact.name,
        "media_type": artifact.media_type,
        "size": artifact.size,
        "sha256": artifact.sha256,
    }


async def task_page(tx: Transaction, filters: Mapping[str, str | None], limit: int, cursor: str | None) -> Json:
    """A page of tasks, newest first, by keyset (T15); filters are `state`, `agent_id`, `automation_id`."""
    query = select(TaskRow).where(TaskRow.user_space == tx.scope.user_space, TaskRow.domain == tx.scope.domain)
    for column in ("state", "agent_id", "automation_id"):
        if filters.get(column) is not None:
            query = query.where(getattr(TaskRow, column) == filters[column])
    after = text_key(cursor)
    if after is not None:
        query = query.where(TaskRow.task_id < after)
    rows = (await tx.session.scalars(query.order_by(TaskRow.task_id.desc()).limit(limit + 1))).all()
    shown = rows[:limit]
    more = cursor_after(shown[-1].task_id) if len(rows) > limit else None
    return {"items": await task_summaries(tx, shown), "next_cursor": more}


async def task_detail(tx: Transaction, task_id: str, workflow_url: Callable[[str], str | None]) -> Json:
    """Everything about a task, with the links to its workflows (T16)."""
    task = await task_row(tx, task_id)
    requirements = await tx.session.scalars(
        select(RequirementRow).where(RequirementRow.task_id == task_id).order_by(RequirementRow.version)
    )
    attempts = (
        await tx.session.scalars(
            select(AttemptRow)
            .where(AttemptRow.task_id == task_id)
            .order_by(AttemptRow.requirement_version, AttemptRow.attempt)
        )
    ).all()
    summary = await task_view(tx, task)
    runs = [f"{task_id}:{row.requirement_version}:{row.attempt}" for row in attempts]
    workflows = [f"task:{task_id}", *(f"attempt:{run}" for run in runs)]
    workflows += [f"delivery:{delivery['delivery_id']}" for delivery in summary["deliveries"]]
    return {
        "task": summary,
        "requirements": [_requirement(row) for row in requirements],
        "attempts": [_attempt(row) for row in attempts],
        "effects": await task_effects(tx, task_id),
        "deliveries": summary["deliveries"],
        "questions": await task_questions(tx, task_id),
        "intents": await task_intents(tx, task_id),
        "events": await _events(tx, runs),
        "workflows": [{"workflow_id": name, "url": workflow_url(name)} for name in workflows],
    }


def _requirement(row: RequirementRow) -> Json:
    return {
        "version": row.version,
        "instructions": row.instructions,
        "request_id": row.request_id,
        "source": {"session_id": row.source_session_id, "message_seqs": row.source_seqs},
    }


def _attempt(row: AttemptRow) -> Json:
    view: Json = {
        "requirement_version": row.requirement_version,
        "attempt": row.attempt,
        "session_id": row.session_id,
        "request_id": row.request_id,
        "state": row.state,
        "started_at": wire_time_or_none(row.started_at),
        "ended_at": wire_time_or_none(row.ended_at),
    }
    return view if row.reason is None else view | {"reason": row.reason}


async def _events(tx: Transaction, runs: Sequence[str]) -> list[Json]:
    query = (
        select(RunEventRow)
        .where(RunEventRow.run_id.in_(runs))
        .order_by(RunEventRow.at.desc(), RunEventRow.sequence.desc())
        .limit(EVENTS_SHOWN)
    )
    rows = (await tx.session.scalars(query)).all()
    return [
        {
            "run_id": row.run_id,
            "sequence": row.sequence,
            "category": row.category,
            "name": row.name,
            "label": row.label,
            "status": row.status,
            "duration_ms": row.duration_ms,
            "details": row.details,
            "at": wire_time(row.at),
        }
        for row in reversed(rows)
    ]


async def activity_view(tx: Transaction) -> Json:
    """The right column in one call (T16): what is under way, what happened last, what came out last."""
    active = await _newest_active(tx)
    ended = await _last_ended(tx)
    shown = await task_summaries(tx, [*active, *ended])
    recent = shown[len(active) :]
    return {
        "in_progress": shown[: len(active)],
        "recent_activity": recent,
        "recent_outputs": [task for task in recent if "result" in task],
    }


async def _newest_active(tx: Transaction) -> list[TaskRow]:
    rows: list[TaskRow] = []
    for state in ACTIVE:
        # One index range per state: the newest few of each, however many tasks there are.
        query = (
            select(TaskRow)
            .where(TaskRow.user_space == tx.scope.user_space, TaskRow.domain == tx.scope.domain, TaskRow.state == state)
            .order_by(TaskRow.task_id.desc())
            .limit(IN_PROGRESS)
        )
        rows += (await tx.session.scalars(query)).all()
    return sorted(rows, key=lambda row: row.updated_at, reverse=True)[:IN_PROGRESS]


async def _last_ended(tx: Transaction) -> list[TaskRow]:
    # By the moment of the end, not of the creation: a long task that ends now is what happened last. Said as "not
    # active", so that the index of that moment is walked and not everything that ever ended is sorted.
    query = (
        select(TaskRow)
        .where(
            TaskRow.user_space == tx.scope.user_space,
            TaskRow.domain == tx.scope.domain,
            TaskRow.state.not_in([state.value for state in ACTIVE]),
        )
        .order_by(TaskRow.updated_at.desc())
        .limit(RECENT)
    )
    return list((await tx.session.scalars(query)).all())


async def artifact_of(tx: Transaction, task_id: str, artifact_id: str) -> ArtifactRow:
    """A file of a task's result in this scope.

    Raises:
        Refused: `not_found` for an unknown or foreign one (P1).
    """
    task = await task_row(tx, task_id)
    artifact = await tx.session.get(ArtifactRow, artifact_id)
    if artifact is None or artifact.task_id != task.task_id:
        raise refuse("not_found", "No such file of this task.")
    return artifact
