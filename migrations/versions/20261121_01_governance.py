"""Grants, budget requests, members, freezing, and running totals in the ledger.

Revision ID: 20261121_01_governance
Revises: 20261120_first_schema
Create Date: 2026-11-21 11:30:00+00:00
"""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261121_01_governance"
down_revision = "20261120_first_schema"
branch_labels = None
depends_on = None

_MOVEMENTS: Final = "kind IN ('RESERVED', 'SPENT', 'VOIDED', 'SETTLED')"
_DECISIONS: Final = "kind IN ('CAP_SET', 'GRANTED', 'GRANT_CLOSED', 'FROZEN', 'UNFROZEN')"
_EVERY_KIND: Final = "kind IN ('RESERVED', 'SPENT', 'VOIDED', 'SETTLED', 'CAP_SET', 'GRANTED', 'GRANT_CLOSED', 'FROZEN', 'UNFROZEN')"
_CHECKS: Final = {
    "ledger_entries_kind_known_check": _EVERY_KIND,
    "ledger_entries_movement_has_job_check": f"({_MOVEMENTS}) = (job_id IS NOT NULL)",
    "ledger_entries_decision_has_terms_check": f"({_DECISIONS}) = (terms IS NOT NULL)",
    "ledger_entries_balance_whole_check": "cardinality(balance) = 16",
    "ledger_entries_grant_balance_whole_check": "cardinality(grant_balance) = 16",
}


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    _ledger()
    _budget_requests()


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    _without_budget_requests()
    _without_ledger()


def _ledger() -> None:
    op.add_column("budgets", sa.Column("frozen_at", sa.DateTime(timezone=True), nullable=True))
    for column in (
        sa.Column("grant_id", sa.Uuid(), nullable=True),
        sa.Column("terms", postgresql.JSON(none_as_null=True, astext_type=sa.Text()), nullable=True),
        sa.Column("balance", postgresql.ARRAY(sa.BigInteger()), nullable=True),
        sa.Column("grant_balance", postgresql.ARRAY(sa.BigInteger()), nullable=True),
    ):
        op.add_column("ledger_entries", column)
    op.alter_column("ledger_entries", "job_id", nullable=True)
    # The list of kinds only grows, so the previous release never meets a row that it would have refused to write.
    op.drop_constraint("ledger_entries_kind_known_check", "ledger_entries")
    for name, condition in _CHECKS.items():
        op.execute(f"ALTER TABLE ledger_entries ADD CONSTRAINT {name} CHECK ({condition}) NOT VALID")
        op.execute(f"ALTER TABLE ledger_entries VALIDATE CONSTRAINT {name}")
    op.create_index(
        "ledger_entries_grant_id_sequence_idx",
        "ledger_entries",
        ["grant_id", "sequence"],
        unique=False,
        postgresql_where=sa.text("grant_id IS NOT NULL"),
    )
    op.create_table(
        "grants",
        sa.Column("population_id", sa.Uuid(), nullable=False),
        sa.Column("holder_id", sa.Uuid(), nullable=False),
        sa.Column("epsilon", sa.Double(), nullable=False),
        sa.Column("delta", sa.Double(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "epsilon > 0 AND epsilon < 'Infinity'", name=op.f("grants_epsilon_positive_check")
        ),
        sa.CheckConstraint("delta > 0 AND delta < 1", name=op.f("grants_delta_probability_check")),
        sa.CheckConstraint(
            "(state = 'open') = (closed_at IS NULL)", name=op.f("grants_closed_has_time_check")
        ),
        sa.CheckConstraint("state IN ('open', 'expired', 'revoked')", name=op.f("grants_state_known_check")),
        sa.ForeignKeyConstraint(
            ["population_id"], ["budgets.population_id"], name=op.f("grants_population_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("grants_pkey")),
    )
    op.create_index(op.f("grants_population_id_idx"), "grants", ["population_id"], unique=False)
    op.create_index(op.f("grants_holder_id_idx"), "grants", ["holder_id"], unique=False)


def _without_ledger() -> None:
    """Back to the first schema; refused by the database where decisions have been recorded, as history stays."""
    op.drop_table("grants")
    op.drop_index("ledger_entries_grant_id_sequence_idx", table_name="ledger_entries")
    for name in _CHECKS:
        op.drop_constraint(name, "ledger_entries")
    op.create_check_constraint(op.f("ledger_entries_kind_known_check"), "ledger_entries", _MOVEMENTS)
    op.alter_column("ledger_entries", "job_id", nullable=False)
    for column in ("grant_id", "terms", "balance", "grant_balance"):
        op.drop_column("ledger_entries", column)
    op.drop_column("budgets", "frozen_at")


def _budget_requests() -> None:
    op.create_table(
        "dataset_members",
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("added_by", sa.Uuid(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("dataset_members_dataset_id_fkey")
        ),
        sa.PrimaryKeyConstraint("dataset_id", "principal_id", name=op.f("dataset_members_pkey")),
    )
    op.create_index(
        op.f("dataset_members_principal_id_idx"), "dataset_members", ["principal_id"], unique=False
    )
    op.create_table(
        "budget_requests",
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("requested_by", sa.Uuid(), nullable=False),
        sa.Column("epsilon", sa.Double(), nullable=False),
        sa.Column("delta", sa.Double(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("decided_by", sa.Uuid(), nullable=True),
        sa.Column("grant_id", sa.Uuid(), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.CheckConstraint(
            "state IN ('open', 'approved', 'denied', 'withdrawn', 'expired')",
            name=op.f("budget_requests_state_known_check"),
        ),
        sa.CheckConstraint(
            "epsilon > 0 AND epsilon < 'Infinity'", name=op.f("budget_requests_epsilon_positive_check")
        ),
        sa.CheckConstraint("delta > 0 AND delta < 1", name=op.f("budget_requests_delta_probability_check")),
        sa.CheckConstraint(
            "char_length(purpose) BETWEEN 1 AND 2000", name=op.f("budget_requests_purpose_told_check")
        ),
        sa.CheckConstraint(
            "char_length(note) BETWEEN 1 AND 2000", name=op.f("budget_requests_note_short_check")
        ),
        sa.CheckConstraint(
            "(state = 'open') = (decided_at IS NULL)", name=op.f("budget_requests_decided_has_time_check")
        ),
        sa.CheckConstraint(
            "(state IN ('open', 'expired')) = (decided_by IS NULL)",
            name=op.f("budget_requests_decided_has_person_check"),
        ),
        sa.CheckConstraint(
            "(state = 'approved') = (grant_id IS NOT NULL)",
            name=op.f("budget_requests_approved_has_grant_check"),
        ),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("budget_requests_dataset_id_fkey")
        ),
        sa.ForeignKeyConstraint(["grant_id"], ["grants.id"], name=op.f("budget_requests_grant_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("budget_requests_pkey")),
    )
    op.create_index(op.f("budget_requests_dataset_id_idx"), "budget_requests", ["dataset_id"], unique=False)
    op.create_index(
        op.f("budget_requests_requested_by_idx"), "budget_requests", ["requested_by"], unique=False
    )
    op.create_index(
        "budget_requests_open_key",
        "budget_requests",
        ["dataset_id", "requested_by"],
        unique=True,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_index(
        "budget_requests_expires_at_idx",
        "budget_requests",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("state = 'open'"),
    )


def _without_budget_requests() -> None:
    op.drop_table("budget_requests")
    op.drop_table("dataset_members")
