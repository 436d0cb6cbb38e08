"""Grants, budget requests, members, freezing, and running totals in the ledger.

Revision ID: 20261121_01_governance
Revises: 20261120_first_schema
Create Date: 2026-11-21 11:30:00+00:00
"""

from alembic import op

revision = "20261121_01_governance"
down_revision = "20261120_first_schema"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
