"""Tables of standing decisions: rules of the user (E5-E7), reviews of single actions (E8), the user's settings."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class RuleRow(Scoped, Table):
    """A saved decision on exactly described actions (E6); a deleted one stays as a row, for the audit."""

    __tablename__ = "rules"
    rule_id: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(default=1)
    kind: Mapped[str]
    scope: Mapped[dict[str, Any]]
    scope_digest: Mapped[str]
    match_key: Mapped[str]
    words: Mapped[dict[str, Any]]
    mode: Mapped[str]
    paused: Mapped[bool] = mapped_column(default=False)
    created_by: Mapped[str]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    deleted_at: Mapped[datetime | None]
    __table_args__ = (
        Index(None, "user_space", "domain", "match_key"),
        Index(None, "user_space", "domain", "rule_id"),
    )


class ReviewRow(Table):
    """What the automatic review said about one action (E8): one review for each effect."""

    __tablename__ = "reviews"
    effect_id: Mapped[str] = mapped_column(ForeignKey("effects.effect_id"), primary_key=True)
    action_digest: Mapped[str]
    verdict: Mapped[str]
    reason: Mapped[str | None]
    model: Mapped[str]
    reviewed_at: Mapped[datetime]


class UserSettingsRow(Table):
    """The person's own settings of a user space (api.md `agents.settings`); absent keys are at their default."""

    __tablename__ = "user_settings"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    revision: Mapped[int] = mapped_column(default=0)
    choices: Mapped[dict[str, Any]]
    updated_at: Mapped[datetime]
