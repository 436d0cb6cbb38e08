"""All tables of the first version, and the triggers that keep history from being changed.

Revision ID: 20261120_first_schema
Revises:
Create Date: 2026-11-20 12:42:33.401824+00:00
"""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261120_first_schema"
down_revision = None
branch_labels = None
depends_on = None

REFUSED: Final = {
    "ledger_entries": "UPDATE OR DELETE OR TRUNCATE",
    "audit_events": "UPDATE OR DELETE OR TRUNCATE",
    # A budget's row holds the head of its chain: it changes, but it never goes.
    "budgets": "DELETE OR TRUNCATE",
}

REFUSE_CHANGE: Final = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% refuses %', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END
$$
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_table(
        "api_keys",
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("roles", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "roles <@ ARRAY['owner', 'analyst', 'admin', 'auditor']", name=op.f("api_keys_roles_known_check")
        ),
        sa.CheckConstraint("cardinality(roles) > 0", name=op.f("api_keys_roles_some_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("api_keys_pkey")),
        sa.UniqueConstraint("digest", name=op.f("api_keys_digest_key")),
    )
    op.create_index(op.f("api_keys_prefix_idx"), "api_keys", ["prefix"], unique=False)
    op.create_index(op.f("api_keys_principal_id_idx"), "api_keys", ["principal_id"], unique=False)
    op.create_table(
        "audit_events",
        sa.Column("sequence", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("object", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name=op.f("audit_events_pkey")),
    )
    op.create_index(op.f("audit_events_at_idx"), "audit_events", ["at"], unique=False)
    op.create_index(op.f("audit_events_object_idx"), "audit_events", ["object"], unique=False)
    op.create_table(
        "budgets",
        sa.Column("population_id", sa.Uuid(), nullable=False),
        sa.Column("epsilon_cap", sa.Double(), nullable=True),
        sa.Column("delta_cap", sa.Double(), nullable=True),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("head_sequence", sa.BigInteger(), nullable=False),
        sa.Column("head_hash", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "epsilon_cap > 0 AND epsilon_cap < 'Infinity'", name=op.f("budgets_epsilon_cap_positive_check")
        ),
        sa.CheckConstraint("rule IN ('filters', 'basic')", name=op.f("budgets_rule_known_check")),
        sa.CheckConstraint(
            "(epsilon_cap IS NULL) = (delta_cap IS NULL)", name=op.f("budgets_caps_together_check")
        ),
        sa.CheckConstraint(
            "delta_cap > 0 AND delta_cap < 1", name=op.f("budgets_delta_cap_probability_check")
        ),
        sa.CheckConstraint("head_sequence >= 0", name=op.f("budgets_head_sequence_counts_check")),
        sa.CheckConstraint("octet_length(head_hash) = 32", name=op.f("budgets_head_hash_sha256_check")),
        sa.PrimaryKeyConstraint("population_id", name=op.f("budgets_pkey")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request_digest", sa.LargeBinary(), nullable=False),
        sa.Column("response_status", sa.BigInteger(), nullable=True),
        sa.Column("response_body", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("principal_id", "key", name=op.f("idempotency_keys_pkey")),
    )
    op.create_table(
        "datasets",
        sa.Column("population_id", sa.Uuid(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("domain", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("adjacency", sa.Text(), nullable=False),
        sa.Column("privacy_unit", sa.Text(), nullable=True),
        sa.Column("declared_size", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("rows_key", sa.Text(), nullable=True),
        sa.Column("wrapped_data_key", sa.LargeBinary(), nullable=True),
        sa.Column("intake_report", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "(state = 'ready') = (rows_key IS NOT NULL AND wrapped_data_key IS NOT NULL)",
            name=op.f("datasets_ready_has_rows_check"),
        ),
        sa.CheckConstraint("adjacency IN ('add-or-remove')", name=op.f("datasets_adjacency_known_check")),
        sa.CheckConstraint("state IN ('declared', 'ready')", name=op.f("datasets_state_known_check")),
        sa.CheckConstraint("declared_size > 0", name=op.f("datasets_declared_size_positive_check")),
        sa.ForeignKeyConstraint(
            ["population_id"], ["budgets.population_id"], name=op.f("datasets_population_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("datasets_pkey")),
    )
    op.create_index(op.f("datasets_owner_id_idx"), "datasets", ["owner_id"], unique=False)
    op.create_index(op.f("datasets_population_id_idx"), "datasets", ["population_id"], unique=False)
    op.create_table(
        "ledger_entries",
        sa.Column("population_id", sa.Uuid(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("epsilon_micros", sa.BigInteger(), nullable=False),
        sa.Column("delta_femtos", sa.BigInteger(), nullable=False),
        sa.Column("rdp_micros", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("mechanism", postgresql.JSON(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("previous_hash", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint(
            "(kind = 'RESERVED') = (mechanism IS NOT NULL)",
            name=op.f("ledger_entries_reserved_has_mechanism_check"),
        ),
        sa.CheckConstraint(
            "(kind = 'SPENT') = (fence IS NOT NULL)", name=op.f("ledger_entries_spent_has_fence_check")
        ),
        sa.CheckConstraint(
            "kind IN ('RESERVED', 'SPENT', 'VOIDED', 'SETTLED')", name=op.f("ledger_entries_kind_known_check")
        ),
        sa.CheckConstraint(
            "epsilon_micros >= 0 AND delta_femtos >= 0 AND 0 <= ALL(rdp_micros)",
            name=op.f("ledger_entries_amounts_not_negative_check"),
        ),
        sa.CheckConstraint(
            "octet_length(previous_hash) = 32 AND octet_length(hash) = 32",
            name=op.f("ledger_entries_hashes_sha256_check"),
        ),
        sa.CheckConstraint(
            "cardinality(rdp_micros) = 6", name=op.f("ledger_entries_one_amount_per_order_check")
        ),
        sa.CheckConstraint("sequence > 0", name=op.f("ledger_entries_sequence_counts_check")),
        sa.ForeignKeyConstraint(
            ["population_id"], ["budgets.population_id"], name=op.f("ledger_entries_population_id_fkey")
        ),
        sa.PrimaryKeyConstraint("population_id", "sequence", name=op.f("ledger_entries_pkey")),
    )
    op.create_index("ledger_entries_job_id_kind_key", "ledger_entries", ["job_id", "kind"], unique=True)
    op.create_index(
        "ledger_entries_spent_or_voided_key",
        "ledger_entries",
        ["job_id"],
        unique=True,
        postgresql_where=sa.text("kind IN ('SPENT', 'VOIDED')"),
    )
    op.create_table(
        "jobs",
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("ordered_by", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("plan", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("plan_digest", sa.Text(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stage", sa.Text(), nullable=True),
        sa.Column("step", sa.BigInteger(), nullable=False),
        sa.Column("total_steps", sa.BigInteger(), nullable=False),
        sa.Column("steps_begun", sa.BigInteger(), nullable=False),
        sa.Column("sealed_randomness_key", sa.LargeBinary(), nullable=True),
        sa.Column("failure_code", sa.Text(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "(state = 'failed') = (failure_code IS NOT NULL)", name=op.f("jobs_failed_has_code_check")
        ),
        sa.CheckConstraint(
            "(state = 'running') = (lease_expires_at IS NOT NULL)", name=op.f("jobs_running_has_lease_check")
        ),
        sa.CheckConstraint(
            "(state IN ('queued', 'running')) = (sealed_randomness_key IS NOT NULL)",
            name=op.f("jobs_ended_has_no_key_check"),
        ),
        sa.CheckConstraint(
            "(state IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL)",
            name=op.f("jobs_ended_has_time_check"),
        ),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')",
            name=op.f("jobs_state_known_check"),
        ),
        sa.CheckConstraint(
            "fence >= 0 AND attempts >= 0 AND step >= 0 AND total_steps >= 0 AND steps_begun >= 0",
            name=op.f("jobs_counts_not_negative_check"),
        ),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("jobs_dataset_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("jobs_pkey")),
    )
    op.create_index(op.f("jobs_dataset_id_idx"), "jobs", ["dataset_id"], unique=False)
    op.create_index(op.f("jobs_ordered_by_idx"), "jobs", ["ordered_by"], unique=False)
    op.create_index(
        "jobs_waiting_idx",
        "jobs",
        ["state", "sent_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )
    op.create_table(
        "releases",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("bundle_key", sa.Text(), nullable=False),
        sa.Column("certificate", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("releases_dataset_id_fkey")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("releases_job_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("releases_pkey")),
        sa.UniqueConstraint("job_id", name=op.f("releases_job_id_key")),
    )
    op.create_index(op.f("releases_dataset_id_idx"), "releases", ["dataset_id"], unique=False)
    op.execute(REFUSE_CHANGE)
    for table, changes in REFUSED.items():
        op.execute(
            f"CREATE TRIGGER {table}_refuse_change BEFORE {changes} ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
        # Also when a session sets session_replication_role, the usual way around triggers.
        op.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_refuse_change")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_index(op.f("releases_dataset_id_idx"), table_name="releases")
    op.drop_table("releases")
    op.drop_index(
        "jobs_waiting_idx", table_name="jobs", postgresql_where=sa.text("state IN ('queued', 'running')")
    )
    op.drop_index(op.f("jobs_ordered_by_idx"), table_name="jobs")
    op.drop_index(op.f("jobs_dataset_id_idx"), table_name="jobs")
    op.drop_table("jobs")
    op.drop_index(
        "ledger_entries_spent_or_voided_key",
        table_name="ledger_entries",
        postgresql_where=sa.text("kind IN ('SPENT', 'VOIDED')"),
    )
    op.drop_index("ledger_entries_job_id_kind_key", table_name="ledger_entries")
    op.drop_table("ledger_entries")
    op.drop_index(op.f("datasets_population_id_idx"), table_name="datasets")
    op.drop_index(op.f("datasets_owner_id_idx"), table_name="datasets")
    op.drop_table("datasets")
    op.drop_table("idempotency_keys")
    op.drop_table("budgets")
    op.drop_index(op.f("audit_events_object_idx"), table_name="audit_events")
    op.drop_index(op.f("audit_events_at_idx"), table_name="audit_events")
    op.drop_table("audit_events")
    op.drop_index(op.f("api_keys_principal_id_idx"), table_name="api_keys")
    op.drop_index(op.f("api_keys_prefix_idx"), table_name="api_keys")
    op.drop_table("api_keys")
    op.execute("DROP FUNCTION refuse_change()")
