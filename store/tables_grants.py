"""Tables of unattended authorization (A): requests for a grant, grants, and the leases that effects take from them."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class GrantProposalRow(Scoped, Table):
    """Bounds that the owner is asked to grant (A10, A11): for a task, one of its effects, or a text without a task.

    `state` is open, issued or closed.
    """

    __tablename__ = "grant_proposals"
    proposal_id: Mapped[str] = mapped_column(primary_key=True)
    task_id: Mapped[str | None] = mapped_column(index=True)
    requirement_version: Mapped[int | None]
    automation_id: Mapped[str | None]
    binding_revision: Mapped[int | None]
    effect_id: Mapped[str | None] = mapped_column(index=True)
    bounds: Mapped[dict[str, Any]]
    words: Mapped[dict[str, Any]]
    state: Mapped[str]
    reason: Mapped[str | None]
    created_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    __table_args__ = (Index(None, "user_space", "domain", "proposal_id"),)


class GrantRow(Scoped, Table):
    """One grant (A1): its bounds, who issued it, what holds it, until when. Only its id leaves this table (T2)."""

    __tablename__ = "grants"
    grant_id: Mapped[str] = mapped_column(primary_key=True)
    proposal_id: Mapped[str | None] = mapped_column(index=True)
    parent_grant_id: Mapped[str | None] = mapped_column(ForeignKey("grants.grant_id"))
    provider: Mapped[str]
    account: Mapped[str | None]
    task_id: Mapped[str | None]
    requirement_version: Mapped[int | None]
    automation_id: Mapped[str | None]
    binding_revision: Mapped[int | None]
    bounds: Mapped[dict[str, Any]]
    words: Mapped[dict[str, Any]]
    issued_by: Mapped[str]
    issued_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]
    revoked_reason: Mapped[str | None]
    __table_args__ = (
        Index(None, "user_space", "domain", "grant_id"),
        Index(None, "task_id", "requirement_version"),
        Index(None, "automation_id"),
    )


class LeaseRow(Table):
    """A grant narrowed to one effect (A2): taken with the claim, released with its outcome."""

    __tablename__ = "leases"
    lease_id: Mapped[str] = mapped_column(primary_key=True)
    effect_id: Mapped[str] = mapped_column(ForeignKey("effects.effect_id"), index=True)
    claim_id: Mapped[str] = mapped_column(ForeignKey("claims.claim_id"))
    grant_id: Mapped[str | None] = mapped_column(ForeignKey("grants.grant_id"))
    action_digest: Mapped[str]
    acquired_at: Mapped[datetime]
    released_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    __table_args__ = (
        Index(
            "uq_leases_open",
            "effect_id",
            unique=True,
            sqlite_where=text("released_at IS NULL"),
            postgresql_where=text("released_at IS NULL"),
        ),
    )
