"""Notifications: endpoints of principals, events written in the transaction that they report, and their deliveries.

Revision ID: 20261122_01_notifications
Revises: 20261121_07_shown_marks
Create Date: 2026-11-22 01:00:00+00:00
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "20261122_01_notifications"
down_revision = "20261121_07_shown_marks"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.create_table(
        "notification_endpoints",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("principal_id", sa.Uuid(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("kinds", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("paused_because", sa.Text(), nullable=True),
        sa.Column("wrapped_details", sa.LargeBinary(), nullable=True),
        sa.Column("confirm_tries", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("removed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "channel IN ('webhook', 'email')", name=op.f("notification_endpoints_channel_known_check")
        ),
        sa.CheckConstraint(
            "state IN ('unconfirmed', 'active', 'paused', 'removed')",
            name=op.f("notification_endpoints_state_known_check"),
        ),
        sa.CheckConstraint(
            "(state = 'paused') = (paused_because IS NOT NULL)",
            name=op.f("notification_endpoints_paused_has_reason_check"),
        ),
        sa.CheckConstraint(
            "(state = 'removed') = (wrapped_details IS NULL)",
            name=op.f("notification_endpoints_removed_has_no_secret_check"),
        ),
        sa.CheckConstraint(
            "(state = 'removed') = (removed_at IS NOT NULL)",
            name=op.f("notification_endpoints_removed_has_time_check"),
        ),
        sa.CheckConstraint(
            "confirm_tries >= 0", name=op.f("notification_endpoints_tries_not_negative_check")
        ),
        sa.ForeignKeyConstraint(["key_id"], ["api_keys.id"], name=op.f("notification_endpoints_key_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("notification_endpoints_pkey")),
    )
    op.create_index(
        op.f("notification_endpoints_principal_id_idx"), "notification_endpoints", ["principal_id"]
    )
    op.create_table(
        "notification_events",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("dataset_id", sa.Uuid(), nullable=True),
        sa.Column("about", sa.Uuid(), nullable=True),
        sa.Column("facts", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("spread_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("notification_events_dataset_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("notification_events_pkey")),
    )
    op.create_index(op.f("notification_events_at_idx"), "notification_events", ["at"])
    op.create_index(
        "notification_events_waiting_idx",
        "notification_events",
        ["at"],
        postgresql_where=sa.text("spread_at IS NULL"),
    )
    op.create_table(
        "notification_deliveries",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("event_id", sa.Uuid(), nullable=False),
        sa.Column("endpoint_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("tried_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'delivered', 'failed', 'dropped')",
            name=op.f("notification_deliveries_state_known_check"),
        ),
        sa.CheckConstraint("attempts >= 0", name=op.f("notification_deliveries_attempts_not_negative_check")),
        sa.CheckConstraint(
            "(state = 'waiting') = (next_at IS NOT NULL)",
            name=op.f("notification_deliveries_waiting_has_time_check"),
        ),
        sa.ForeignKeyConstraint(
            ["event_id"], ["notification_events.id"], name=op.f("notification_deliveries_event_id_fkey")
        ),
        sa.ForeignKeyConstraint(
            ["endpoint_id"],
            ["notification_endpoints.id"],
            name=op.f("notification_deliveries_endpoint_id_fkey"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("notification_deliveries_pkey")),
        sa.UniqueConstraint(
            "event_id", "endpoint_id", name=op.f("notification_deliveries_event_id_endpoint_id_key")
        ),
    )
    op.create_index(
        op.f("notification_deliveries_endpoint_id_idx"), "notification_deliveries", ["endpoint_id"]
    )
    op.create_index(
        "notification_deliveries_due_idx",
        "notification_deliveries",
        ["next_at"],
        postgresql_where=sa.text("state = 'waiting'"),
    )


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table("notification_deliveries")
    op.drop_table("notification_events")
    op.drop_table("notification_endpoints")
