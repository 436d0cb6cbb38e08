"""The trace and request of an order, passed to its worker; heartbeats; the results of the last upkeep.

Revision ID: 20261121_05_tracing
Revises: 20261121_04_uploads
Create Date: 2026-11-21 11:30:00+00:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261121_05_tracing"
down_revision = "20261121_04_uploads"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.add_column("jobs", sa.Column("trace_context", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("request_id", sa.Text(), nullable=True))
    op.create_table(
        "worker_signs",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("devices", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.CheckConstraint("role IN ('worker', 'upkeep')", name=op.f("worker_signs_role_known_check")),
        sa.PrimaryKeyConstraint("name", name=op.f("worker_signs_pkey")),
    )
    op.create_table(
        "chore_runs",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("runs", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("handled", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("tried_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("done_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "runs >= 0 AND failures >= 0 AND handled >= 0", name=op.f("chore_runs_counts_not_negative_check")
        ),
        sa.PrimaryKeyConstraint("name", name=op.f("chore_runs_pkey")),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table("chore_runs")
    op.drop_table("worker_signs")
    op.drop_column("jobs", "request_id")
    op.drop_column("jobs", "trace_context")
