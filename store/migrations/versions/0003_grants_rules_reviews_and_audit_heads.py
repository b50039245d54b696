"""Grants, rules, reviews, user settings, the imported legacy ledger, and where each audit chain ends."""

import sqlalchemy as sa
from alembic import op

from store.columns import UtcTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply the change."""
    op.create_table(
        "audit_heads",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("user_space", "domain", name=op.f("pk_audit_heads")),
    )
    # Chains that exist already end where they end now.
    op.execute(
        "INSERT INTO audit_heads (user_space, domain, sequence, hash) "
        "SELECT user_space, domain, sequence, hash FROM audit AS newest WHERE sequence = "
        "(SELECT max(sequence) FROM audit WHERE user_space = newest.user_space AND domain = newest.domain)"
    )
    op.create_table(
        "grant_proposals",
        sa.Column("proposal_id", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=True),
        sa.Column("requirement_version", sa.Integer(), nullable=True),
        sa.Column("automation_id", sa.String(), nullable=True),
        sa.Column("binding_revision", sa.Integer(), nullable=True),
        sa.Column("effect_id", sa.String(), nullable=True),
        sa.Column("bounds", sa.JSON(), nullable=False),
        sa.Column("words", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("closed_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("proposal_id", name=op.f("pk_grant_proposals")),
    )
    with op.batch_alter_table("grant_proposals", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_grant_proposals_effect_id"), ["effect_id"], unique=False)
        batch_op.create_index(batch_op.f("ix_grant_proposals_task_id"), ["task_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_grant_proposals_user_space_domain_proposal_id"),
            ["user_space", "domain", "proposal_id"],
            unique=False,
        )

    op.create_table(
        "grants",
        sa.Column("grant_id", sa.String(), nullable=False),
        sa.Column("proposal_id", sa.String(), nullable=True),
        sa.Column("parent_grant_id", sa.String(), nullable=True),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("account", sa.String(), nullable=True),
        sa.Column("task_id", sa.String(), nullable=True),
        sa.Column("requirement_version", sa.Integer(), nullable=True),
        sa.Column("automation_id", sa.String(), nullable=True),
        sa.Column("binding_revision", sa.Integer(), nullable=True),
        sa.Column("bounds", sa.JSON(), nullable=False),
        sa.Column("words", sa.JSON(), nullable=False),
        sa.Column("issued_by", sa.String(), nullable=False),
        sa.Column("issued_at", UtcTime(), nullable=False),
        sa.Column("expires_at", UtcTime(), nullable=False),
        sa.Column("revoked_at", UtcTime(), nullable=True),
        sa.Column("revoked_reason", sa.String(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["parent_grant_id"], ["grants.grant_id"], name=op.f("fk_grants_parent_grant_id")),
        sa.PrimaryKeyConstraint("grant_id", name=op.f("pk_grants")),
    )
    with op.batch_alter_table("grants", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_grants_proposal_id"), ["proposal_id"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_grants_task_id_requirement_version"), ["task_id", "requirement_version"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_grants_user_space_domain_grant_id"), ["user_space", "domain", "grant_id"], unique=False
        )

    op.create_table(
        "legacy_actions",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("action_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("source_state", sa.String(), nullable=False),
        sa.Column("action_json", sa.String(), nullable=False),
        sa.Column("outcome_json", sa.String(), nullable=True),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("decided_at", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("user_space", "domain", "action_id", name=op.f("pk_legacy_actions")),
    )
    op.create_table(
        "legacy_audit",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("sequence", sa.Integer(), nullable=False),
        sa.Column("action_id", sa.String(), nullable=True),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
        sa.Column("detail_json", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("user_space", "domain", "sequence", name=op.f("pk_legacy_audit")),
    )
    op.create_table(
        "legacy_imports",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("source_path", sa.String(), nullable=False),
        sa.Column("source_digest", sa.String(), nullable=False),
        sa.Column("counts", sa.JSON(), nullable=False),
        sa.Column("principal", sa.String(), nullable=False),
        sa.Column("imported_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_space", "domain", name=op.f("pk_legacy_imports")),
    )
    op.create_table(
        "legacy_settings",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.Column("updated_at", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("user_space", "domain", "key", name=op.f("pk_legacy_settings")),
    )
    op.create_table(
        "rules",
        sa.Column("rule_id", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("scope", sa.JSON(), nullable=False),
        sa.Column("scope_digest", sa.String(), nullable=False),
        sa.Column("match_key", sa.String(), nullable=False),
        sa.Column("words", sa.JSON(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("created_at", UtcTime(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.Column("deleted_at", UtcTime(), nullable=True),
        sa.Column("user_space", sa.String(length=64), nullable=False),
        sa.Column("domain", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("rule_id", name=op.f("pk_rules")),
    )
    with op.batch_alter_table("rules", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_rules_user_space_domain_match_key"), ["user_space", "domain", "match_key"], unique=False
        )
        batch_op.create_index(
            batch_op.f("ix_rules_user_space_domain_rule_id"), ["user_space", "domain", "rule_id"], unique=False
        )

    op.create_table(
        "user_settings",
        sa.Column("user_space", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("choices", sa.JSON(), nullable=False),
        sa.Column("updated_at", UtcTime(), nullable=False),
        sa.PrimaryKeyConstraint("user_space", "domain", name=op.f("pk_user_settings")),
    )
    op.create_table(
        "reviews",
        sa.Column("effect_id", sa.String(), nullable=False),
        sa.Column("action_digest", sa.String(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("reviewed_at", UtcTime(), nullable=False),
        sa.ForeignKeyConstraint(["effect_id"], ["effects.effect_id"], name=op.f("fk_reviews_effect_id")),
        sa.PrimaryKeyConstraint("effect_id", name=op.f("pk_reviews")),
    )
    op.create_table(
        "leases",
        sa.Column("lease_id", sa.String(), nullable=False),
        sa.Column("effect_id", sa.String(), nullable=False),
        sa.Column("claim_id", sa.String(), nullable=False),
        sa.Column("grant_id", sa.String(), nullable=True),
        sa.Column("action_digest", sa.String(), nullable=False),
        sa.Column("acquired_at", UtcTime(), nullable=False),
        sa.Column("released_at", UtcTime(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["claim_id"], ["claims.claim_id"], name=op.f("fk_leases_claim_id")),
        sa.ForeignKeyConstraint(["effect_id"], ["effects.effect_id"], name=op.f("fk_leases_effect_id")),
        sa.ForeignKeyConstraint(["grant_id"], ["grants.grant_id"], name=op.f("fk_leases_grant_id")),
        sa.PrimaryKeyConstraint("lease_id", name=op.f("pk_leases")),
    )
    with op.batch_alter_table("leases", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_leases_effect_id"), ["effect_id"], unique=False)
        batch_op.create_index(
            "uq_leases_open",
            ["effect_id"],
            unique=True,
            sqlite_where=sa.text("released_at IS NULL"),
            postgresql_where=sa.text("released_at IS NULL"),
        )
