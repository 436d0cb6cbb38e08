"""Fair scheduling: the time of a job's last claim.

Revision ID: 20261122_07_fair_jobs
Revises: 20261122_04_charged_reports
Create Date: 2026-11-22 23:50:00+00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "20261122_07_fair_jobs"
down_revision = "20261122_06_enrolment"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.add_column("jobs", sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_column("jobs", "claimed_at")
