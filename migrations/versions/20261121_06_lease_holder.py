"""The process that holds a job's lease; the lease of a dead process can be ended early.

Revision ID: 20261121_06_lease_holder
Revises: 20261121_05_tracing
Create Date: 2026-11-21 11:45:00+00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "20261121_06_lease_holder"
down_revision = "20261121_05_tracing"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.add_column("jobs", sa.Column("lease_holder", sa.Text(), nullable=True))


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_column("jobs", "lease_holder")
