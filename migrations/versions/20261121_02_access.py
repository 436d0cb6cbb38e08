"""Scopes, expiry and last use of keys; browser sessions; identities of other providers.

Revision ID: 20261121_02_access
Revises: 20261121_01_governance
Create Date: 2026-11-21 11:30:00+00:00
"""

from alembic import op

revision = "20261121_02_access"
down_revision = "20261121_01_governance"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
