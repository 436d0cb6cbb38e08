"""Reports sealed for the owner of the rows.

Revision ID: 20261122_03_sealed_reports
Revises: 20261122_02_principal_names
Create Date: 2026-11-22 01:10:00+00:00
"""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "20261122_03_sealed_reports"
down_revision = "20261122_02_principal_names"
branch_labels = None
depends_on = None

_MOMENT: Final = sa.DateTime(timezone=True)
_ENDED: Final = "state IN ('made', 'failed')"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_table(
        "sealed_reports",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("release_id", sa.Uuid(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("ordered_by", sa.Uuid(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("lease_expires_at", _MOMENT, nullable=True),
        sa.Column("object_key", sa.Text(), nullable=True),
        sa.Column("failure_code", sa.Text(), nullable=True),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("sent_at", _MOMENT, nullable=False),
        sa.Column("finished_at", _MOMENT, nullable=True),
        sa.Column("request_id", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'made', 'failed')", name=op.f("sealed_reports_state_known_check")
        ),
        sa.CheckConstraint(
            "(state = 'running') = (lease_expires_at IS NOT NULL)",
            name=op.f("sealed_reports_running_has_lease_check"),
        ),
        sa.CheckConstraint(
            "(state = 'made') = (object_key IS NOT NULL)", name=op.f("sealed_reports_made_has_object_check")
        ),
        sa.CheckConstraint(
            "(state = 'failed') = (failure_code IS NOT NULL)",
            name=op.f("sealed_reports_failed_has_code_check"),
        ),
        sa.CheckConstraint(
            f"({_ENDED}) = (finished_at IS NOT NULL)", name=op.f("sealed_reports_ended_has_time_check")
        ),
        sa.CheckConstraint(
            "fence >= 0 AND attempts >= 0", name=op.f("sealed_reports_counts_not_negative_check")
        ),
        sa.ForeignKeyConstraint(["release_id"], ["releases.id"], name=op.f("sealed_reports_release_id_fkey")),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("sealed_reports_dataset_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("sealed_reports_pkey")),
    )
    for column in ("release_id", "dataset_id", "ordered_by"):
        op.create_index(op.f(f"sealed_reports_{column}_idx"), "sealed_reports", [column])
    op.create_index(
        "sealed_reports_wanted_key",
        "sealed_reports",
        ["release_id", "target"],
        unique=True,
        postgresql_where=sa.text("state <> 'failed'"),
    )
    op.create_index(
        "sealed_reports_waiting_idx",
        "sealed_reports",
        ["state", "sent_at"],
        postgresql_where=sa.text("state IN ('queued', 'running')"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table("sealed_reports")
