"""Tables of control over work: questions to the user, stop intents."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class QuestionRow(Scoped, Table):
    """A question of an attempt (T7): one open per task, one per call that asked."""

    __tablename__ = "questions"
    question_id: Mapped[str] = mapped_column(primary_key=True)
    task_id: Mapped[str] = mapped_column(ForeignKey("tasks.task_id"), index=True)
    requirement_version: Mapped[int]
    attempt: Mapped[int]
    run_id: Mapped[str]
    step: Mapped[int]
    place_in_step: Mapped[int]
    revision: Mapped[int] = mapped_column(default=1)
    text: Mapped[str]
    options: Mapped[dict[str, Any]]
    state: Mapped[str]
    answer: Mapped[str | None]
    answered_by: Mapped[str | None]
    source_session_id: Mapped[str | None]
    source_seq: Mapped[int | None]
    delivery_id: Mapped[str | None]
    created_at: Mapped[datetime]
    settled_at: Mapped[datetime | None]
    __table_args__ = (
        UniqueConstraint("run_id", "step", "place_in_step"),
        Index(
            "uq_questions_open",
            "task_id",
            unique=True,
            sqlite_where=sql("state = 'open'"),
            postgresql_where=sql("state = 'open'"),
        ),
        Index(None, "user_space", "domain", "state", "question_id"),
        Index(None, "user_space", "domain", "question_id"),
    )


class IntentRow(Scoped, Table):
    """A stop intent (S1-S3): one per requirement version of a task."""

    __tablename__ = "intents"
    intent_id: Mapped[str] = mapped_column(primary_key=True)
    task_id: Mapped[str] = mapped_column(ForeignKey("tasks.task_id"))
    requirement_version: Mapped[int]
    state: Mapped[str]
    expected: Mapped[str]
    outcome: Mapped[str | None]
    covered: Mapped[list[str]]
    unsettled: Mapped[list[str]]
    request_id: Mapped[str]
    principal: Mapped[str]
    created_at: Mapped[datetime]
    done_at: Mapped[datetime | None]
    __table_args__ = (
        UniqueConstraint("task_id", "requirement_version"),
        Index(None, "user_space", "domain", "state", "intent_id"),
    )
