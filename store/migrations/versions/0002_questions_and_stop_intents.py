"""Questions to the user, stop intents, what a call waits for."""

import sqlalchemy as sa
from alembic import op

from store.columns import UtcTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "intents",
        sa.Column("intent_id", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("requirement_version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("expected", sa.String(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.Column("covered", sa.JSON(), nullable=False),
        sa.Column("unsettled", sa.JSON(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=False),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("done_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=op.f("fk_intents_task_id")),
        sa.PrimaryKeyConstraint("intent_id", name=op.f("pk_intents")),
        sa.UniqueConstraint("task_id", "requirement_version", name=op.f("uq_intents_task_id_requirement_version")),
    )
    with op.batch_alter_table("intents", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_intents_user_space_domain_state_intent_id"),
            ["user_space", "domain", "state", "intent_id"],
            unique=False,
        )

    op.create_table(
        "questions",
        sa.Column("question_id", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("requirement_version", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("place_in_step", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("answer", sa.String(), nullable=True),
        sa.Column("answered_by", sa.String(), nullable=True),
        sa.Column("source_session_id", sa.String(), nullable=True),
        sa.Column("source_seq", sa.Integer(), nullable=True),
        sa.Column("delivery_id", sa.String(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("settled_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.task_id"], name=op.f("fk_questions_task_id")),
        sa.PrimaryKeyConstraint("question_id", name=op.f("pk_questions")),
        sa.UniqueConstraint("run_id", "step", "place_in_step", name=op.f("uq_questions_run_id_step_place_in_step")),
    )
    with op.batch_alter_table("questions", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_questions_task_id"), ["task_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_questions_user_space_domain_state_question_id"),
            ["user_space", "domain", "state", "question_id"],
            unique=False,
        )
        batch_op.create_index(
            "uq_questions_open",
            ["task_id"],
            unique=True,
            sqlite_where=sa.text("state = 'open'"),
            postgresql_where=sa.text("state = 'open'"),
        )

    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.add_column(sa.Column("reason_text", sa.String(), nullable=True))

    with op.batch_alter_table("calls", schema=None) as batch_op:
        batch_op.add_column(sa.Column("question_id", sa.String(), nullable=True))
        batch_op.add_column(sa.Column("child_task_id", sa.String(), nullable=True))
        batch_op.create_index(batch_op.f("ix_calls_child_task_id"), ["child_task_id"], unique=False)
