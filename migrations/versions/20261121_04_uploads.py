"""Uploads that continue after an interruption, and how many sealed bytes a dataset holds.

Revision ID: 20261121_04_uploads
Revises: 20261121_03_audit_chain
Create Date: 2026-11-21 11:30:00+00:00
"""

from typing import Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261121_04_uploads"
down_revision = "20261121_03_audit_chain"
branch_labels = None
depends_on = None

_MOMENT: Final = sa.DateTime(timezone=True)
_LIVE: Final = "state IN ('open', 'completing')"


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    # Null for rows that the previous release stored: their size counts as nothing against quotas.
    op.add_column("datasets", sa.Column("stored_bytes", sa.BigInteger(), nullable=True))
    op.create_table(
        "uploads",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=False),
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("declared_bytes", sa.BigInteger(), nullable=False),
        sa.Column("part_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=True),
        sa.Column("content_type", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("wrapped_data_key", sa.LargeBinary(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("lease_expires_at", _MOMENT, nullable=True),
        sa.Column("failure", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", _MOMENT, nullable=False),
        sa.Column("expires_at", _MOMENT, nullable=False),
        sa.Column("ended_at", _MOMENT, nullable=True),
        sa.CheckConstraint(
            "state IN ('open', 'completing', 'completed', 'refused', 'aborted', 'expired')",
            name=op.f("uploads_state_known_check"),
        ),
        sa.CheckConstraint(
            "declared_bytes > 0 AND part_bytes > 0", name=op.f("uploads_sizes_positive_check")
        ),
        sa.CheckConstraint("fence >= 0", name=op.f("uploads_fence_not_negative_check")),
        sa.CheckConstraint(
            "sha256 IS NULL OR octet_length(sha256) = 32", name=op.f("uploads_digest_sha256_check")
        ),
        sa.CheckConstraint(
            f"({_LIVE}) = (wrapped_data_key IS NOT NULL) AND ({_LIVE}) = (ended_at IS NULL)",
            name=op.f("uploads_ended_has_no_key_check"),
        ),
        sa.CheckConstraint(
            "(state = 'completing') = (lease_expires_at IS NOT NULL)",
            name=op.f("uploads_completing_has_lease_check"),
        ),
        sa.ForeignKeyConstraint(["dataset_id"], ["datasets.id"], name=op.f("uploads_dataset_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("uploads_pkey")),
    )
    op.create_index(op.f("uploads_dataset_id_idx"), "uploads", ["dataset_id"])
    op.create_index(op.f("uploads_principal_id_idx"), "uploads", ["principal_id"])
    op.create_index("uploads_live_idx", "uploads", ["expires_at"], postgresql_where=sa.text(_LIVE))
    op.create_table(
        "upload_parts",
        sa.Column("upload_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("object_key", sa.Text(), nullable=False),
        sa.Column("stored_at", _MOMENT, nullable=False),
        sa.CheckConstraint("number > 0 AND size_bytes > 0", name=op.f("upload_parts_counts_positive_check")),
        sa.CheckConstraint("octet_length(sha256) = 32", name=op.f("upload_parts_digest_sha256_check")),
        sa.ForeignKeyConstraint(["upload_id"], ["uploads.id"], name=op.f("upload_parts_upload_id_fkey")),
        sa.PrimaryKeyConstraint("upload_id", "number", name=op.f("upload_parts_pkey")),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table("upload_parts")
    op.drop_table("uploads")
    op.drop_column("datasets", "stored_bytes")
