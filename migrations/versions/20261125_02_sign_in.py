"""Sign-in links, and browser sessions of accounts at an identity provider.

Revision ID: 20261125_02_sign_in
Revises: 20261125_01_leases
Create Date: 2026-11-25 22:30:00+00:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "20261125_02_sign_in"
down_revision = "20261125_01_leases"
branch_labels = None
depends_on = None

LINKS = "sign_in_links"
SESSIONS = "browser_sessions"
OWNER = "browser_sessions_key_or_account_check"


def upgrade() -> None:
    """Add the table, and the columns of sessions without a key. The previous release reads sessions by their key and refuses those."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_table(
        LINKS,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name=f"{LINKS}_pkey"),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name=f"{LINKS}_key_id_fkey"),
        sa.UniqueConstraint("digest", name=f"{LINKS}_digest_key"),
    )
    op.alter_column(SESSIONS, "key_id", nullable=True)
    op.add_column(SESSIONS, sa.Column("principal_id", sa.Uuid()))
    op.add_column(SESSIONS, sa.Column("roles", ARRAY(sa.Text())))
    op.execute(
        f"ALTER TABLE {SESSIONS} ADD CONSTRAINT {OWNER} CHECK"
        " (num_nonnulls(key_id, principal_id) = 1 AND (principal_id IS NULL) = (roles IS NULL)) NOT VALID"
    )
    op.execute(f"ALTER TABLE {SESSIONS} VALIDATE CONSTRAINT {OWNER}")


def downgrade() -> None:
    """Remove table and columns. Sessions of accounts end."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.execute(f"ALTER TABLE {SESSIONS} DROP CONSTRAINT {OWNER}")
    op.execute("DELETE FROM browser_sessions WHERE key_id IS NULL")
    op.alter_column(SESSIONS, "key_id", nullable=False)
    op.drop_column(SESSIONS, "roles")
    op.drop_column(SESSIONS, "principal_id")
    op.drop_table(LINKS)
