"""The published progress of a job, stored apart from the exact marks.

Revision ID: 20261121_07_shown_marks
Revises: 20261121_06_lease_holder
Create Date: 2026-11-21 14:50:00+00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "20261121_07_shown_marks"
down_revision = "20261121_06_lease_holder"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.add_column("jobs", sa.Column("shown_stage", sa.Text(), nullable=True))
    op.add_column("jobs", sa.Column("shown_step", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_column("jobs", "shown_step")
    op.drop_column("jobs", "shown_stage")
