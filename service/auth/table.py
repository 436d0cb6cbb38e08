"""The table of rights: role x endpoint x ownership, in one place.

An endpoint that is not listed refuses everyone. To add one, add a row: its function's name, the roles that may use it,
the scope that a restricted key needs, and whose objects it reaches. ``tests/service/test_matrix.py`` then calls it as
every kind of caller and compares; it fails for an endpoint without a row.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from core.platform.access.roles import Role
from core.platform.access.scopes import Scope


class Reach(StrEnum):
    """Range of the objects that an endpoint reaches. Objects out of reach are answered with 404, as if they did not exist."""

    NONE = "none"
    """No object in the path: creates one, or lists those that the caller may see."""
    SEEN = "seen"
    """Objects of a dataset that the caller may see: owners their own, analysts those they are members of, admins and
    auditors all."""
    OWNED = "owned"
    """The caller's own dataset and the data sealed to its owner; other roles of the same key do not count."""
    MINE = "mine"
    """Visible as above, but only its author or an admin may do this; others who can see it get 403."""
    GOVERNED = "governed"
    """Decisions of the dataset's owner or an admin; to members it does not exist."""
    FILED = "filed"
    """A budget request or a grant: visible to its author or holder, the dataset's owner, admins and auditors; to other
    members it does not exist."""
    KEY = "key"
    """The key in use; any other does not exist."""
    HELD = "held"
    """The caller's own keys and enrolments, or anyone's for an admin; those of others do not exist."""
    SELF = "self"
    """The principal's own notification endpoints, which no other role can reach."""
    ANY = "any"
    """Objects without an owner, such as API keys, for the roles that may reach them at all."""


class Access(NamedTuple):
    """One row of the table."""

    roles: frozenset[Role]
    scope: Scope | None
    """The scope that a restricted key needs; None if any key will do."""
    reach: Reach
    sealed: bool = False
    """Whether it shows data sealed to the principal, which is locked for a while after a recovery."""
    whole: bool = False
    """Whether an unrestricted key is required, because the result would not be restricted."""


_OWNER = frozenset({Role.OWNER})
_ANALYST = frozenset({Role.ANALYST})
_ADMIN = frozenset({Role.ADMIN})
_AUDITOR = frozenset({Role.AUDITOR})
_WORKING = _OWNER | _ANALYST | _ADMIN
_EVERYBODY = _WORKING | _AUDITOR

