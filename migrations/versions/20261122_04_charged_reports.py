"""Charged reports: measurements of a release against its table.

Revision ID: 20261122_04_charged_reports
Revises: 20261122_03_sealed_reports
Create Date: 2026-11-22 01:30:00+00:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261122_04_charged_reports"
down_revision = "20261122_03_sealed_reports"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_table(
        "charged_reports",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("release_id", sa.Uuid(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("document", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("charged_reports_job_id_fkey")),
        sa.ForeignKeyConstraint(
            ["release_id"], ["releases.id"], name=op.f("charged_reports_release_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("charged_reports_dataset_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("charged_reports_pkey")),
        sa.UniqueConstraint("job_id", name=op.f("charged_reports_job_id_key")),
    )
    op.create_index(op.f("charged_reports_release_id_idx"), "charged_reports", ["release_id"])


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table("charged_reports")
