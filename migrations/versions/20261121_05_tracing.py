"""The trace that an order belongs to, carried to its worker.

Revision ID: 20261121_05_tracing
Revises: 20261121_04_uploads
Create Date: 2026-11-21 11:30:00+00:00
"""

from alembic import op

revision = "20261121_05_tracing"
down_revision = "20261121_04_uploads"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