TABLE: Final[Mapping[str, Access]] = {
    "create_person": Access(_ADMIN, None, Reach.NONE, whole=True),
    "list_people": Access(_ADMIN | _AUDITOR, Scope.KEYS_READ, Reach.NONE),
    "create_enrolment": Access(_ADMIN, None, Reach.ANY, whole=True),
    "list_enrolments": Access(_EVERYBODY, Scope.KEYS_READ, Reach.NONE),
    "cancel_enrolment": Access(_EVERYBODY, Scope.KEYS_WRITE, Reach.HELD),
    "create_key": Access(_EVERYBODY, Scope.KEYS_WRITE, Reach.NONE),
    "list_keys": Access(_EVERYBODY, Scope.KEYS_READ, Reach.NONE),
    "rotate_key": Access(_EVERYBODY, Scope.KEYS_WRITE, Reach.KEY),
    "revoke_key": Access(_EVERYBODY, Scope.KEYS_WRITE, Reach.HELD),
    "list_principal_names": Access(_EVERYBODY, None, Reach.NONE),
    "name_principal": Access(_ADMIN, Scope.KEYS_WRITE, Reach.ANY),
    "read_session": Access(_EVERYBODY, None, Reach.NONE),
    "close_session": Access(_EVERYBODY, None, Reach.NONE),
    # Each of its parts has the rights of the operation that lists it.
    "read_overview": Access(_EVERYBODY, None, Reach.NONE),
    "create_dataset": Access(_OWNER, Scope.DATASETS_WRITE, Reach.NONE),
    "list_datasets": Access(_EVERYBODY, Scope.DATASETS_READ, Reach.NONE),
    "read_dataset": Access(_EVERYBODY, Scope.DATASETS_READ, Reach.SEEN),
    "upload_rows": Access(_OWNER, Scope.DATASETS_WRITE, Reach.OWNED),
    "accept_rows": Access(_OWNER, Scope.DATASETS_WRITE, Reach.OWNED, sealed=True),
    "discard_rows": Access(_OWNER, Scope.DATASETS_WRITE, Reach.OWNED, sealed=True),
    "create_upload": Access(_OWNER, Scope.DATASETS_WRITE, Reach.OWNED),
    "read_upload": Access(_OWNER, Scope.DATASETS_READ, Reach.OWNED, sealed=True),
    "put_part": Access(_OWNER, Scope.DATASETS_WRITE, Reach.OWNED),
    "complete_upload": Access(_OWNER, Scope.DATASETS_WRITE, Reach.OWNED, sealed=True),
    "abort_upload": Access(_OWNER, Scope.DATASETS_WRITE, Reach.OWNED),
    "delete_dataset": Access(_OWNER | _ADMIN, Scope.DATASETS_WRITE, Reach.GOVERNED),
    "read_intake_report": Access(_OWNER, Scope.DATASETS_READ, Reach.OWNED, sealed=True),
    "set_budget": Access(_ADMIN, Scope.BUDGET_WRITE, Reach.SEEN),
    "read_budget": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.SEEN),
    "read_ledger": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.SEEN),
    "read_ledger_head": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.SEEN),
    "verify_ledger": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.SEEN),
    "list_signing_keys": Access(_EVERYBODY, None, Reach.NONE),
    "list_audit_events": Access(_ADMIN | _AUDITOR, Scope.AUDIT_READ, Reach.NONE),
    "export_audit_log": Access(_ADMIN | _AUDITOR, Scope.AUDIT_READ, Reach.NONE),
    "list_dataset_audit_events": Access(_OWNER | _ADMIN | _AUDITOR, Scope.AUDIT_READ, Reach.GOVERNED),
    "verify_audit_log": Access(_ADMIN | _AUDITOR, Scope.AUDIT_READ, Reach.NONE),
    "read_health_report": Access(_ADMIN | _AUDITOR, Scope.AUDIT_READ, Reach.NONE),
    "ask_what_if": Access(_WORKING, Scope.BUDGET_READ, Reach.SEEN),
    "freeze_dataset": Access(_OWNER | _ADMIN, Scope.BUDGET_WRITE, Reach.GOVERNED),
    "unfreeze_dataset": Access(_ADMIN, Scope.BUDGET_WRITE, Reach.SEEN),
    "list_members": Access(_OWNER | _ADMIN | _AUDITOR, Scope.DATASETS_READ, Reach.GOVERNED),
    "add_member": Access(_OWNER | _ADMIN, Scope.DATASETS_WRITE, Reach.GOVERNED),
    "remove_member": Access(_OWNER | _ADMIN, Scope.DATASETS_WRITE, Reach.GOVERNED),
    "file_budget_request": Access(_ANALYST, Scope.BUDGET_WRITE, Reach.SEEN),
    "list_dataset_budget_requests": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.SEEN),
    "list_budget_requests": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.NONE),
    "read_budget_request": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.FILED),
    "approve_budget_request": Access(_OWNER | _ADMIN, Scope.BUDGET_WRITE, Reach.GOVERNED),
    "deny_budget_request": Access(_OWNER | _ADMIN, Scope.BUDGET_WRITE, Reach.GOVERNED),
    "withdraw_budget_request": Access(_ANALYST, Scope.BUDGET_WRITE, Reach.FILED),
    "list_grants": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.SEEN),
    "list_all_grants": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.NONE),
    "read_grant": Access(_EVERYBODY, Scope.BUDGET_READ, Reach.FILED),
    "revoke_grant": Access(_OWNER | _ADMIN, Scope.BUDGET_WRITE, Reach.GOVERNED),
    # A federation belongs to the analyst who created it; its members call with tokens of their own (OPEN).
    "create_federation": Access(_ANALYST, Scope.JOBS_WRITE, Reach.NONE),
    "list_federations": Access(_ANALYST, Scope.JOBS_READ, Reach.NONE),
    "read_federation": Access(_ANALYST, Scope.JOBS_READ, Reach.SELF),
    "end_federation": Access(_ANALYST, Scope.JOBS_WRITE, Reach.SELF),
    "create_quote": Access(_ANALYST, Scope.JOBS_READ, Reach.SEEN),
    "create_job": Access(_ANALYST, Scope.JOBS_WRITE, Reach.SEEN),
    "list_jobs": Access(_EVERYBODY, Scope.JOBS_READ, Reach.NONE),
    "watch_job": Access(_EVERYBODY, Scope.JOBS_READ, Reach.SEEN),
    "read_job": Access(_EVERYBODY, Scope.JOBS_READ, Reach.SEEN),
    "read_failure_note": Access(_OWNER, Scope.JOBS_READ, Reach.OWNED, sealed=True),
    "cancel_job": Access(_ANALYST | _ADMIN, Scope.JOBS_WRITE, Reach.MINE),
    "list_releases": Access(_EVERYBODY, Scope.RELEASES_READ, Reach.NONE),
    "read_release": Access(_EVERYBODY, Scope.RELEASES_READ, Reach.SEEN),
    "download_bundle": Access(_WORKING, Scope.RELEASES_READ, Reach.SEEN),
    "read_certificate": Access(_EVERYBODY, Scope.RELEASES_READ, Reach.SEEN),
    "order_sealed_report": Access(_OWNER, Scope.DATASETS_WRITE, Reach.OWNED, sealed=True),
    "list_sealed_reports": Access(_OWNER, Scope.DATASETS_READ, Reach.OWNED, sealed=True),
    "read_sealed_report": Access(_OWNER, Scope.DATASETS_READ, Reach.OWNED, sealed=True),
    "read_sealed_report_summary": Access(_OWNER, Scope.DATASETS_READ, Reach.OWNED, sealed=True),
    "download_sealed_report": Access(_OWNER, Scope.DATASETS_READ, Reach.OWNED, sealed=True),
    "delete_sealed_report": Access(_OWNER, Scope.DATASETS_WRITE, Reach.OWNED, sealed=True),
    "draw_samples": Access(_WORKING, Scope.RELEASES_READ, Reach.SEEN),
    "ask_counts": Access(_WORKING, Scope.RELEASES_READ, Reach.SEEN),
    "read_precision": Access(_WORKING, Scope.RELEASES_READ, Reach.SEEN),
    "download_figures": Access(_WORKING, Scope.RELEASES_READ, Reach.SEEN),
    "check_rules": Access(_WORKING, Scope.RELEASES_READ, Reach.SEEN),
    "read_known_counts": Access(_WORKING, Scope.RELEASES_READ, Reach.SEEN),
    "list_charged_reports": Access(_EVERYBODY, Scope.RELEASES_READ, Reach.SEEN),
    "read_charged_report": Access(_EVERYBODY, Scope.RELEASES_READ, Reach.SEEN),
    "export_dossier": Access(_OWNER | _ADMIN | _AUDITOR, Scope.AUDIT_READ, Reach.GOVERNED),
    "create_endpoint": Access(_EVERYBODY, Scope.NOTIFICATIONS_WRITE, Reach.NONE),
    "list_endpoints": Access(_EVERYBODY, Scope.NOTIFICATIONS_READ, Reach.NONE),
    "read_endpoint": Access(_EVERYBODY, Scope.NOTIFICATIONS_READ, Reach.SELF),
    "list_deliveries": Access(_EVERYBODY, Scope.NOTIFICATIONS_READ, Reach.SELF),
    "test_endpoint": Access(_EVERYBODY, Scope.NOTIFICATIONS_WRITE, Reach.SELF),
    "confirm_endpoint": Access(_EVERYBODY, Scope.NOTIFICATIONS_WRITE, Reach.SELF),
    "rotate_endpoint": Access(_EVERYBODY, Scope.NOTIFICATIONS_WRITE, Reach.SELF),
    "resume_endpoint": Access(_EVERYBODY, Scope.NOTIFICATIONS_WRITE, Reach.SELF),
    "remove_endpoint": Access(_EVERYBODY, Scope.NOTIFICATIONS_WRITE, Reach.SELF),
}

# These need no key: liveness, the login itself, a person's first key, and what members of federations do with their tokens.
OPEN: Final = frozenset(
    {"create_session", "accept_enrolment", "read_health", "read_liveness", "read_readiness", "read_metrics",
     "read_membership", "put_state", "read_round", "read_state", "put_certificate"}
)  # fmt: skip
