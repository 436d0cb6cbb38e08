"""Leases of deliveries, and owners of all leases.

Revision ID: 20261125_01_leases
Revises: 20261122_08_waiting_rows
Create Date: 2026-11-25 19:00:00+00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "20261125_01_leases"
down_revision = "20261122_08_waiting_rows"
branch_labels = None
depends_on = None

DELIVERIES = "notification_deliveries"
FENCE = "notification_deliveries_fence_not_negative_check"


def upgrade() -> None:
    """Add the columns; what the previous release writes leaves them empty."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.add_column(DELIVERIES, sa.Column("fence", sa.BigInteger(), nullable=False, server_default="0"))
    op.execute(f"ALTER TABLE {DELIVERIES} ADD CONSTRAINT {FENCE} CHECK (fence >= 0) NOT VALID")
    op.execute(f"ALTER TABLE {DELIVERIES} VALIDATE CONSTRAINT {FENCE}")
    op.add_column(DELIVERIES, sa.Column("lease_expires_at", sa.DateTime(timezone=True)))
    for table in (DELIVERIES, "sealed_reports", "uploads"):
        op.add_column(table, sa.Column("lease_holder", sa.Text()))


def downgrade() -> None:
    """Remove the columns. A delivery whose lease is lost thereby is sent again."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    for table in (DELIVERIES, "sealed_reports", "uploads"):
        op.drop_column(table, "lease_holder")
    op.drop_column(DELIVERIES, "lease_expires_at")
    op.drop_column(DELIVERIES, "fence")
