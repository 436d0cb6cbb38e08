"""Federations of owners that train in services of their own, and the sealed token of a job for its board.

Revision ID: 20261126_02_federations
Revises: 20261126_01_job_devices
Create Date: 2026-11-26 07:10:00+00:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSON

revision = "20261126_02_federations"
down_revision = "20261126_01_job_devices"
branch_labels = None
depends_on = None

JOBS, FEDERATIONS, MEMBERS, STATES = "jobs", "federations", "federation_members", "federation_states"
CHECKS = {
    "state_known": "state IN ('open', 'done', 'failed', 'ended')",
    "counts_not_negative": "round >= 0 AND rounds > 0 AND state_bytes > 0",
    "failed_names_members": "(state = 'failed') = (vanished IS NOT NULL)",
    "ended_has_time": "(state IN ('failed', 'ended')) = (ended_at IS NOT NULL)",
}


def upgrade() -> None:
    """Add the tables and the column; what the previous release writes leaves the column empty."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.add_column(JOBS, sa.Column("sealed_federation", sa.LargeBinary()))
    op.create_table(
        FEDERATIONS,
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("plan", JSON(), nullable=False),
        sa.Column("domain_sha256", sa.Text(), nullable=False),
        sa.Column("rounds", sa.BigInteger(), nullable=False),
        sa.Column("state_bytes", sa.BigInteger(), nullable=False),
        sa.Column("round_seconds", sa.Float(), nullable=False),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("round_since", sa.DateTime(timezone=True)),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("vanished", sa.Text()),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="federations_pkey"),
        *(
            sa.CheckConstraint(rule, name=op.f(f"{FEDERATIONS}_{name}_check"))
            for name, rule in CHECKS.items()
        ),
    )
    op.create_index("federations_created_by_idx", FEDERATIONS, ["created_by"])
    op.create_table(
        MEMBERS,
        _federation(MEMBERS),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_digest", sa.LargeBinary(), nullable=False),
        sa.Column("certificate", JSON()),
        sa.PrimaryKeyConstraint("federation_id", "place", name="federation_members_pkey"),
        sa.UniqueConstraint("token_digest", name="federation_members_token_digest_key"),
    )
    op.create_table(
        STATES,
        _federation(STATES),
        sa.Column("round", sa.BigInteger(), nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("content", sa.LargeBinary()),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("federation_id", "round", "place", name="federation_states_pkey"),
    )


def downgrade() -> None:
    """Remove tables and column; jobs of a federation that have not ended cannot go on."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table(STATES)
    op.drop_table(MEMBERS)
    op.drop_table(FEDERATIONS)
    op.drop_column(JOBS, "sealed_federation")


def _federation(table: str) -> sa.Column[object]:
    foreign = sa.ForeignKey(f"{FEDERATIONS}.id", name=f"{table}_federation_id_fkey")
    return sa.Column("federation_id", sa.Uuid(), foreign, nullable=False)
