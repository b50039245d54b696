"""Tables of work: tasks, requirement versions, attempts, steps and calls of runs, evidence, artifacts, deliveries."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class TaskRow(Scoped, Table):
    """A hidden piece of work (T2); its current requirement version and attempt are the ones named here."""

    __tablename__ = "tasks"
    task_id: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str]
    state: Mapped[str]
    requirement_version: Mapped[int] = mapped_column(default=1)
    attempt: Mapped[int] = mapped_column(default=1)
    agent_id: Mapped[str]
    engine: Mapped[str]
    permission_mode: Mapped[str]
    request_id: Mapped[str]
    parent_task_id: Mapped[str | None]
    parent_requirement_version: Mapped[int | None]
    parent_attempt: Mapped[int | None]
    automation_id: Mapped[str | None]
    grant_ref: Mapped[str | None]
    grant_expires_at: Mapped[datetime | None]
    progress: Mapped[str | None]
    progress_at: Mapped[datetime | None]
    reason: Mapped[str | None]
    reason_text: Mapped[str | None]
    result_summary: Mapped[str | None]
    admitted_at: Mapped[datetime | None]
    graph_generation: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    __table_args__ = (
        Index(None, "user_space", "domain", "task_id"),
        Index(None, "user_space", "domain", "state", "task_id"),
        Index(None, "user_space", "domain", "agent_id", "task_id"),
        Index(None, "user_space", "domain", "agent_id", "state", "task_id"),
        # Few tasks are made by automations: only those are in it.
        Index(
            None,
            "user_space",
            "domain",
            "automation_id",
            "task_id",
            sqlite_where=text("automation_id IS NOT NULL"),
            postgresql_where=text("automation_id IS NOT NULL"),
        ),
        Index(None, "user_space", "domain", "updated_at"),
        Index(None, "parent_task_id"),
    )


class RequirementRow(Table):
    """One requirement version of a task: what is asked for, and whose genuine inputs asked for it (T2)."""

    __tablename__ = "requirements"
    task_id: Mapped[str] = mapped_column(ForeignKey("tasks.task_id"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    instructions: Mapped[str]
    request_id: Mapped[str]
    source_session_id: Mapped[str | None]
    source_seqs: Mapped[list[int]]
    attachment_ids: Mapped[list[str]]
    created_at: Mapped[datetime]


class AttemptRow(Table):
    """One execution of one requirement version, in its own hidden session (T5)."""

    __tablename__ = "attempts"
    task_id: Mapped[str] = mapped_column(ForeignKey("tasks.task_id"), primary_key=True)
    requirement_version: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True)
    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.session_id"))
    request_id: Mapped[str]
    state: Mapped[str]
    reason: Mapped[str | None]
    reason_text: Mapped[str | None]
    waited_seconds: Mapped[float] = mapped_column(default=0.0)
    waiting_since: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class StepRow(Table):
    """One stored model step of a run (T10): the answer is kept once and reused by every retry."""

    __tablename__ = "steps"
    run_id: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    turn_id: Mapped[str | None]
    text: Mapped[str]
    response_json: Mapped[str]
    model: Mapped[str]
    input_tokens: Mapped[int]
    output_tokens: Mapped[int]
    context: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]


class CallRow(Table):
    """One tool call of a model step; `result` is what the model was or will be told."""

    __tablename__ = "calls"
    run_id: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    place_in_step: Mapped[int] = mapped_column(primary_key=True)
    call_id: Mapped[str]
    name: Mapped[str]
    arguments: Mapped[str]
    place: Mapped[str]
    result: Mapped[str | None]
    effect_id: Mapped[str | None]
    question_id: Mapped[str | None]
    child_task_id: Mapped[str | None] = mapped_column(index=True)
    ended_at: Mapped[datetime | None]


class EvidenceRow(Table):
    """The terminal record of a successful attempt (T5, T6): who ended it, not whether the result is right."""

    __tablename__ = "evidence"
    task_id: Mapped[str] = mapped_column(ForeignKey("tasks.task_id"), primary_key=True)
    requirement_version: Mapped[int] = mapped_column(primary_key=True)
    attempt: Mapped[int]
    request_id: Mapped[str]
    session_id: Mapped[str]
    outcome: Mapped[str]
    summary: Mapped[str]
    created_at: Mapped[datetime]


class ArtifactRow(Table):
    """A file named by a result, copied to the managed store with its digest (T5)."""

    __tablename__ = "artifacts"
    artifact_id: Mapped[str] = mapped_column(primary_key=True)
    task_id: Mapped[str] = mapped_column(ForeignKey("tasks.task_id"), index=True)
    requirement_version: Mapped[int]
    attempt: Mapped[int]
    name: Mapped[str]
    media_type: Mapped[str]
    size: Mapped[int]
    sha256: Mapped[str]
    created_at: Mapped[datetime]


class DeliveryRow(Scoped, Table):
    """Bringing one fact about a task or automation into the main conversation (D1)."""

    __tablename__ = "deliveries"
    delivery_id: Mapped[str] = mapped_column(primary_key=True)
    owner_kind: Mapped[str]
    owner_id: Mapped[str] = mapped_column(index=True)
    requirement_version: Mapped[int]
    attempt: Mapped[int]
    kind: Mapped[str]
    subject_id: Mapped[str]
    state: Mapped[str]
    reason: Mapped[str | None]
    position: Mapped[int]
    request_id: Mapped[str]
    turn_id: Mapped[str | None]
    message_seq: Mapped[int | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    __table_args__ = (
        UniqueConstraint("owner_kind", "owner_id", "requirement_version", "attempt", "kind", "subject_id"),
        Index(None, "user_space", "domain", "state", "position"),
    )


class RunEventRow(Table):
    """A display-safe public event of a run (P10, T17): whitelisted scalars only."""

    __tablename__ = "run_events"
    run_id: Mapped[str] = mapped_column(primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True)
    category: Mapped[str]
    name: Mapped[str]
    label: Mapped[str]
    status: Mapped[str]
    duration_ms: Mapped[float | None]
    details: Mapped[dict[str, Any]]
    at: Mapped[datetime]
