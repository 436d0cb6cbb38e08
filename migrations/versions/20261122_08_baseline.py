"""The baseline: all tables and triggers of version 0.1.

It replaces the revisions before it and keeps the id of the last one, so that databases at that revision are current
(docs/decisions/migration-baseline.md). Columns stand in the order in which those revisions added them. Primary keys,
unique constraints and foreign keys have the names that Postgres gives them.

Revision ID: 20261122_08_waiting_rows
Revises:
Create Date: 2026-11-22 23:55:00+00:00
"""

import re
from typing import Final

from alembic import op

revision = "20261122_08_waiting_rows"
down_revision = None
branch_labels = None
depends_on = None

REFUSED: Final = {
    "ledger_entries": "UPDATE OR DELETE OR TRUNCATE",
    "audit_events": "UPDATE OR DELETE OR TRUNCATE",
    "audit_links": "UPDATE OR DELETE OR TRUNCATE",
    # A budget's row holds the head of its chain: it changes, but it is never deleted.
    "budgets": "DELETE OR TRUNCATE",
}
REFUSE_CHANGE: Final = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% refuses %', TG_TABLE_NAME, TG_OP USING ERRCODE = 'integrity_constraint_violation';
END
$$
"""
# By trigger, so that every event is queued for the chain, whatever inserts it.
QUEUE_EVENT: Final = """
CREATE FUNCTION queue_audit_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_unlinked (event_sequence) VALUES (NEW.sequence);
    RETURN NULL;
