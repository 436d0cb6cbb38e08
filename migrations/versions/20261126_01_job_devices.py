"""Trainings wait for a kind of device, and workers state which kinds they serve.

Revision ID: 20261126_01_job_devices
Revises: 20261125_04_reports_role
Create Date: 2026-11-26 02:10:00+00:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "20261126_01_job_devices"
down_revision = "20261125_04_reports_role"
branch_labels = None
depends_on = None

JOBS = "jobs"
SIGNS = "worker_signs"
KNOWN = {"device": "'cpu', 'gpu'", "device_wish": "'auto', 'cpu', 'gpu'"}


def upgrade() -> None:
    """Add the columns; what the previous release writes leaves them empty: any worker may take such a job."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    for column, values in KNOWN.items():
        constraint = f"jobs_{column}_known_check"
        op.add_column(JOBS, sa.Column(column, sa.Text()))
        op.execute(f"ALTER TABLE {JOBS} ADD CONSTRAINT {constraint} CHECK ({column} IN ({values})) NOT VALID")
        op.execute(f"ALTER TABLE {JOBS} VALIDATE CONSTRAINT {constraint}")
    op.add_column(SIGNS, sa.Column("serves", JSONB()))


def downgrade() -> None:
    """Remove the columns. A job that has begun may then end its attempts on another kind of device."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_column(SIGNS, "serves")
    for column in KNOWN:
        op.drop_column(JOBS, column)
