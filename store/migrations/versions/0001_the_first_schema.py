"""The first schema."""

import sqlalchemy as sa
from alembic import op

from store.columns import UtcTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "attachments",
        sa.Column("attachment_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("referenced", sa.Boolean(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("attachment_id", name=op.f("pk_attachments")),
    )
    with op.batch_alter_table("attachments", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_attachments_user_space_domain_referenced_created_at"),
            ["user_space", "domain", "referenced", "created_at"],
            unique=False,
        )

    op.create_table(
        "audit",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject_id", sa.String(), nullable=False),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=True),
        sa.Column("action_digest", sa.String(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("previous_hash", sa.String(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("user_space", "domain", "sequence", name=op.f("pk_audit")),
    )
    op.create_table(
        "calls",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("place_in_step", sa.Integer(), nullable=False),
        sa.Column("call_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("arguments", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("result", sa.String(), nullable=True),
        sa.Column("effect_id", sa.String(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "step", "place_in_step", name=op.f("pk_calls")),
    )
    op.create_table(
        "changes",
        sa.Column("revision", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("topic", sa.String(), nullable=False),
        sa.Column("body", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_changes")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "deliveries",
        sa.Column("delivery_id", sa.String(), nullable=False),
        sa.Column("owner_kind", sa.String(), nullable=False),
        sa.Column("owner_id", sa.String(), nullable=False),
        sa.Column("requirement_version", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("message_seq", sa.Integer(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("delivery_id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint(
            "owner_kind",
            "owner_id",
            "requirement_version",
            "attempt",
            "kind",
            "subject_id",
            name=op.f("uq_deliveries_owner_kind_owner_id_requirement_version_attempt_kind_subject_id"),
        ),
    )
    with op.batch_alter_table("deliveries", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_deliveries_owner_id"), ["owner_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_deliveries_user_space_domain_state_position"),
            ["user_space", "domain", "state", "position"],
            unique=False,
        )

    op.create_table(
        "effects",
        sa.Column("effect_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("place_in_step", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=True),
        sa.Column("requirement_version", sa.Integer(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("action", sa.JSON(), nullable=False),
        sa.Column("action_digest", sa.String(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("words", sa.JSON(), nullable=False),
        sa.Column("impact", sa.JSON(), nullable=False),
        sa.Column("preview", sa.String(), nullable=True),
        sa.Column("settled_note", sa.String(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("effect_id", name=op.f("pk_effects")),
        sa.UniqueConstraint("run_id", "step", "place_in_step", name=op.f("uq_effects_run_id_step_place_in_step")),
    )
    with op.batch_alter_table("effects", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_effects_run_id"), ["run_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_effects_task_id"), ["task_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_effects_turn_id"), ["turn_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_effects_user_space_domain_state_effect_id"),
            ["user_space", "domain", "state", "effect_id"],
            unique=False,
        )

    op.create_table(
        "login_links",
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("expires_at", UtcTime(), nullable=False),
        sa.Column("used_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_login_links")),
    )
    op.create_table(
        "outbox",
        sa.Column("entry_id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("subject_id", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("due_at", UtcTime(), nullable=False),
        sa.Column("done_at", UtcTime(), nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_outbox")),
    )
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_outbox_user_space_domain_done_at_entry_id"),
            ["user_space", "domain", "done_at", "entry_id"],
            unique=False,
        )

    op.create_table(
        "receipts",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("method", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("graph_generation", sa.Integer(), nullable=False),
        sa.Column("accepted_at", UtcTime(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("message_seq", sa.Integer(), nullable=True),
        sa.Column("task_id", sa.String(), nullable=True),
        sa.Column("intent_id", sa.String(), nullable=True),
        sa.Column("delivery_id", sa.String(), nullable=True),
        sa.Column("subject_id", sa.String(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("error", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("user_space", "domain", "request_id", name=op.f("pk_receipts")),
    )
    op.create_table(
        "run_events",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("category", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("duration_ms", sa.Double(), nullable=True),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.Column("at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "sequence", name=op.f("pk_run_events")),
    )
    op.create_table(
        "sessions",
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("last_seq", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_sessions")),
    )
    op.create_table(
        "spaces",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("main_session_id", sa.String(), nullable=False),
        sa.Column("next_position", sa.Integer(), nullable=False),
        sa.Column("graph_generation", sa.Integer(), nullable=False),
        sa.Column("composition", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_space", "domain", name=op.f("pk_spaces")),
    )
    op.create_table(
        "steps",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("response_json", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("context", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_steps")),
    )
    op.create_table(
        "tasks",
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("requirement_version", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("engine", sa.String(), nullable=False),
        sa.Column("permission_mode", sa.String(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("parent_task_id", sa.String(), nullable=True),
        sa.Column("parent_requirement_version", sa.Integer(), nullable=True),
        sa.Column("parent_attempt", sa.Integer(), nullable=True),
        sa.Column("automation_id", sa.String(), nullable=True),
        sa.Column("grant_ref", sa.String(), nullable=True),
        sa.Column("grant_expires_at", UtcTime(), nullable=True),
        sa.Column("progress", sa.String(), nullable=True),
        sa.Column("progress_at", UtcTime(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("reason_text", sa.String(), nullable=True),
        sa.Column("result_summary", sa.String(), nullable=True),
        sa.Column("admitted_at", UtcTime(), nullable=True),
        sa.Column("graph_generation", sa.Integer(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("task_id", name=op.f("pk_tasks")),
    )
    with op.batch_alter_table("tasks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_tasks_parent_task_id"), ["parent_task_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_tasks_user_space_domain_agent_id_task_id"),
            ["user_space", "domain", "agent_id", "task_id"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_tasks_user_space_domain_state_task_id"),
            ["user_space", "domain", "state", "task_id"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_tasks_user_space_domain_task_id"), ["user_space", "domain", "task_id"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_tasks_user_space_domain_updated_at"), ["user_space", "domain", "updated_at"], unique=False
        )

    op.create_table(
        "web_sessions",
        sa.Column("token_hash", sa.String(), nullable=False),
        sa.Column("credential", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_web_sessions")),
    )
    op.create_table(
        "workers",
        sa.Column("worker_id", sa.String(), nullable=False),
        sa.Column("queue", sa.String(), nullable=False),
        sa.Column("heard_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("worker_id", name=op.f("pk_workers")),
    )
    op.create_table(
        "approvals",
        sa.Column("approval_id", sa.String(), nullable=False),
        sa.Column("effect_id", sa.String(), nullable=False),
        sa.Column("action_digest", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("decided_by", sa.String(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("decided_at", UtcTime(), nullable=True),
        sa.Column("expires_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["effect_id"], ["effects.effect_id"], name=op.f("fk_approvals_effect_id")),
        sa.PrimaryKeyConstraint("approval_id", name=op.f("pk_approvals")),
    )
    with op.batch_alter_table("approvals", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_approvals_effect_id"), ["effect_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_approvals_user_space_domain_state_approval_id"),
            ["user_space", "domain", "state", "approval_id"],
            unique=False,
        )

    op.create_table(
        "artifacts",
        sa.Column("artifact_id", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("requirement_version", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=op.f("fk_artifacts_task_id")),
        sa.PrimaryKeyConstraint("artifact_id", name=op.f("pk_artifacts")),
    )
    with op.batch_alter_table("artifacts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_artifacts_task_id"), ["task_id"], unique=False)

    op.create_table(
        "attempts",
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("requirement_version", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("waited_seconds", sa.Double(), nullable=False),
        sa.Column("waiting_since", UtcTime(), nullable=True),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.session_id"], name=op.f("fk_attempts_session_id")),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=op.f("fk_attempts_task_id")),
        sa.PrimaryKeyConstraint("task_id", "requirement_version", "attempt", name=op.f("pk_attempts")),
    )
    op.create_table(
        "claims",
        sa.Column("claim_id", sa.String(), nullable=False),
        sa.Column("effect_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("claimed_at", UtcTime(), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.ForeignKeyConstraint(["effect_id"], ["effects.effect_id"], name=op.f("fk_claims_effect_id")),
        sa.PrimaryKeyConstraint("claim_id", name=op.f("pk_claims")),
    )
    with op.batch_alter_table("claims", schema=None) as batch_op:
        batch_op.create_index(
            "uq_claims_open",
            ["effect_id"],
            unique=True,
            sqlite_where=sa.text("state IN ('claimed', 'started')"),
            postgresql_where=sa.text("state IN ('claimed', 'started')"),
        )

    op.create_table(
        "effect_trail",
        sa.Column("effect_id", sa.String(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("step", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("code", sa.String(), nullable=True),
        sa.Column("at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["effect_id"], ["effects.effect_id"], name=op.f("fk_effect_trail_effect_id")),
        sa.PrimaryKeyConstraint("effect_id", "place", name=op.f("pk_effect_trail")),
    )
    op.create_table(
        "evidence",
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("requirement_version", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("summary", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=op.f("fk_evidence_task_id")),
        sa.PrimaryKeyConstraint("task_id", "requirement_version", name=op.f("pk_evidence")),
    )
    op.create_table(
        "messages",
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("time", UtcTime(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("request_id", sa.String(), nullable=True),
        sa.Column("delivery_id", sa.String(), nullable=True),
        sa.Column("approval_id", sa.String(), nullable=True),
        sa.Column("interrupted", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.session_id"], name=op.f("fk_messages_session_id")),
        sa.PrimaryKeyConstraint("session_id", "seq", name=op.f("pk_messages")),
    )
    op.create_table(
        "requirements",
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("instructions", sa.String(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("source_session_id", sa.String(), nullable=True),
        sa.Column("source_seqs", sa.JSON(), nullable=False),
        sa.Column("attachment_ids", sa.JSON(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=op.f("fk_requirements_task_id")),
        sa.PrimaryKeyConstraint("task_id", "version", name=op.f("pk_requirements")),
    )
    op.create_table(
        "turns",
        sa.Column("turn_id", sa.String(), nullable=False),
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("agent_id", sa.String(), nullable=False),
        sa.Column("permission_mode", sa.String(), nullable=False),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=True),
        sa.Column("input_seq", sa.Integer(), nullable=True),
        sa.Column("delivery_id", sa.String(), nullable=True),
        sa.Column("effect_id", sa.String(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("message_seq", sa.Integer(), nullable=True),
        sa.Column("partial_text", sa.String(), nullable=True),
        sa.Column("graph_generation", sa.Integer(), nullable=False),
        sa.Column("stop_requested_at", UtcTime(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("started_at", UtcTime(), nullable=True),
        sa.Column("ended_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["sessions.session_id"], name=op.f("fk_turns_session_id")),
        sa.PrimaryKeyConstraint("turn_id", name=op.f("pk_turns")),
        sa.UniqueConstraint("user_space", "domain", "position", name=op.f("uq_turns_user_space_domain_position")),
    )
    with op.batch_alter_table("turns", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_turns_run_id"), ["run_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_turns_user_space_domain_state_position"),
            ["user_space", "domain", "state", "position"],
            unique=False,
        )

    op.create_table(
        "message_attachments",
        sa.Column("session_id", sa.String(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("attachment_id", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attachment_id"], ["attachments.attachment_id"], name=op.f("fk_message_attachments_attachment_id")
        ),
        sa.ForeignKeyConstraint(
            ["session_id", "seq"],
            ["messages.session_id", "messages.seq"],
            name=op.f("fk_message_attachments_session_id"),
        ),
        sa.PrimaryKeyConstraint("session_id", "seq", "place", name=op.f("pk_message_attachments")),
    )
