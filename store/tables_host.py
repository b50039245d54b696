"""Tables of the host: request receipts, the outbox, change notices, sign-in, worker heartbeats."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class ReceiptRow(Table):
    """The durable answer to a request id (I1, I2)."""

    __tablename__ = "receipts"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    request_id: Mapped[str] = mapped_column(primary_key=True)
    method: Mapped[str]
    digest: Mapped[str]
    state: Mapped[str]
    principal: Mapped[str]
    graph_generation: Mapped[int]
    accepted_at: Mapped[datetime]
    turn_id: Mapped[str | None]
    message_seq: Mapped[int | None]
    task_id: Mapped[str | None]
    intent_id: Mapped[str | None]
    delivery_id: Mapped[str | None]
    subject_id: Mapped[str | None]
    outcome: Mapped[str | None]
    error: Mapped[dict[str, Any] | None]


class OutboxRow(Scoped, Table):
    """Something that Temporal has to be told, written with the fact that it is about (C2)."""

    __tablename__ = "outbox"
    entry_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    kind: Mapped[str]
    subject_id: Mapped[str]
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    done_at: Mapped[datetime | None]
    tries: Mapped[int] = mapped_column(default=0)
    __table_args__ = (Index(None, "user_space", "domain", "done_at", "entry_id"),)


class ChangeRow(Scoped, Table):
    """A bodyless notice for clients (H13); its id is the notice's revision. Old rows are pruned."""

    __tablename__ = "changes"
    revision: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    topic: Mapped[str]
    body: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    __table_args__ = ({"sqlite_autoincrement": True},)


class LoginLinkRow(Scoped, Table):
    """A one-time sign-in link (H19); only the SHA-256 of its token is kept."""

    __tablename__ = "login_links"
    token_hash: Mapped[str] = mapped_column(primary_key=True)
    expires_at: Mapped[datetime]
    used_at: Mapped[datetime | None]


class WebSessionRow(Scoped, Table):
    """A browser that exchanged a one-time link for a cookie (H19)."""

    __tablename__ = "web_sessions"
    token_hash: Mapped[str] = mapped_column(primary_key=True)
    credential: Mapped[str]
    created_at: Mapped[datetime]


class WorkerRow(Table):
    """When a worker was last heard (`/readyz`)."""

    __tablename__ = "workers"
    worker_id: Mapped[str] = mapped_column(primary_key=True)
    queue: Mapped[str]
    heard_at: Mapped[datetime]
