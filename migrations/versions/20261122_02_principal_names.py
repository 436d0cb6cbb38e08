"""Display names of principals, set by an admin.

Revision ID: 20261122_02_principal_names
Revises: 20261122_01_notifications
Create Date: 2026-11-22 01:00:00+00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "20261122_02_principal_names"
down_revision = "20261122_01_notifications"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_table(
        "principal_names",
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("named_by", sa.Uuid(), nullable=False),
        sa.Column("named_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "char_length(name) BETWEEN 1 AND 80", name=op.f("principal_names_name_short_check")
        ),
        sa.PrimaryKeyConstraint("principal_id", name=op.f("principal_names_pkey")),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table("principal_names")
