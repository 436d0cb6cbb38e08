"""Scopes, expiry, rotation and last use of keys; browser sessions; failures of logins.

Revision ID: 20261121_02_access
Revises: 20261121_01_governance
Create Date: 2026-11-21 11:30:00+00:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261121_02_access"
down_revision = "20261121_01_governance"
branch_labels = None
depends_on = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.add_column(
        "api_keys",
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), server_default=sa.text("'{}'"), nullable=False),
    )
    op.add_column("api_keys", sa.Column("expires_at", MOMENT))
    op.add_column("api_keys", sa.Column("last_used_at", MOMENT))
    op.add_column("api_keys", sa.Column("replaced_by", sa.Uuid()))
    op.create_table(
        "browser_sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("seen_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("ended_at", MOMENT),
        sa.PrimaryKeyConstraint("id", name="browser_sessions_pkey"),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name="browser_sessions_key_id_fkey"),
        sa.UniqueConstraint("digest", name="browser_sessions_digest_key"),
    )
    op.create_index("browser_sessions_key_id_idx", "browser_sessions", ["key_id"])
    op.create_index("browser_sessions_expires_at_idx", "browser_sessions", ["expires_at"])
    op.create_table(
        "login_throttles",
        sa.Column("subject", sa.LargeBinary(), nullable=False),
        sa.Column("failures", sa.BigInteger(), nullable=False),
        sa.Column("failed_at", MOMENT, nullable=False),
        sa.Column("opens_at", MOMENT),
        sa.PrimaryKeyConstraint("subject", name="login_throttles_pkey"),
    )
    op.create_index("login_throttles_failed_at_idx", "login_throttles", ["failed_at"])


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table("login_throttles")
    op.drop_table("browser_sessions")
    for column in ("replaced_by", "last_used_at", "expires_at", "scopes"):
        op.drop_column("api_keys", column)
