"""Waiting rows: sealed rows of which many were refused, until their owner's decision.

Revision ID: 20261122_08_waiting_rows
Revises: 20261122_04_charged_reports
Create Date: 2026-11-22 23:55:00+00:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261122_08_waiting_rows"
down_revision = "20261122_07_fair_jobs"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_table(
        "waiting_rows",
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("rows_key", sa.Text(), nullable=False),
        sa.Column("wrapped_data_key", sa.LargeBinary(), nullable=False),
        sa.Column("stored_bytes", sa.BigInteger(), nullable=False),
        sa.Column("intake_report", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("waiting_rows_dataset_id_fkey")),
        sa.PrimaryKeyConstraint("dataset_id", name=op.f("waiting_rows_pkey")),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table("waiting_rows")
