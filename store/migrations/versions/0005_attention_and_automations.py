"""Attention groups, channels and what was seen; agent profiles; automations, their firings and proposals."""

import sqlalchemy as sa
from alembic import op

from store.columns import UtcTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "agent_profiles",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("instructions", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.Column("disabled_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("user_space", "domain", "agent_id", name=op.f("pk_agent_profiles")),
    )
    op.create_table(
        "attention_groups",
        sa.Column("group_id", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("aggregated", sa.Boolean(), nullable=False),
        sa.Column("held", sa.Boolean(), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("locator_kind", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=True),
        sa.Column("seq", sa.Integer(), nullable=True),
        sa.Column("card_id", sa.String(), nullable=True),
        sa.Column("deadline", UtcTime(), nullable=False),
        sa.Column("first_at", UtcTime(), nullable=False),
        sa.Column("newest_at", UtcTime(), nullable=False),
        sa.Column("closed_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("group_id", name=op.f("pk_attention_groups")),
    )
    with op.batch_alter_table("attention_groups", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_attention_groups_user_space_domain_state_agent_id"),
            ["user_space", "domain", "state", "agent_id"],
            unique=False,
        )
        batch_op.create_index(
            "uq_attention_groups_open",
            ["user_space", "domain", "agent_id"],
            unique=True,
            sqlite_where=sa.text("state = 'open'"),
            postgresql_where=sa.text("state = 'open'"),
        )

    op.create_table(
        "automation_proposals",
        sa.Column("proposal_id", sa.String(), nullable=False),
        sa.Column("call_key", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("automation_id", sa.String(), nullable=True),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("source_session_id", sa.String(), nullable=True),
        sa.Column("source_seqs", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("closed_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("proposal_id", name=op.f("pk_automation_proposals")),
        sa.UniqueConstraint("call_key", name=op.f("uq_automation_proposals_call_key")),
    )
    with op.batch_alter_table("automation_proposals", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_automation_proposals_user_space_domain_proposal_id"),
            ["user_space", "domain", "proposal_id"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_automation_proposals_user_space_domain_state"),
            ["user_space", "domain", "state"],
            unique=False,
        )

    op.create_table(
        "automations",
        sa.Column("automation_id", sa.String(), nullable=False),
        sa.Column("binding_id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("instructions", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("engine", sa.String(), nullable=False),
        sa.Column("permission_mode", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("overlap", sa.String(), nullable=False),
        sa.Column("catchup_s", sa.Integer(), nullable=False),
        sa.Column("schedule", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("schedule_revision", sa.Integer(), nullable=False),
        sa.Column("binding_revision", sa.Integer(), nullable=False),
        sa.Column("grant_ref", sa.String(), nullable=True),
        sa.Column("notice_grant", sa.String(), nullable=True),
        sa.Column("task_id", sa.String(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("decided_until", UtcTime(), nullable=False),
        sa.Column("source_session_id", sa.String(), nullable=True),
        sa.Column("source_seqs", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("automation_id", name=op.f("pk_automations")),
    )
    with op.batch_alter_table("automations", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_automations_user_space_domain_automation_id"),
            ["user_space", "domain", "automation_id"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_automations_user_space_domain_state_automation_id"),
            ["user_space", "domain", "state", "automation_id"],
            unique=False,
        )

    op.create_table(
        "notification_channels",
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("masked", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("removed_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("channel_id", name=op.f("pk_notification_channels")),
    )
    with op.batch_alter_table("notification_channels", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_notification_channels_user_space_domain_channel_id"),
            ["user_space", "domain", "channel_id"],
            unique=False,
        )

    op.create_table(
        "push_subscriptions",
        sa.Column("subscription_id", sa.String(), nullable=False),
        sa.Column("endpoint", sa.String(), nullable=False),
        sa.Column("p256dh", sa.String(), nullable=False),
        sa.Column("auth", sa.String(), nullable=False),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("last_sent_at", UtcTime(), nullable=True),
        sa.Column("removed_at", UtcTime(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("subscription_id", name=op.f("pk_push_subscriptions")),
    )
    with op.batch_alter_table("push_subscriptions", schema=None) as batch_op:
        batch_op.create_index(
            "uq_push_subscriptions_endpoint",
            ["user_space", "domain", "endpoint"],
            unique=True,
            sqlite_where=sa.text("removed_at IS NULL"),
            postgresql_where=sa.text("removed_at IS NULL"),
        )

    op.create_table(
        "attention_sends",
        sa.Column("group_id", sa.String(), nullable=False),
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("first_at", UtcTime(), nullable=False),
        sa.Column("due_at", UtcTime(), nullable=False),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.ForeignKeyConstraint(["group_id"], ["attention_groups.group_id"], name=op.f("fk_attention_sends_group_id")),
        sa.PrimaryKeyConstraint("group_id", "channel_id", name=op.f("pk_attention_sends")),
    )
    with op.batch_alter_table("attention_sends", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_attention_sends_channel_id_state"), ["channel_id", "state"], unique=False)

    op.create_table(
        "automation_runs",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("automation_id", sa.String(), nullable=False),
        sa.Column("nominal_time", UtcTime(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("cause", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("schedule_revision", sa.Integer(), nullable=False),
        sa.Column("binding_revision", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=True),
        sa.Column("requirement_version", sa.Integer(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("decided_at", UtcTime(), nullable=False),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["automation_id"], ["automations.automation_id"], name=op.f("fk_automation_runs_automation_id")
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_automation_runs")),
        sa.UniqueConstraint(
            "automation_id", "nominal_time", name=op.f("uq_automation_runs_automation_id_nominal_time")
        ),
    )
    with op.batch_alter_table("automation_runs", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_automation_runs_automation_id_state"), ["automation_id", "state"], unique=False
        )
        batch_op.create_index(batch_op.f("ix_automation_runs_task_id"), ["task_id"], unique=False)

    op.create_table(
        "seen",
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("up_to_seq", sa.Integer(), nullable=False),
        sa.Column("seen_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.session_id"], name=op.f("fk_seen_session_id")),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_seen")),
    )
    with op.batch_alter_table("grants", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_grants_automation_id"), ["automation_id"], unique=False)
