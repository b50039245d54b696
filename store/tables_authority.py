"""Tables of authority: effects with their trail, approvals, claims, the audit chain."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, LargeBinary, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class EffectRow(Scoped, Table):
    """One effect of a run: the exact action, its digest and what became of it (E2, E13)."""

    __tablename__ = "effects"
    effect_id: Mapped[str] = mapped_column(primary_key=True)
    run_id: Mapped[str] = mapped_column(index=True)
    step: Mapped[int]
    place_in_step: Mapped[int]
    task_id: Mapped[str | None] = mapped_column(index=True)
    requirement_version: Mapped[int | None]
    attempt: Mapped[int | None]
    turn_id: Mapped[str | None] = mapped_column(index=True)
    kind: Mapped[str]
    state: Mapped[str]
    reason: Mapped[str | None]
    action: Mapped[dict[str, Any]]
    action_digest: Mapped[str]
    content: Mapped[bytes | None] = mapped_column(LargeBinary)
    words: Mapped[dict[str, Any]]
    impact: Mapped[dict[str, Any]]
    preview: Mapped[str | None]
    settled_note: Mapped[str | None]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    __table_args__ = (
        UniqueConstraint("run_id", "step", "place_in_step"),
        Index(None, "user_space", "domain", "state", "effect_id"),
        Index(None, "user_space", "domain", "effect_id"),
    )


class EffectTrailRow(Table):
    """One entry of an effect's trail (E20)."""

    __tablename__ = "effect_trail"
    effect_id: Mapped[str] = mapped_column(ForeignKey("effects.effect_id"), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    step: Mapped[str]
    verdict: Mapped[str]
    code: Mapped[str | None]
    at: Mapped[datetime]


class ApprovalRow(Scoped, Table):
    """A card: a person's decision on one exact action (E9-E11)."""

    __tablename__ = "approvals"
    approval_id: Mapped[str] = mapped_column(primary_key=True)
    effect_id: Mapped[str] = mapped_column(ForeignKey("effects.effect_id"), index=True)
    action_digest: Mapped[str]
    version: Mapped[int] = mapped_column(default=1)
    state: Mapped[str]
    reason: Mapped[str | None]
    decided_by: Mapped[str | None]
    created_at: Mapped[datetime]
    decided_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    __table_args__ = (
        Index(None, "user_space", "domain", "state", "approval_id"),
        Index(None, "user_space", "domain", "approval_id"),
    )


class ClaimRow(Table):
    """The durable record written before an effect may start (E12): at most one open per effect."""

    __tablename__ = "claims"
    claim_id: Mapped[str] = mapped_column(primary_key=True)
    effect_id: Mapped[str] = mapped_column(ForeignKey("effects.effect_id"))
    state: Mapped[str]
    claimed_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    __table_args__ = (
        Index(
            "uq_claims_open",
            "effect_id",
            unique=True,
            sqlite_where=text("state IN ('claimed', 'started')"),
            postgresql_where=text("state IN ('claimed', 'started')"),
        ),
    )


class AuditRow(Scoped, Table):
    """One decision in the hash chain of a user space and domain (A14)."""

    __tablename__ = "audit"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    kind: Mapped[str]
    subject_id: Mapped[str]
    principal: Mapped[str]
    verdict: Mapped[str]
    code: Mapped[str | None]
    action_digest: Mapped[str | None]
    details: Mapped[dict[str, Any]]
    previous_hash: Mapped[str]
    hash: Mapped[str]
