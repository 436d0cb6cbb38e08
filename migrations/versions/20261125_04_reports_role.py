"""Heartbeats of workers of the queue of reports have a role of their own.

Revision ID: 20261125_04_reports_role
Revises: 20261125_03_job_members
Create Date: 2026-11-26 00:55:00+00:00
"""

from alembic import op

revision = "20261125_04_reports_role"
down_revision = "20261125_03_job_members"
branch_labels = None
depends_on = None

SIGNS = "worker_signs"
KNOWN = "worker_signs_role_known_check"


def upgrade() -> None:
    """Admit the role. The previous release shows a process of a role that it does not know, and counts it nowhere."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    _admit("'worker', 'reports', 'upkeep'")


def downgrade() -> None:
    """Refuse the role. Fails while a process with it was seen lately."""
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    _admit("'worker', 'upkeep'")


def _admit(roles: str) -> None:
    op.execute(f"ALTER TABLE {SIGNS} DROP CONSTRAINT {KNOWN}")
    op.execute(f"ALTER TABLE {SIGNS} ADD CONSTRAINT {KNOWN} CHECK (role IN ({roles})) NOT VALID")
    op.execute(f"ALTER TABLE {SIGNS} VALIDATE CONSTRAINT {KNOWN}")