END
$$
"""
TABLES: Final = """
-- Access: keys, sessions, people
CREATE TABLE api_keys (
    principal_id uuid NOT NULL, name text NOT NULL, roles text[] NOT NULL, prefix text NOT NULL,
    digest bytea NOT NULL UNIQUE, created_at timestamptz NOT NULL, revoked_at timestamptz,
    id uuid PRIMARY KEY, scopes text[] DEFAULT '{}' NOT NULL, expires_at timestamptz,
    last_used_at timestamptz, replaced_by uuid, enrolment_id uuid,
    CONSTRAINT api_keys_roles_known_check CHECK (roles <@ ARRAY['owner', 'analyst', 'admin', 'auditor']),
    CONSTRAINT api_keys_roles_some_check CHECK (cardinality(roles) > 0)
);
CREATE INDEX api_keys_prefix_idx ON api_keys (prefix);
CREATE INDEX api_keys_principal_id_idx ON api_keys (principal_id);
CREATE TABLE browser_sessions (
    id uuid PRIMARY KEY, key_id uuid NOT NULL REFERENCES api_keys (id), digest bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL, seen_at timestamptz NOT NULL, expires_at timestamptz NOT NULL,
    ended_at timestamptz
);
CREATE INDEX browser_sessions_expires_at_idx ON browser_sessions (expires_at);
CREATE INDEX browser_sessions_key_id_idx ON browser_sessions (key_id);
CREATE TABLE login_throttles (
    subject bytea PRIMARY KEY, failures bigint NOT NULL, failed_at timestamptz NOT NULL,
    opens_at timestamptz
);
CREATE INDEX login_throttles_failed_at_idx ON login_throttles (failed_at);
CREATE TABLE people (
    principal_id uuid PRIMARY KEY, roles text[] NOT NULL, created_by uuid NOT NULL,
    created_at timestamptz NOT NULL, enrolled_at timestamptz, held_until timestamptz,
    CONSTRAINT people_roles_known_check CHECK (roles <@ ARRAY['owner', 'analyst', 'admin', 'auditor'])
);
CREATE TABLE enrolments (
    principal_id uuid NOT NULL REFERENCES people (principal_id), digest bytea NOT NULL UNIQUE,
    is_recovery boolean NOT NULL, created_by uuid NOT NULL, created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL, accepted_at timestamptz, held_until timestamptz,
    cancelled_at timestamptz, cancelled_by uuid, id uuid PRIMARY KEY
);
CREATE INDEX enrolments_principal_id_idx ON enrolments (principal_id);
CREATE TABLE principal_names (
    principal_id uuid PRIMARY KEY, name text NOT NULL, named_by uuid NOT NULL, named_at timestamptz NOT NULL,
    CONSTRAINT principal_names_name_short_check CHECK (char_length(name) BETWEEN 1 AND 80)
);
CREATE TABLE idempotency_keys (
    principal_id uuid NOT NULL, key text NOT NULL, request_digest bytea NOT NULL, response_status bigint,
    response_body jsonb, created_at timestamptz NOT NULL,
    PRIMARY KEY (principal_id, key)
);
-- Ledger: budgets, entries, grants
CREATE TABLE budgets (
    population_id uuid PRIMARY KEY, epsilon_cap double precision, delta_cap double precision,
    rule text NOT NULL, head_sequence bigint NOT NULL, head_hash bytea NOT NULL,
    created_at timestamptz NOT NULL, frozen_at timestamptz,
    CONSTRAINT budgets_epsilon_cap_positive_check CHECK (epsilon_cap > 0 AND epsilon_cap < 'Infinity'),
    CONSTRAINT budgets_rule_known_check CHECK (rule IN ('filters', 'basic')),
    CONSTRAINT budgets_caps_together_check CHECK ((epsilon_cap IS NULL) = (delta_cap IS NULL)),
    CONSTRAINT budgets_delta_cap_probability_check CHECK (delta_cap > 0 AND delta_cap < 1),
    CONSTRAINT budgets_head_sequence_counts_check CHECK (head_sequence >= 0),
    CONSTRAINT budgets_head_hash_sha256_check CHECK (octet_length(head_hash) = 32)
);
CREATE TABLE ledger_entries (
    population_id uuid NOT NULL REFERENCES budgets (population_id), sequence bigint NOT NULL,
    kind text NOT NULL, job_id uuid, epsilon_micros bigint NOT NULL, delta_femtos bigint NOT NULL,
    rdp_micros bigint[] NOT NULL, mechanism json, fence bigint, at timestamptz NOT NULL,
    previous_hash bytea NOT NULL, hash bytea NOT NULL, grant_id uuid, terms json, balance bigint[],
    grant_balance bigint[],
    CONSTRAINT ledger_entries_reserved_has_mechanism_check
        CHECK ((kind = 'RESERVED') = (mechanism IS NOT NULL)),
    CONSTRAINT ledger_entries_spent_has_fence_check CHECK ((kind = 'SPENT') = (fence IS NOT NULL)),
    CONSTRAINT ledger_entries_decision_has_terms_check
        CHECK ((kind IN ('CAP_SET', 'GRANTED', 'GRANT_CLOSED', 'FROZEN', 'UNFROZEN')) = (terms IS NOT NULL)),
    CONSTRAINT ledger_entries_movement_has_job_check
        CHECK ((kind IN ('RESERVED', 'SPENT', 'VOIDED', 'SETTLED')) = (job_id IS NOT NULL)),
    CONSTRAINT ledger_entries_kind_known_check
        CHECK (kind IN ('RESERVED', 'SPENT', 'VOIDED', 'SETTLED', 'CAP_SET', 'GRANTED', 'GRANT_CLOSED', 'FROZEN', 'UNFROZEN')),
    CONSTRAINT ledger_entries_balance_whole_check CHECK (cardinality(balance) = 16),
    CONSTRAINT ledger_entries_grant_balance_whole_check CHECK (cardinality(grant_balance) = 16),
    CONSTRAINT ledger_entries_one_amount_per_order_check CHECK (cardinality(rdp_micros) = 6),
    CONSTRAINT ledger_entries_amounts_not_negative_check
        CHECK (epsilon_micros >= 0 AND delta_femtos >= 0 AND 0 <= ALL(rdp_micros)),
    CONSTRAINT ledger_entries_hashes_sha256_check
        CHECK (octet_length(previous_hash) = 32 AND octet_length(hash) = 32),
    CONSTRAINT ledger_entries_sequence_counts_check CHECK (sequence > 0),
    PRIMARY KEY (population_id, sequence)
);
CREATE INDEX ledger_entries_grant_id_sequence_idx ON ledger_entries (grant_id, sequence)
    WHERE grant_id IS NOT NULL;
CREATE UNIQUE INDEX ledger_entries_job_id_kind_key ON ledger_entries (job_id, kind);
CREATE UNIQUE INDEX ledger_entries_spent_or_voided_key ON ledger_entries (job_id)
    WHERE kind IN ('SPENT', 'VOIDED');
