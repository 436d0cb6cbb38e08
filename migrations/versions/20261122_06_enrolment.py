"""People and enrolments: only the person makes keys.

Principals that have keys become people who are not enrolled. Their keys work on; they count for the two-person rule
once they have accepted an enrolment.

Revision ID: 20261122_06_enrolment
Revises: 20261122_04_charged_reports
Create Date: 2026-11-22 23:30:00+00:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261122_06_enrolment"
down_revision = "20261122_04_charged_reports"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_table(
        "people",
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("roles", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("enrolled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("held_until", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "roles <@ ARRAY['owner', 'analyst', 'admin', 'auditor']", name=op.f("people_roles_known_check")
        ),
        sa.PrimaryKeyConstraint("principal_id", name=op.f("people_pkey")),
    )
    op.create_table(
        "enrolments",
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("is_recovery", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("held_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancelled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("cancelled_by", sa.Uuid(), nullable=True),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.ForeignKeyConstraint(
            ["principal_id"], ["people.principal_id"], name=op.f("enrolments_principal_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("enrolments_pkey")),
        sa.UniqueConstraint("digest", name=op.f("enrolments_digest_key")),
    )
    op.create_index(op.f("enrolments_principal_id_idx"), "enrolments", ["principal_id"])
    op.add_column("api_keys", sa.Column("enrolment_id", sa.Uuid(), nullable=True))
    op.execute(
        "INSERT INTO people (principal_id, roles, created_by, created_at)"
        " SELECT principal_id, coalesce(array_agg(DISTINCT role) FILTER (WHERE revoked_at IS NULL"
        " AND (expires_at IS NULL OR expires_at > now())), array_agg(DISTINCT role)), principal_id, min(created_at)"
        " FROM api_keys CROSS JOIN unnest(roles) AS role GROUP BY principal_id"
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_column("api_keys", "enrolment_id")
    op.drop_table("enrolments")
    op.drop_table("people")
