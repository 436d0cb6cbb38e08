"""Uploads that continue after an interruption.

Revision ID: 20261121_04_uploads
Revises: 20261121_03_audit_chain
Create Date: 2026-11-21 11:30:00+00:00
"""

from alembic import op

revision = "20261121_04_uploads"
down_revision = "20261121_03_audit_chain"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