CREATE TABLE grants (
    population_id uuid NOT NULL REFERENCES budgets (population_id), holder_id uuid NOT NULL,
    epsilon double precision NOT NULL, delta double precision NOT NULL, expires_at timestamptz NOT NULL,
    state text NOT NULL, created_at timestamptz NOT NULL, closed_at timestamptz, id uuid PRIMARY KEY,
    CONSTRAINT grants_closed_has_time_check CHECK ((state = 'open') = (closed_at IS NULL)),
    CONSTRAINT grants_epsilon_positive_check CHECK (epsilon > 0 AND epsilon < 'Infinity'),
    CONSTRAINT grants_state_known_check CHECK (state IN ('open', 'expired', 'revoked')),
    CONSTRAINT grants_delta_probability_check CHECK (delta > 0 AND delta < 1)
);
CREATE INDEX grants_holder_id_idx ON grants (holder_id);
CREATE INDEX grants_population_id_idx ON grants (population_id);
-- Audit log and its chain
CREATE TABLE audit_events (
    sequence bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at timestamptz NOT NULL, actor text NOT NULL,
    action text NOT NULL, object text NOT NULL, outcome text NOT NULL, client_address text, request_id text
);
CREATE INDEX audit_events_at_idx ON audit_events (at);
CREATE INDEX audit_events_object_idx ON audit_events (object);
CREATE TABLE audit_links (
    position bigint PRIMARY KEY, event_sequence bigint NOT NULL UNIQUE, previous_hash bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT audit_links_hashes_sha256_check
        CHECK (octet_length(previous_hash) = 32 AND octet_length(hash) = 32),
    CONSTRAINT audit_links_position_counts_check CHECK (position > 0)
);
CREATE TABLE audit_unlinked (
    event_sequence bigint PRIMARY KEY
);
-- Datasets: rows, uploads, members, requests for budget
CREATE TABLE datasets (
    population_id uuid NOT NULL REFERENCES budgets (population_id), owner_id uuid NOT NULL,
    name text NOT NULL, domain jsonb NOT NULL, adjacency text NOT NULL, privacy_unit text,
    declared_size bigint NOT NULL, state text NOT NULL, rows_key text, wrapped_data_key bytea,
    intake_report jsonb, created_at timestamptz NOT NULL, id uuid PRIMARY KEY, deleted_at timestamptz,
    deleted_by uuid, stored_bytes bigint,
    CONSTRAINT datasets_deleted_has_tombstone_check
        CHECK ((state = 'deleted') = (deleted_at IS NOT NULL) AND (state = 'deleted') = (deleted_by IS NOT NULL) AND (state <> 'deleted' OR intake_report IS NULL)),
    CONSTRAINT datasets_ready_has_rows_check
        CHECK ((state = 'ready') = (wrapped_data_key IS NOT NULL) AND (state <> 'ready' OR rows_key IS NOT NULL)),
    CONSTRAINT datasets_adjacency_known_check CHECK (adjacency IN ('add-or-remove')),
    CONSTRAINT datasets_state_known_check CHECK (state IN ('declared', 'ready', 'deleted')),
    CONSTRAINT datasets_declared_size_positive_check CHECK (declared_size > 0)
);
CREATE INDEX datasets_owner_id_idx ON datasets (owner_id);
CREATE INDEX datasets_population_id_idx ON datasets (population_id);
CREATE TABLE waiting_rows (
    dataset_id uuid PRIMARY KEY REFERENCES datasets (id), rows_key text NOT NULL,
    wrapped_data_key bytea NOT NULL, stored_bytes bigint NOT NULL, intake_report jsonb NOT NULL
);
CREATE TABLE uploads (
    id uuid PRIMARY KEY, dataset_id uuid NOT NULL REFERENCES datasets (id), principal_id uuid NOT NULL,
    declared_bytes bigint NOT NULL, part_bytes bigint NOT NULL, sha256 bytea, content_type text NOT NULL,
    state text NOT NULL, wrapped_data_key bytea, fence bigint NOT NULL, lease_expires_at timestamptz,
    failure jsonb, created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL, ended_at timestamptz,
    CONSTRAINT uploads_completing_has_lease_check
        CHECK ((state = 'completing') = (lease_expires_at IS NOT NULL)),
    CONSTRAINT uploads_ended_has_no_key_check
        CHECK ((state IN ('open', 'completing')) = (wrapped_data_key IS NOT NULL) AND (state IN ('open', 'completing')) = (ended_at IS NULL)),
    CONSTRAINT uploads_state_known_check
        CHECK (state IN ('open', 'completing', 'completed', 'refused', 'aborted', 'expired')),
    CONSTRAINT uploads_sizes_positive_check CHECK (declared_bytes > 0 AND part_bytes > 0),
    CONSTRAINT uploads_fence_not_negative_check CHECK (fence >= 0),
    CONSTRAINT uploads_digest_sha256_check CHECK (sha256 IS NULL OR octet_length(sha256) = 32)
);
CREATE INDEX uploads_dataset_id_idx ON uploads (dataset_id);
CREATE INDEX uploads_live_idx ON uploads (expires_at) WHERE state IN ('open', 'completing');
CREATE INDEX uploads_principal_id_idx ON uploads (principal_id);
CREATE TABLE upload_parts (
    upload_id uuid NOT NULL REFERENCES uploads (id), number bigint NOT NULL, size_bytes bigint NOT NULL,
    sha256 bytea NOT NULL, object_key text NOT NULL, stored_at timestamptz NOT NULL,
    CONSTRAINT upload_parts_counts_positive_check CHECK (number > 0 AND size_bytes > 0),
    CONSTRAINT upload_parts_digest_sha256_check CHECK (octet_length(sha256) = 32),
    PRIMARY KEY (upload_id, number)
);
CREATE TABLE dataset_members (
    dataset_id uuid NOT NULL REFERENCES datasets (id), principal_id uuid NOT NULL, added_by uuid NOT NULL,
    added_at timestamptz NOT NULL,
    PRIMARY KEY (dataset_id, principal_id)
);
CREATE INDEX dataset_members_principal_id_idx ON dataset_members (principal_id);
CREATE TABLE budget_requests (
    dataset_id uuid NOT NULL REFERENCES datasets (id), requested_by uuid NOT NULL,
    epsilon double precision NOT NULL, delta double precision NOT NULL, purpose text NOT NULL,
    state text NOT NULL, note text, created_at timestamptz NOT NULL, expires_at timestamptz NOT NULL,
    decided_at timestamptz, decided_by uuid, grant_id uuid REFERENCES grants (id), id uuid PRIMARY KEY,
    CONSTRAINT budget_requests_approved_has_grant_check CHECK ((state = 'approved') = (grant_id IS NOT NULL)),
    CONSTRAINT budget_requests_decided_has_time_check CHECK ((state = 'open') = (decided_at IS NULL)),
    CONSTRAINT budget_requests_decided_has_person_check
        CHECK ((state IN ('open', 'expired')) = (decided_by IS NULL)),
    CONSTRAINT budget_requests_epsilon_positive_check CHECK (epsilon > 0 AND epsilon < 'Infinity'),
    CONSTRAINT budget_requests_state_known_check
        CHECK (state IN ('open', 'approved', 'denied', 'withdrawn', 'expired')),
    CONSTRAINT budget_requests_note_short_check CHECK (char_length(note) BETWEEN 1 AND 2000),
    CONSTRAINT budget_requests_purpose_told_check CHECK (char_length(purpose) BETWEEN 1 AND 2000),
    CONSTRAINT budget_requests_delta_probability_check CHECK (delta > 0 AND delta < 1)
);
CREATE INDEX budget_requests_dataset_id_idx ON budget_requests (dataset_id);
CREATE INDEX budget_requests_expires_at_idx ON budget_requests (expires_at) WHERE state = 'open';
CREATE UNIQUE INDEX budget_requests_open_key ON budget_requests (dataset_id, requested_by)
    WHERE state = 'open';
