"""Tables of attention (N): groups of events until they are announced, what is sent where, who has seen what."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from store.columns import Scoped, Table


class AttentionGroupRow(Scoped, Table):
    """Events of one agent that become one notification (N3, N7): the newest locator and a count, never a text.

    `state` is open (events join it), due (being announced), sent or dropped, the last with its `reason`. The locator is
    a message (`session_id`, `seq`) or a card (`card_id`), by `locator_kind`. `generation` counts the group's events.
    """

    __tablename__ = "attention_groups"
    group_id: Mapped[str] = mapped_column(primary_key=True)
    agent_id: Mapped[str]
    state: Mapped[str]
    reason: Mapped[str | None]
    aggregated: Mapped[bool]
    held: Mapped[bool]
    count: Mapped[int]
    generation: Mapped[int]
    locator_kind: Mapped[str]
    session_id: Mapped[str | None]
    seq: Mapped[int | None]
    card_id: Mapped[str | None]
    deadline: Mapped[datetime]
    first_at: Mapped[datetime]
    newest_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    __table_args__ = (
        Index(
            "uq_attention_groups_open",
            "user_space",
            "domain",
            "agent_id",
            unique=True,
            sqlite_where=text("state = 'open'"),
            postgresql_where=text("state = 'open'"),
        ),
        Index(None, "user_space", "domain", "state", "agent_id"),
    )


class AttentionSendRow(Table):
    """One group on its way to one channel outside of the page (N9); `state` is pending or how it ended."""

    __tablename__ = "attention_sends"
    group_id: Mapped[str] = mapped_column(ForeignKey("attention_groups.group_id"), primary_key=True)
    channel_id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    state: Mapped[str]
    reason: Mapped[str | None]
    tries: Mapped[int]
    first_at: Mapped[datetime]
    due_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    __table_args__ = (Index(None, "channel_id", "state"),)


class PushSubscriptionRow(Scoped, Table):
    """A browser's push subscription (N9); it is removed when its service says that it is gone."""

    __tablename__ = "push_subscriptions"
    subscription_id: Mapped[str] = mapped_column(primary_key=True)
    endpoint: Mapped[str]
    p256dh: Mapped[str]
    auth: Mapped[str]
    principal: Mapped[str]
    created_at: Mapped[datetime]
    last_sent_at: Mapped[datetime | None]
    removed_at: Mapped[datetime | None]
    reason: Mapped[str | None]
    __table_args__ = (
        Index(
            "uq_push_subscriptions_endpoint",
            "user_space",
            "domain",
            "endpoint",
            unique=True,
            sqlite_where=text("removed_at IS NULL"),
            postgresql_where=text("removed_at IS NULL"),
        ),
    )


class NotificationChannelRow(Scoped, Table):
    """A channel that the user configured (N9); its address is a secret and is not here (P15)."""

    __tablename__ = "notification_channels"
    channel_id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    masked: Mapped[str]
    created_at: Mapped[datetime]
    removed_at: Mapped[datetime | None]
    __table_args__ = (Index(None, "user_space", "domain", "channel_id"),)


class SeenRow(Table):
    """How far the user has seen a session in a focused window (N2)."""

    __tablename__ = "seen"
    session_id: Mapped[str] = mapped_column(ForeignKey("sessions.session_id"), primary_key=True)
    up_to_seq: Mapped[int]
    seen_at: Mapped[datetime]


class AgentProfileRow(Table):
    """An agent of the user beside the twin, which has no row until it is changed; a disabled one starts nothing."""

    __tablename__ = "agent_profiles"
    user_space: Mapped[str] = mapped_column(primary_key=True)
    domain: Mapped[str] = mapped_column(primary_key=True)
    agent_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    instructions: Mapped[str]
    model: Mapped[str | None]
    revision: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    disabled_at: Mapped[datetime | None]
