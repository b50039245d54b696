"""Indexes of lists that were read in other orders than those they were stored in."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    with op.batch_alter_table("approvals", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_approvals_user_space_domain_approval_id"),
            ["user_space", "domain", "approval_id"],
            unique=False,
        )

    with op.batch_alter_table("effects", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_effects_user_space_domain_effect_id"), ["user_space", "domain", "effect_id"], unique=False
        )

    with op.batch_alter_table("questions", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_questions_user_space_domain_question_id"),
            ["user_space", "domain", "question_id"],
            unique=False,
        )

    with op.batch_alter_table("tasks", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_tasks_user_space_domain_agent_id_state_task_id"),
            ["user_space", "domain", "agent_id", "state", "task_id"],
            unique=False,
        )
        batch_op.create_index(
            batch_op.f("ix_tasks_user_space_domain_automation_id_task_id"),
            ["user_space", "domain", "automation_id", "task_id"],
            unique=False,
            sqlite_where=sa.text("automation_id IS NOT NULL"),
            postgresql_where=sa.text("automation_id IS NOT NULL"),
        )