CREATE INDEX budget_requests_requested_by_idx ON budget_requests (requested_by);
-- Jobs, releases, reports
CREATE TABLE jobs (
    dataset_id uuid NOT NULL REFERENCES datasets (id), ordered_by uuid NOT NULL, state text NOT NULL,
    plan json NOT NULL, plan_digest text NOT NULL, fence bigint NOT NULL, lease_expires_at timestamptz,
    cancel_requested_at timestamptz, stage text, step bigint NOT NULL, total_steps bigint NOT NULL,
    steps_begun bigint NOT NULL, sealed_randomness_key bytea, failure_code text, attempts bigint NOT NULL,
    created_at timestamptz NOT NULL, sent_at timestamptz NOT NULL, started_at timestamptz,
    finished_at timestamptz, id uuid PRIMARY KEY, trace_context text, request_id text, lease_holder text,
    shown_stage text, shown_step bigint, claimed_at timestamptz,
    CONSTRAINT jobs_failed_has_code_check CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CONSTRAINT jobs_running_has_lease_check CHECK ((state = 'running') = (lease_expires_at IS NOT NULL)),
    CONSTRAINT jobs_ended_has_no_key_check
        CHECK ((state IN ('queued', 'running')) = (sealed_randomness_key IS NOT NULL)),
    CONSTRAINT jobs_ended_has_time_check
        CHECK ((state IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL)),
    CONSTRAINT jobs_state_known_check
        CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    CONSTRAINT jobs_counts_not_negative_check
        CHECK (fence >= 0 AND attempts >= 0 AND step >= 0 AND total_steps >= 0 AND steps_begun >= 0)
);
CREATE INDEX jobs_dataset_id_idx ON jobs (dataset_id);
CREATE INDEX jobs_ordered_by_idx ON jobs (ordered_by);
CREATE INDEX jobs_waiting_idx ON jobs (state, sent_at) WHERE state IN ('queued', 'running');
CREATE TABLE releases (
    job_id uuid NOT NULL REFERENCES jobs (id) UNIQUE, dataset_id uuid NOT NULL REFERENCES datasets (id),
    bundle_key text NOT NULL, certificate json NOT NULL, created_at timestamptz NOT NULL,
    id uuid PRIMARY KEY
);
CREATE INDEX releases_dataset_id_idx ON releases (dataset_id);
CREATE TABLE charged_reports (
    id uuid PRIMARY KEY, job_id uuid NOT NULL REFERENCES jobs (id) UNIQUE,
    release_id uuid NOT NULL REFERENCES releases (id), dataset_id uuid NOT NULL REFERENCES datasets (id),
    document json NOT NULL, created_at timestamptz NOT NULL
);
CREATE INDEX charged_reports_release_id_idx ON charged_reports (release_id);
CREATE TABLE sealed_reports (
    id uuid PRIMARY KEY, release_id uuid NOT NULL REFERENCES releases (id),
    dataset_id uuid NOT NULL REFERENCES datasets (id), ordered_by uuid NOT NULL, target text NOT NULL,
    state text NOT NULL, fence bigint NOT NULL, attempts bigint NOT NULL, lease_expires_at timestamptz,
    object_key text, failure_code text, created_at timestamptz NOT NULL, sent_at timestamptz NOT NULL,
    finished_at timestamptz, request_id text,
    CONSTRAINT sealed_reports_failed_has_code_check CHECK ((state = 'failed') = (failure_code IS NOT NULL)),
    CONSTRAINT sealed_reports_made_has_object_check CHECK ((state = 'made') = (object_key IS NOT NULL)),
    CONSTRAINT sealed_reports_running_has_lease_check
        CHECK ((state = 'running') = (lease_expires_at IS NOT NULL)),
    CONSTRAINT sealed_reports_ended_has_time_check
        CHECK ((state IN ('made', 'failed')) = (finished_at IS NOT NULL)),
    CONSTRAINT sealed_reports_state_known_check CHECK (state IN ('queued', 'running', 'made', 'failed')),
    CONSTRAINT sealed_reports_counts_not_negative_check CHECK (fence >= 0 AND attempts >= 0)
);
CREATE INDEX sealed_reports_dataset_id_idx ON sealed_reports (dataset_id);
CREATE INDEX sealed_reports_ordered_by_idx ON sealed_reports (ordered_by);
CREATE INDEX sealed_reports_release_id_idx ON sealed_reports (release_id);
CREATE INDEX sealed_reports_waiting_idx ON sealed_reports (state, sent_at)
    WHERE state IN ('queued', 'running');
