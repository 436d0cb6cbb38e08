"""Jobs over the datasets of several owners: their further datasets, and one reservation in each ledger.

Revision ID: 20261125_03_job_members
Revises: 20261125_02_sign_in
Create Date: 2026-11-25 23:30:00+00:00
"""

import sqlalchemy as sa
from alembic import op

revision = "20261125_03_job_members"
down_revision = "20261125_02_sign_in"
branch_labels = None
depends_on = None

ENTRIES = "ledger_entries"
OF_KIND = "ledger_entries_job_id_population_id_kind_key"
ONCE = "ledger_entries_spent_or_voided_once_key"
OLD_OF_KIND = "ledger_entries_job_id_kind_key"
OLD_ONCE = "ledger_entries_spent_or_voided_key"
SPENT_OR_VOIDED = sa.text("kind IN ('SPENT', 'VOIDED')")


def upgrade() -> None:
    """Add the table, and let a job have entries in several ledgers."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_table(
        "job_members",
        sa.Column(
            "job_id", sa.Uuid(), sa.ForeignKey("jobs.id", name="job_members_job_id_fkey"), nullable=False
        ),
        sa.Column(
            "dataset_id",
            sa.Uuid(),
            sa.ForeignKey("datasets.id", name="job_members_dataset_id_fkey"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("job_id", "dataset_id", name="job_members_pkey"),
    )
    op.create_index("job_members_dataset_id_idx", "job_members", ["dataset_id"])
    op.create_index(OF_KIND, ENTRIES, ["job_id", "population_id", "kind"], unique=True)
    op.create_index(ONCE, ENTRIES, ["job_id", "population_id"], unique=True, postgresql_where=SPENT_OR_VOIDED)
    op.drop_index(OLD_OF_KIND, ENTRIES)
    op.drop_index(OLD_ONCE, ENTRIES)


def downgrade() -> None:
    """Remove the table. Fails if a job has entries in several ledgers."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_index(OLD_OF_KIND, ENTRIES, ["job_id", "kind"], unique=True)
    op.create_index(OLD_ONCE, ENTRIES, ["job_id"], unique=True, postgresql_where=SPENT_OR_VOIDED)
    op.drop_index(OF_KIND, ENTRIES)
    op.drop_index(ONCE, ENTRIES)
    op.drop_table("job_members")
