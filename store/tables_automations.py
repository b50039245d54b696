"""Tables of automations (U): the binding of a schedule to what is to be done, its firings, and proposed changes."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from store.columns import MendableJson, MendableTime, Scoped, Table


class AutomationRow(Scoped, Table):
    """A schedule bound to what is to be done (U1).

    `state` is active, paused (with its `reason`), done or deleted. `revision` counts every write, `schedule_revision`
    those of when, `binding_revision` those of what. Every nominal time up to `decided_until` has its record. `failures`
    counts failed runs in a row. `notice_grant` names the ended grant of which the user was told (U6).
    """

    __tablename__ = "automations"
    automation_id: Mapped[str] = mapped_column(primary_key=True)
    binding_id: Mapped[str]
    title: Mapped[str]
    instructions: Mapped[str]
    agent_id: Mapped[str]
    engine: Mapped[str]
    permission_mode: Mapped[str]
    mode: Mapped[str]
    overlap: Mapped[str]
    catchup_s: Mapped[int]
    schedule: Mapped[dict[str, Any]] = mapped_column(MendableJson(dict))
    state: Mapped[str]
    reason: Mapped[str | None]
    revision: Mapped[int]
    schedule_revision: Mapped[int]
    binding_revision: Mapped[int]
    grant_ref: Mapped[str | None]
    notice_grant: Mapped[str | None]
    task_id: Mapped[str | None]
    failures: Mapped[int]
    decided_until: Mapped[datetime] = mapped_column(MendableTime())
    source_session_id: Mapped[str | None]
    source_seqs: Mapped[list[int]] = mapped_column(MendableJson(list))
    created_by: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(MendableTime())
    updated_at: Mapped[datetime] = mapped_column(MendableTime())
    __table_args__ = (
        Index(None, "user_space", "domain", "automation_id"),
        Index(None, "user_space", "domain", "state", "automation_id"),
    )


class AutomationRunRow(Table):
    """One firing, or one nominal time that was not run (U4, U5): `state` is ran, buffered, skipped or missed.

    `cause` is schedule, catch_up or manual. `outcome` is how its task ended. `count` is more than 1 where a long row of
    missed times is one record; `nominal_time` is then the last of them.
    """

    __tablename__ = "automation_runs"
    run_id: Mapped[str] = mapped_column(primary_key=True)
    automation_id: Mapped[str] = mapped_column(ForeignKey("automations.automation_id"))
    nominal_time: Mapped[datetime] = mapped_column(MendableTime())
    request_id: Mapped[str]
    cause: Mapped[str]
    state: Mapped[str]
    reason: Mapped[str | None]
    count: Mapped[int] = mapped_column(default=1)
    schedule_revision: Mapped[int]
    binding_revision: Mapped[int]
    task_id: Mapped[str | None] = mapped_column(index=True)
    requirement_version: Mapped[int | None]
    outcome: Mapped[str | None]
    decided_at: Mapped[datetime] = mapped_column(MendableTime())
    ended_at: Mapped[datetime | None] = mapped_column(MendableTime())
    __table_args__ = (
        UniqueConstraint("automation_id", "nominal_time"),
        Index(None, "automation_id", "state"),
    )


class AutomationProposalRow(Scoped, Table):
    """A schedule that the assistant proposes (U9): nothing runs by it until the owner confirms it.

    `kind` is create or reschedule; `call_key` names the tool call, so that a repeated one proposes once.
    """

    __tablename__ = "automation_proposals"
    proposal_id: Mapped[str] = mapped_column(primary_key=True)
    call_key: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    automation_id: Mapped[str | None]
    content: Mapped[dict[str, Any]] = mapped_column(MendableJson(dict))
    state: Mapped[str]
    reason: Mapped[str | None]
    source_session_id: Mapped[str | None]
    source_seqs: Mapped[list[int]] = mapped_column(MendableJson(list))
    created_at: Mapped[datetime] = mapped_column(MendableTime())
    closed_at: Mapped[datetime | None] = mapped_column(MendableTime())
    __table_args__ = (
        Index(None, "user_space", "domain", "proposal_id"),
        Index(None, "user_space", "domain", "state"),
    )