CREATE UNIQUE INDEX sealed_reports_wanted_key ON sealed_reports (release_id, target) WHERE state <> 'failed';
-- Notifications
CREATE TABLE notification_endpoints (
    id uuid PRIMARY KEY, principal_id uuid NOT NULL, key_id uuid NOT NULL REFERENCES api_keys (id),
    channel text NOT NULL, kinds text[] NOT NULL, state text NOT NULL, paused_because text,
    wrapped_details bytea, confirm_tries bigint NOT NULL, created_at timestamptz NOT NULL,
    answered_at timestamptz, removed_at timestamptz,
    CONSTRAINT notification_endpoints_paused_has_reason_check
        CHECK ((state = 'paused') = (paused_because IS NOT NULL)),
    CONSTRAINT notification_endpoints_removed_has_time_check
        CHECK ((state = 'removed') = (removed_at IS NOT NULL)),
    CONSTRAINT notification_endpoints_removed_has_no_secret_check
        CHECK ((state = 'removed') = (wrapped_details IS NULL)),
    CONSTRAINT notification_endpoints_channel_known_check CHECK (channel IN ('webhook', 'email')),
    CONSTRAINT notification_endpoints_state_known_check
        CHECK (state IN ('unconfirmed', 'active', 'paused', 'removed')),
    CONSTRAINT notification_endpoints_tries_not_negative_check CHECK (confirm_tries >= 0)
);
CREATE INDEX notification_endpoints_principal_id_idx ON notification_endpoints (principal_id);
CREATE TABLE notification_events (
    id uuid PRIMARY KEY, at timestamptz NOT NULL, kind text NOT NULL,
    dataset_id uuid REFERENCES datasets (id), about uuid, facts jsonb NOT NULL, spread_at timestamptz
);
CREATE INDEX notification_events_at_idx ON notification_events (at);
CREATE INDEX notification_events_waiting_idx ON notification_events (at) WHERE spread_at IS NULL;
CREATE TABLE notification_deliveries (
    id uuid PRIMARY KEY, event_id uuid NOT NULL REFERENCES notification_events (id),
    endpoint_id uuid NOT NULL REFERENCES notification_endpoints (id), state text NOT NULL,
    attempts bigint NOT NULL, next_at timestamptz, outcome text, tried_at timestamptz,
    created_at timestamptz NOT NULL,
    CONSTRAINT notification_deliveries_waiting_has_time_check
        CHECK ((state = 'waiting') = (next_at IS NOT NULL)),
    CONSTRAINT notification_deliveries_state_known_check
        CHECK (state IN ('waiting', 'delivered', 'failed', 'dropped')),
    CONSTRAINT notification_deliveries_attempts_not_negative_check CHECK (attempts >= 0),
    UNIQUE (event_id, endpoint_id)
);
CREATE INDEX notification_deliveries_due_idx ON notification_deliveries (next_at) WHERE state = 'waiting';
CREATE INDEX notification_deliveries_endpoint_id_idx ON notification_deliveries (endpoint_id);
-- The service itself
CREATE TABLE service_secrets (
    name text PRIMARY KEY, wrapped bytea NOT NULL, created_at timestamptz NOT NULL
);
CREATE TABLE signing_keys (
    id text PRIMARY KEY, public_key bytea NOT NULL, wrapped_private_key bytea NOT NULL,
    created_at timestamptz NOT NULL, retired_at timestamptz,
    CONSTRAINT signing_keys_public_key_ed25519_check CHECK (octet_length(public_key) = 32)
);
CREATE UNIQUE INDEX signing_keys_one_in_use_key ON signing_keys ((retired_at IS NULL))
    WHERE retired_at IS NULL;
