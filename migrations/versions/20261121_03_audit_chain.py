"""The audit log as a chain of hashes; tombstones of deleted datasets; signing keys; secrets that outlive a master key.

Revision ID: 20261121_03_audit_chain
Revises: 20261121_02_access
Create Date: 2026-11-21 11:30:00+00:00
"""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision = "20261121_03_audit_chain"
down_revision = "20261121_02_access"
branch_labels = None
depends_on = None

# The previous release never deletes a dataset; what it writes satisfies the new conditions too.
_NEW_CHECKS: Final = {
    "datasets_state_known_check": "state IN ('declared', 'ready', 'deleted')",
    "datasets_ready_has_rows_check": (
        "(state = 'ready') = (wrapped_data_key IS NOT NULL) AND (state <> 'ready' OR rows_key IS NOT NULL)"
    ),
    "datasets_deleted_has_tombstone_check": (
        "(state = 'deleted') = (deleted_at IS NOT NULL) AND (state = 'deleted') = (deleted_by IS NOT NULL)"
        " AND (state <> 'deleted' OR intake_report IS NULL)"
    ),
}
_OLD_CHECKS: Final = {
    "datasets_state_known_check": "state IN ('declared', 'ready')",
    "datasets_ready_has_rows_check": (
        "(state = 'ready') = (rows_key IS NOT NULL AND wrapped_data_key IS NOT NULL)"
    ),
}
# By trigger: the previous release writes events without linking them.
_QUEUE_EVENT: Final = """
CREATE FUNCTION queue_audit_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_unlinked (event_sequence) VALUES (NEW.sequence);
    RETURN NULL;
END
$$
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    _audit_chain()
    _tombstones()
    _secrets()


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    op.drop_table("service_secrets")
    op.drop_index("signing_keys_one_in_use_key", table_name="signing_keys")
    op.drop_table("signing_keys")
    op.drop_constraint("datasets_deleted_has_tombstone_check", "datasets")
    _replace_checks(_OLD_CHECKS)
    op.drop_column("datasets", "deleted_by")
    op.drop_column("datasets", "deleted_at")
    op.execute("DROP TRIGGER audit_events_queue ON audit_events")
    op.execute("DROP FUNCTION queue_audit_event()")
    op.drop_table("audit_unlinked")
    op.drop_table("audit_links")
    op.drop_column("audit_events", "request_id")
    op.drop_column("audit_events", "client_address")


def _audit_chain() -> None:
    op.add_column("audit_events", sa.Column("client_address", sa.Text(), nullable=True))
    op.add_column("audit_events", sa.Column("request_id", sa.Text(), nullable=True))
    op.create_table(
        "audit_links",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event_sequence", sa.BigInteger(), nullable=False),
        sa.Column("previous_hash", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("position > 0", name=op.f("audit_links_position_counts_check")),
        sa.CheckConstraint(
            "octet_length(previous_hash) = 32 AND octet_length(hash) = 32",
            name=op.f("audit_links_hashes_sha256_check"),
        ),
        sa.PrimaryKeyConstraint("position", name=op.f("audit_links_pkey")),
        sa.UniqueConstraint("event_sequence", name=op.f("audit_links_event_sequence_key")),
    )
    op.execute(
        "CREATE TRIGGER audit_links_refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_links"
        " FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )
    op.execute("ALTER TABLE audit_links ENABLE ALWAYS TRIGGER audit_links_refuse_change")
    op.create_table(
        "audit_unlinked",
        sa.Column("event_sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("event_sequence", name=op.f("audit_unlinked_pkey")),
    )
    op.execute(_QUEUE_EVENT)
    op.execute(
        "CREATE TRIGGER audit_events_queue AFTER INSERT ON audit_events"
        " FOR EACH ROW EXECUTE FUNCTION queue_audit_event()"
    )
    op.execute("ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_queue")
    # After the trigger, whose lock has waited for every writer: no event falls between the two.
    op.execute("INSERT INTO audit_unlinked (event_sequence) SELECT sequence FROM audit_events")


def _tombstones() -> None:
    op.add_column("datasets", sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("datasets", sa.Column("deleted_by", sa.Uuid(), nullable=True))
    _replace_checks(_NEW_CHECKS)


def _replace_checks(checks: dict[str, str]) -> None:
    for name, condition in checks.items():
        op.execute(f"ALTER TABLE datasets DROP CONSTRAINT IF EXISTS {name}")
        op.execute(f"ALTER TABLE datasets ADD CONSTRAINT {name} CHECK ({condition}) NOT VALID")
        op.execute(f"ALTER TABLE datasets VALIDATE CONSTRAINT {name}")


def _secrets() -> None:
    op.create_table(
        "signing_keys",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("public_key", sa.LargeBinary(), nullable=False),
        sa.Column("wrapped_private_key", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("retired_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "octet_length(public_key) = 32", name=op.f("signing_keys_public_key_ed25519_check")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("signing_keys_pkey")),
    )
    op.create_index(
        "signing_keys_one_in_use_key",
        "signing_keys",
        [sa.text("(retired_at IS NULL)")],
        unique=True,
        postgresql_where=sa.text("retired_at IS NULL"),
    )
    op.create_table(
        "service_secrets",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("wrapped", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("service_secrets_pkey")),
    )
