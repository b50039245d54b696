"""Tables of the imported legacy review ledger (E19): the marker of the import, and its rows as they were.

Nothing here is ever dispatched, matched or decided: what the product acts on is in the tables of authority. Times are
the source's own text, because the source promises no more than text.
"""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class LegacyImportRow(Scoped, Table):
    """The marker of a committed import, bound to its source by path and digest; at most one per scope."""

    __tablename__ = "legacy_imports"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    source_path: Mapped[str]
    source_digest: Mapped[str]
    counts: Mapped[dict[str, Any]]
    principal: Mapped[str]
    imported_at: Mapped[datetime]


class LegacySettingRow(Scoped, Table):
    """A setting of the source."""

    __tablename__ = "legacy_settings"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]
    updated_at: Mapped[str]


class LegacyActionRow(Scoped, Table):
    """An action of the source; `state` is what it was imported as, `source_state` what the source said."""

    __tablename__ = "legacy_actions"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    action_id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    digest: Mapped[str]
    version: Mapped[int]
    state: Mapped[str]
    source_state: Mapped[str]
    action_json: Mapped[str]
    outcome_json: Mapped[str | None]
    created_at: Mapped[str]
    decided_at: Mapped[str | None]


class LegacyAuditRow(Scoped, Table):
    """An audit entry of the source, under its sequence there."""

    __tablename__ = "legacy_audit"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    sequence: Mapped[int] = mapped_column(primary_key=True)
    action_id: Mapped[str | None]
    event: Mapped[str]
    actor: Mapped[str]
    at: Mapped[str]
    detail_json: Mapped[str | None]