CREATE TABLE worker_signs (
    name text PRIMARY KEY, role text NOT NULL, seen_at timestamptz NOT NULL, devices jsonb NOT NULL,
    CONSTRAINT worker_signs_role_known_check CHECK (role IN ('worker', 'upkeep'))
);
CREATE TABLE chore_runs (
    name text PRIMARY KEY, runs bigint NOT NULL, failures bigint NOT NULL, handled bigint NOT NULL,
    seconds double precision NOT NULL, tried_at timestamptz NOT NULL, done_at timestamptz,
    CONSTRAINT chore_runs_counts_not_negative_check CHECK (runs >= 0 AND failures >= 0 AND handled >= 0)
);
"""


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    for statement in TABLES.split(";\n"):
        if statement.strip():
            op.execute(statement)
    _triggers()


def downgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '4s'")
    op.execute("SET LOCAL statement_timeout = '60s'")
    for table in reversed(re.findall(r"^CREATE TABLE (\w+)", TABLES, re.MULTILINE)):
        op.drop_table(table)
    op.execute("DROP FUNCTION queue_audit_event()")
    op.execute("DROP FUNCTION refuse_change()")


def _triggers() -> None:
    op.execute(REFUSE_CHANGE)
    op.execute(QUEUE_EVENT)
    for table, changes in REFUSED.items():
        op.execute(
            f"CREATE TRIGGER {table}_refuse_change BEFORE {changes} ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
        # Also when a session sets session_replication_role, the usual way around triggers.
        op.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {table}_refuse_change")
    op.execute(
        "CREATE TRIGGER audit_events_queue AFTER INSERT ON audit_events"
        " FOR EACH ROW EXECUTE FUNCTION queue_audit_event()"
    )
    op.execute("ALTER TABLE audit_events ENABLE ALWAYS TRIGGER audit_events_queue")
