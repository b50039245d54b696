"""Tables of the conversation: spaces, sessions, messages, attachments, turns."""

from datetime import datetime

from sqlalchemy import ForeignKey, ForeignKeyConstraint, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class SpaceRow(Table):
    """One user space and product domain: its main session and its counters (H6, H7)."""

    __tablename__ = "spaces"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    main_session_id: Mapped[str]
    next_position: Mapped[int] = mapped_column(default=1)
    graph_generation: Mapped[int] = mapped_column(default=1)
    composition: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime]


class SessionRow(Scoped, Table):
    """A stored list of messages; hidden ones belong to attempts."""

    __tablename__ = "sessions"
    session_id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    agent_id: Mapped[str]
    last_seq: Mapped[int] = mapped_column(default=0)
    created_at: Mapped[datetime]


class MessageRow(Table):
    """One stored message of a session; sequences start at 1 and have no gaps."""

    __tablename__ = "messages"
    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.session_id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    role: Mapped[str]
    origin: Mapped[str]
    text: Mapped[str]
    time: Mapped[datetime]
    turn_id: Mapped[str | None]
    request_id: Mapped[str | None]
    delivery_id: Mapped[str | None]
    approval_id: Mapped[str | None]
    interrupted: Mapped[bool] = mapped_column(default=False)


class AttachmentRow(Scoped, Table):
    """An uploaded file: metadata only; the bytes are in the managed store (C9)."""

    __tablename__ = "attachments"
    attachment_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    media_type: Mapped[str]
    size: Mapped[int]
    sha256: Mapped[str]
    referenced: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime]
    __table_args__ = (Index(None, "user_space", "domain", "referenced", "created_at"),)


class MessageAttachmentRow(Table):
    """Which attachments a message carries, in order (C7)."""

    __tablename__ = "message_attachments"
    session_id: Mapped[str] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    attachment_id: Mapped[str] = mapped_column(ForeignKey("attachments.attachment_id"))
    __table_args__ = (ForeignKeyConstraint(["session_id", "seq"], ["messages.session_id", "messages.seq"]),)


class TurnRow(Scoped, Table):
    """One reply of the assistant (C1). `run_id` is shared by a turn and the continuations of its parked loop."""

    __tablename__ = "turns"
    turn_id: Mapped[str] = mapped_column(primary_key=True)
    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.session_id"))
    run_id: Mapped[str] = mapped_column(index=True)
    kind: Mapped[str]
    state: Mapped[str]
    position: Mapped[int]
    agent_id: Mapped[str]
    permission_mode: Mapped[str] = mapped_column(default="standard")
    principal: Mapped[str]
    request_id: Mapped[str | None]
    input_seq: Mapped[int | None]
    delivery_id: Mapped[str | None]
    effect_id: Mapped[str | None]
    reason: Mapped[str | None]
    message_seq: Mapped[int | None]
    partial_text: Mapped[str | None]
    graph_generation: Mapped[int]
    stop_requested_at: Mapped[datetime | None]
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    __table_args__ = (
        Index(None, "user_space", "domain", "state", "position"),
        UniqueConstraint("user_space", "domain", "position"),
    )
