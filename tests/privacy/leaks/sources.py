"""Where every field comes from that anybody but the owner is told: one table, from which docs/leak-channels.md is made.

A path names a field of an answer, as `answers` takes it apart: ``items[].state``. A path that ends in ``.**`` stands for
everything below, and is for documents that are of one source as a whole. A field without a line fails a test; so does a line
whose field does not exist any more, and one that calls a field the same on neighbouring tables that is not.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

Fields = Mapping[str, "Source"]


class Source(StrEnum):
    """What a field may come from. None of these is the private table."""

    CONSTANT = "a constant of the software or of the wire format"
    DECLARED = "declared by the owner as public"
    PLAN = "computed from declared facts and the order, before rows are read"
    PERSON = "what a person asked for, wrote or decided, and when"
    LEDGER = "sums and links of charges that plans fixed beforehand"
    EDGE = "the state and the times of a job, as they change at edges of time"
    MECHANISM = "an output of a mechanism that the ledger has charged, or made of such outputs alone"
    FRESH = "fresh randomness, or a hash or signature over it"
    SERVICE = "the service's own doings, of which rows are no part"
    CLOCK = "the machine's own clock: how long the service took for requests that carry no rows"


C, D, P, W, L, E, M, F, S, T = Source
SAME_ON_NEIGHBOURS: Final = frozenset({C, D, P, W, L, E, S})
"""What must be the same to the byte, whatever a person's rows are."""


def under(prefix: str, fields: Fields) -> dict[str, Source]:
    """The same fields, deeper."""
    return {f"{prefix}{path}": source for path, source in fields.items()}


def page_of(fields: Fields) -> dict[str, Source]:
    """A page of things."""
    return {**under("items[].", fields), "items": C, "next_before": F}


HEADERS: Final[Fields] = {
    "status": C,
    "header.content-type": C, "header.cache-control": C, "header.content-security-policy": C,
    "header.cross-origin-resource-policy": C, "header.referrer-policy": C, "header.x-content-type-options": C,
    "header.x-frame-options": C, "header.x-accel-buffering": C, "header.allow": C, "header.retry-after": C,
    "header.www-authenticate": C, "header.vary": C, "header.idempotency-replayed": W,
    "header.x-request-id": F, "header.location": F, "header.set-cookie": F, "header.etag": F,
    "header.content-disposition": F,
}  # fmt: skip
LENGTH: Final = "header.content-length"
"""Of the source that its body has: as long as the body, and the body's fields are compared."""
PROBLEM: Final[Fields] = {
    "type": C, "title": C, "detail": C, "code": C, "remedy": C, "request_id": F, "facts": C, "facts.allowed_roles[]": C,
    "facts.allowed_scopes[]": C, "facts.request_id": F, "facts.errors[].**": W, "facts.filter": L, "facts.requested.**": P, "facts.remaining.**": L,
    "facts.**": L,
}  # fmt: skip
# The digest of a plan that takes noisy counts over is theirs too; the orders compared here take none over.
FEDERATION: Final[Fields] = {
    # Fresh where the federation's id is in it, which the plan names.
    "id": F, "name": W, "kind": W, "state": E, "vanished": E, "rounds": P, "rounds_done": E, "waits_for": E, "waits_for[]": E, "deadline": E,
    "round_seconds": W, "plan.**": F, "plan_sha256": F, "domain_sha256": D, "members[].name": W, "members[].declared_size": D,
    "members[].rounds_handed_in": E, "members[].certificate": F, "created_at": W, "ended_at": E,
}  # fmt: skip
LISTED_OF_FEDERATION: Final = frozenset(
    {
        "id", "name", "kind", "state", "vanished", "rounds", "rounds_done", "waits_for", "waits_for[]", "deadline", "created_at",
        "ended_at",
    }
)  # fmt: skip
"""What a list shows of a federation, beside the names of its members."""
JOB: Final[Fields] = {
    "id": F, "federation": W, "federation.**": W, "dataset_id": F, "dataset_ids": F, "dataset_ids[]": F, "kind": W, "ordered_by": F, "state": E, "cancel_requested": W, "progress.stage": E, "progress.step": E,
    "progress.total": P, "progress.stages": P, "progress.stages[]": P, "progress.percent": E, "progress.eta_seconds": E, "progress.epsilon_planned": P,
    "progress.delta_planned": P, "release_id": F, "report_id": F, "failure": E, "failure.code": E, "failure.detail": C, "plan_digest": P,
    "device": P, "device_wish": W, "waiting": E, "waiting.code": C, "waiting.detail": P, "waiting.remedy": E,
    "progress.epsilon_so_far": E, "warning": M, "warning.code": M, "warning.detail": M, "warning.remedy": M, "created_at": W, "started_at": E, "finished_at": E,
}  # fmt: skip
JOBS: Final[Fields] = {**JOB, "plan_digest of a report": F}
"""Of a list, which has utility reports in it: their plans name the release."""
CHARGED_ENTRY: Final[Fields] = {
    "id": F, "job_id": F, "release_id": F, "dataset_id": F, "epsilon": W, "delta": W, "target": D, "created_at": E,
}  # fmt: skip
DATASET: Final[Fields] = {
    "id": F, "population_id": F, "name": D, "domain": D, "domain.**": D, "adjacency": D, "privacy_unit": D, "declared_size": D,
    "rule": D, "state": W, "created_at": W, "deleted_at": W,
}  # fmt: skip
BUDGET: Final[Fields] = {
    "population_id": F, "rule": D, "cap": W, "cap.epsilon": W, "cap.delta": W, "frozen_at": W, "spent.**": L, "reserved.**": L,
    "carried_by": L, "filters[].**": L, "remaining_epsilon": L,
}  # fmt: skip
CHARGE: Final[Fields] = {"epsilon_micros": P, "delta_femtos": P, "rdp_micros.**": P}
ENTRY: Final[Fields] = {
    "sequence": L, "kind": L, "at": E, "job_id": F, "grant_id": F, "epsilon": P, "delta": P, **under("charge.", CHARGE),
    "mechanism": P, "mechanism.**": P, "fence": L, "terms.epsilon": W, "terms.delta": W, "terms.by": F, "terms.reason": W,
    "terms.grant_id": F, "terms.holder_id": F, "terms.expires_at": W, "balance": L, "balance[]": L,
    "grant_balance": L, "grant_balance[]": L, "previous_hash": F, "hash": F,
}  # fmt: skip
GRANT: Final[Fields] = {
    "id": F, "population_id": F, "holder_id": F, "epsilon": W, "delta": W, "state": W, "expires_at": W, "created_at": W,
    "closed_at": W,
}  # fmt: skip
STANDING_GRANT: Final[Fields] = {
    **GRANT, "dataset_ids[]": F, "spent.**": L, "reserved.**": L, "remaining_epsilon": L,
}  # fmt: skip
REQUEST: Final[Fields] = {
    "id": F, "dataset_id": F, "population_id": F, "requested_by": F, "epsilon": W, "delta": W, "purpose": W, "state": W,
    "note": W, "created_at": W, "expires_at": W, "decided_at": W, "decided_by": F, "grant": W, **under("grant.", GRANT),
}  # fmt: skip
RELEASE: Final[Fields] = {
    "id": F, "job_id": F, "dataset_id": F, "created_at": E, "links.bundle": F, "links.certificate": F, "links.samples": F,
}  # fmt: skip
KEY: Final[Fields] = {
    "id": F, "principal_id": F, "principal_name": W, "name": W, "roles[]": W, "scopes": W, "scopes[]": W, "prefix": F, "created_at": W,
    "expires_at": W, "last_used_at": W, "replaced_by": F, "revoked_at": W,
}  # fmt: skip
NEW_KEY: Final[Fields] = {**KEY, "key": F}
WHO: Final[Fields] = {
    "principal_id": F, "name": W, "roles[]": W, "created_at": W, "enrolled_at": W, "held_until": W,
}  # fmt: skip
ENROLMENT: Final[Fields] = {
    "id": F, "principal_id": F, "state": W, "is_recovery": W, "created_by": F, "created_at": W, "expires_at": W,
    "accepted_at": W, "held_until": W, "cancelled_at": W, "cancelled_by": F,
}  # fmt: skip
SIGNED: Final[Fields] = {"context": C, "algorithm": C, "key_id": F, "signature": F}
HEAD: Final[Fields] = {**SIGNED, "at": W, "hash": F, "population_id": F, "sequence": L}
EVENT: Final[Fields] = {
    "sequence": W, "at": W, "actor": F, "action": W, "object": F, "outcome": W, "client_address": W, "request_id": F,
    "position": W, "hash": F,
}  # fmt: skip
TRAIL_EVENT: Final[Fields] = {
    "number": W, "at": W, "actor": F, "action": W, "about": C, "object": F, "outcome": W,
}  # fmt: skip
CERTIFICATE: Final[Fields] = {
    **SIGNED, "schema": C, "release_id": F, "job_id": F, "dataset_id": F, "population_id": F, "issued_at": W,
    "data_product_type": C, "dp_flavor": C, "adjacency": D, "privacy_unit.**": D, "declared_size": D,
    "privacy_parameters.**": P, "privacy_parameters_description": C, "epsilon.**": P, **under("charge.", CHARGE),
    "unprotected_quantities[]": C, "model.**": C, "mechanisms[].**": P, "mechanism.**": P, "plan.**": P, "plan_digest": P,
    # What was heard of the training, held against the plan before it is certified: a difference is refused.
    "executed.**": P,
    "preprocessing[]": C, "post_processing": C, "composition.**": C, "ledger.reserved.sequence": L, "ledger.reserved.hash": F,
    "ledger.spent.sequence": L, "ledger.spent.hash": F, "ledger.head.sequence": L, "ledger.head.hash": F, "justification[]": C,
    "randomness.**": C, "noise_grid.**": P, "data_domain.**": D, "software.**": C, "not_covered[]": C, "artefacts.**": M,
    # Draws of the released generator, held against its noisy counts.
    "generator_check.**": M,
}  # fmt: skip
CHARGED_REPORT: Final[Fields] = {
    **SIGNED, "schema": C, "report_id": F, "release_id": F, "job_id": F, "dataset_id": F, "population_id": F, "issued_at": W,
    "dp_flavor": C, "adjacency": D, "privacy_unit.**": D, "declared_size": D, "privacy_parameters.**": P,
    "privacy_parameters_description": C, "epsilon.**": P, **under("charge.", CHARGE), "mechanisms[].**": P, "mechanism.**": P,
    "plan.**": P, "plan.release_id": F, "plan.manifest_sha256": M, "plan_digest": F, "releases_heard": C,
    # Names of columns are declared, the noise is the plan's; all other numbers are noisy, or made of the release alone.
    "results.**": M, "results.columns[].name": D, "results.pairs[].names[]": D, "results.score.target": D,
    "results.columns[].noise_std": P, "results.pairs[].noise_std": P, "results.mean_of_columns.noise_std": P,
    "results.mean_of_pairs.noise_std": P, "results.score.noise_std": P,
    "reading[]": C, "public_side": C, "composition.**": C, "ledger.reserved.sequence": L, "ledger.reserved.hash": F,
    "ledger.spent.sequence": L, "ledger.spent.hash": F, "ledger.head.sequence": L, "ledger.head.hash": F, "randomness.**": C,
    "noise_grid": C, "software.**": C, "unprotected_quantities[]": C, "not_covered[]": C,
}  # fmt: skip
NETWORK: Final[Fields] = {
    "ir_version": C, "opset_import[].domain": C, "opset_import[].version": C,
    "graph.name": C, "graph.node[].**": P, "graph.initializer[].**": M,
    "graph.input[].name": C, "graph.input[].type.**": P, "graph.output[].name": C, "graph.output[].type.**": P,
}  # fmt: skip
ARCHIVED: Final[Fields] = {
    f"zip.{member}.{fact}": C
    for member in (
        "README.md", "certificate.json", "counts.bin", "domain.json", "generator.onnx", "generator.safetensors", "manifest.json",
        "sample.py",
    )
    for fact in ("date_time", "comment", "extra", "create_system", "external_attr", "flag_bits")
}  # fmt: skip
BUNDLE: Final[Fields] = {
    "zip.comment": C, **ARCHIVED, "README.md": P, "sample.py": D, **under("certificate.json.", CERTIFICATE), "domain.json.**": D,
    **under("generator.onnx.", NETWORK),
    "generator.safetensors.**": P, "generator.safetensors values": M,
    "manifest.json.schema": C, "manifest.json.cardinalities[]": D, "manifest.json.label_index": D,
    "manifest.json.label_probabilities": P, "manifest.json.label_probabilities[]": M, "manifest.json.latent_dimension": P,
    "manifest.json.sha256.**": M,
    "counts.bin.schema": C, "counts.bin.cardinalities[]": D, "counts.bin.step": M, "counts.bin.groups[].noise_std": M,
    "counts.bin.groups[].tables[][]": M, "counts.bin.merged**": M, "counts.bin cells": M,
}  # fmt: skip
METRICS: Final[Fields] = {
    "metrics.comment": C,
    "metrics.understudy_http_requests_total": S, "metrics.understudy_http_requests_created": T,
    "metrics.understudy_http_request_seconds_bucket": T, "metrics.understudy_http_request_seconds_count": S,
    "metrics.understudy_http_request_seconds_sum": T, "metrics.understudy_http_request_seconds_created": T,
    "metrics.understudy_database_up": S, "metrics.understudy_jobs": E, "metrics.understudy_jobs_running": E,
    "metrics.understudy_queue_jobs_waiting": E, "metrics.understudy_queue_jobs_running": E, "metrics.understudy_queue_wait_seconds": E,
    "metrics.understudy_queue_workers_alive": S,
    "metrics.understudy_queue_depth": E, "metrics.understudy_queue_oldest_seconds": E, "metrics.understudy_leases_expired": S,
    "metrics.understudy_workers_alive": S, "metrics.understudy_budget_free_share": L, "metrics.understudy_budget_frozen": W,
    "metrics.understudy_budgets_left_out": S, "metrics.understudy_notifications_waiting": E,
    "metrics.understudy_notifications_oldest_seconds": E, "metrics.understudy_notification_endpoints_paused": S,
}  # fmt: skip
SESSION: Final[Fields] = {
    "principal_id": F, "roles[]": W, "scopes": W, "scopes[]": W, "via": C, "held_until": W, "csrf_token": F,
}  # fmt: skip
CHECK: Final[Fields] = {"intact": L, "checked": L, "broken_at": L, "problem": L}
LEDGER_CHECK: Final[Fields] = {**CHECK, "population_id": F, "witnessed": L, "witnessed[]": L, "frozen": W}
AUDIT_CHECK: Final[Fields] = {
    **CHECK, "waiting": W, "head": F, **under("head.", SIGNED), "head.at": W, "head.hash": F, "head.position": W,
}  # fmt: skip
BOUND: Final[Fields] = {
    "short_of": L, "short_of[]": L,
    "epsilon": W, "delta": W, "fits": L, "carried_by": L, "remaining_delta": L, "remaining_epsilon": L,
    "remaining_epsilon_after": L,
}  # fmt: skip
# Every order of the day fits, so what is short is never listed.
FITTING: Final[Fields] = {path: source for path, source in BOUND.items() if path != "short_of[]"}
QUOTE: Final[Fields] = {
    "groups[].units": C, "groups[].epsilon": P,
    "synthesizer": W, "adjacency": D, "privacy_unit.**": D, "declared_size": D, "guarantee.**": W, "steps": P, "sampling_rate": P,
    "expected_batch_size": P, "noise[].**": P, "split.**": P, "expected_error**": P, "epsilon.**": P, **under("charge.", CHARGE),
    # The plan names the hash of the noisy counts that it takes over.
    "plan_digest": M, "reused.epsilon_as_if": P, "reused.epsilon_alone": P, "reused.releases[].release_id": F,
    "reused.releases[].holds": E, "reused.releases[].counts": P,
    "fits": L, "refusal": L, "carried_by": L, "filters.**": L, "remaining_epsilon": L, "remaining_epsilon_after": L,
    "cap": L, **under("cap.", FITTING), "grant": L, "grant.id": F, **under("grant.", FITTING),
}  # fmt: skip
MEMBER: Final[Fields] = {"principal_id": F, "added_by": F, "added_at": W}
WHAT_IF: Final[Fields] = {
    "epsilon": W, "delta": W, "fits": L, "refusal": L, "cap": L, **under("cap.", BOUND), "grant": L, "grant.id": F,
    **under("grant.", BOUND),
}  # fmt: skip
ENDPOINT: Final[Fields] = {
    "id": F, "channel": W, "target": W, "kinds": W, "kinds[]": W, "state": W, "paused_because": S, "created_at": W,
}  # fmt: skip
NEW_ENDPOINT: Final[Fields] = {**ENDPOINT, "secret": F}
# What was told, and how the receiver took it: the end of a training is told of at its edge, and not sooner.
DELIVERY: Final[Fields] = {
    "id": F, "event_id": F, "kind": E, "about.**": F, "happened_at": E, "state": S, "attempts": S, "outcome": S, "tried_at": S,
    "next_at": E,
}  # fmt: skip
STATEMENT: Final[Fields] = {
    **{path: source for path, source in BUDGET.items() if path != "remaining_epsilon"}, "schema": C, "head.sequence": L,
    "head.hash": F, "totals.**": L, **under("entries[].", ENTRY),
}  # fmt: skip
DOSSIER: Final[Fields] = {
    **SIGNED, "schema": C, "at": W, "exported_by": F, **under("dataset.", DATASET), "dataset.owner_id": F, "promise.**": W,
    **under("members[].", MEMBER), **under("budget.", BUDGET), **under("grants[].", GRANT),
    **under("requests[].", {path: source for path, source in REQUEST.items() if not path.startswith("grant.")}),
    "jobs[].id": F, "jobs[].ordered_by": F, "jobs[].state": E, "jobs[].created_at": W, "jobs[].finished_at": E,
    "releases[].id": F, "releases[].job_id": F, "releases[].created_at": E, "releases[].in_words[]": L,
    "releases[].not_covered[]": C, **under("releases[].certificate.", CERTIFICATE),
    **under("ledger.verification.", LEDGER_CHECK), **under("ledger.head.", HEAD), **under("ledger.statement.", STATEMENT),
    "exports[].at": W, "exports[].actor": F, "people": W,
}  # fmt: skip

USABLE_GRANT: Final[Fields] = {**STANDING_GRANT, "orderable_epsilon": L, "orderable_dataset_id": F}
OVERVIEW: Final[Fields] = {
    "datasets": C, "datasets[].id": F, "datasets[].population_id": F, "datasets[].name": D, "datasets[].privacy_unit": D,
    "datasets[].declared_size": D, "datasets[].state": W, "datasets[].created_at": W, "datasets[].budget": C,
    **under("datasets[].budget.", BUDGET), "datasets[].budget.filters": L, "datasets[].course": L, "datasets[].course[].at": E, "datasets[].course[].spent": L,
    "datasets[].course[].reserved": L, "next_before": F,
    "requests": W, "requests[].id": F, "requests[].dataset_id": F, "requests[].dataset_name": D, "requests[].requested_by": F,
    "requests[].epsilon": W, "requests[].delta": W, "requests[].purpose": W, "requests[].created_at": W,
    "requests[].expires_at": W, "requests[].fits": L, "requests[].remaining_epsilon": L, "requests[].remaining_epsilon_after": L,
    "own_grants": W, **under("own_grants[].", USABLE_GRANT), "expiring_grants": W,
    # No grant of the day ends within two weeks, so no amounts are told here.
    **under("expiring_grants[].", {path: one for path, one in USABLE_GRANT.items() if not path.endswith("**")}),
    "live_jobs": E, **under("live_jobs[].", JOB), "failed_jobs": E, **under("failed_jobs[].", JOB),
    "refusals": W, "refusals[].sequence": W, "refusals[].at": W, "refusals[].actor": F, "refusals[].action": W,
    "refusals[].object": F, "refusals[].outcome": W,
}  # fmt: skip

OPERATIONS: Final[Mapping[str, Fields]] = {
    "read_overview": OVERVIEW,
    "list_jobs": page_of(JOBS),
    "read_job": JOB,
    # No job of these stages has a degenerate generator or a federation, and the document does not take the events of a stream apart.
    "watch_job": {**under("data.", {path: source for path, source in JOB.items() if not path.startswith(("warning.", "waiting.", "federation."))}), "event.retry": C, "event.event": C, "event.id": F},
    "list_principal_names": {"items": C, "items[].principal_id": F, "items[].name": W},
    "list_keys": {"items": C, **under("items[].", KEY)},
    "read_session": SESSION,
    "list_datasets": page_of(DATASET),
    "read_dataset": DATASET,
    "read_intake_report": {},
    "read_upload": {},
    "read_failure_note": {},
    "list_members": {"items": C, **under("items[].", MEMBER)},
    "read_budget": BUDGET,
    "read_ledger": {
        **{path: source for path, source in BUDGET.items() if path != "remaining_epsilon"}, "schema": C, "head.sequence": L, "head.hash": F, "totals.**": L, **under("entries[].", ENTRY),
    },
    "list_dataset_budget_requests": page_of(REQUEST),
    "list_budget_requests": page_of(REQUEST),
    "read_budget_request": REQUEST,
    "list_grants": {"items": C, **under("items[].", GRANT)},
    "list_all_grants": page_of(STANDING_GRANT),
    "read_grant": STANDING_GRANT,
    "list_releases": page_of(RELEASE),
    "read_release": RELEASE,
    "read_certificate": CERTIFICATE,
    "download_bundle": BUNDLE,
    "draw_samples": {"column.**": M},
    "ask_counts": {
        "schema": C, "measure": W, "columns[]": W, "rows[].values[]": M, "rows[].estimate": M, "rows[].low": M, "rows[].high": M,
        "rows[].standard_error": M, "rows[].unbiased": M, "counted": D, "confidence": C, "drawn_rows": M, "notes[]": M,
        "basis": M,
    },
    "read_precision": {
        "declared_size": D, "expected_error": P, "expected_error.**": P, "expected_error_missing": P, "counted": D, "columns": D,
        "columns[].name": D, "columns[].values": D, "columns[].standard_error": P, "hidden": M, "hidden[]": M,
    },
    "download_figures": {"body of text/html": M},
    "check_rules": {
        "schema": C, "code": M, "rules": D, "rules[].pointer": D, "rules[].kind": D, "rules[].columns[]": D, "rules[].finding": M,
        "rules[].contradictions": M, "rules[].contradictions[].columns[]": M, "rules[].contradictions[].estimate": M,
        "rules[].contradictions[].low": M, "rules[].contradictions[].high": M, "rules[].contradictions[].standard_error": M,
        "counted": D, "confidence": C, "remedy": M,
    },
    "read_known_counts": {
        "releases[].release_id": F, "releases[].created_at": E, "releases[].columns": D, "releases[].pairs": D,
        "releases[].by_class": P, "releases[].most_groups": P, "releases[].column_std": P, "releases[].pair_std": P,
        "releases[].epsilon_as_if": P, "releases[].delta": P, "releases[].holds": E,
        "releases[].holds[]": F,
    },
    "list_charged_reports": page_of(CHARGED_ENTRY),
    "read_charged_report": CHARGED_REPORT,
    "list_signing_keys": {
        "items[].key_id": F, "items[].algorithm": C, "items[].public_key": F, "items[].created_at": W, "items[].retired_at": W,
    },
    "read_ledger_head": HEAD,
    "verify_ledger": LEDGER_CHECK,
    "verify_audit_log": AUDIT_CHECK,
    "list_audit_events": page_of(EVENT),
    "list_dataset_audit_events": page_of(TRAIL_EVENT) | {"next_before": W},
    "export_audit_log": {
        **EVENT, "previous_hash": F, **under("trailer.", SIGNED), "trailer.at": W, "trailer.events": W, "trailer.filter": W, "trailer.head.hash": F,
        "trailer.head.position": W, "trailer.sha256": F,
    },
    "read_health_report": {
        "status": S, "examined_at": W, "findings": S, "findings[].code": S, "findings[].grade": C, "findings[].part": C,
        "findings[].detail": T, "findings[].remedy": T, "findings[].facts": S, "findings[].facts.**": T,
    },
    "read_health": {"status": C},
    "read_liveness": {"status": C},
    "read_readiness": {"status": S, "checks.**": S},
    "read_metrics": METRICS,
    "export_dossier": DOSSIER,
    "list_endpoints": {"items": C, **under("items[].", ENDPOINT)},
    "read_endpoint": ENDPOINT,
    "list_deliveries": page_of(DELIVERY),
    "create_federation": {**FEDERATION, "tokens.**": F},
    "read_federation": FEDERATION,
    "list_federations": page_of(
        {**{name: source for name, source in FEDERATION.items() if name in LISTED_OF_FEDERATION}, "members[]": W}
    ),
    "end_federation": FEDERATION,
    "read_membership": {
        "federation_id": F, "member": W, "members[].name": W, "members[].declared_size": D, "state": E, "vanished": E, "rounds_done": E,
        "round_seconds": W, "epsilon": W, "delta": W, "model.**": P, "domain_sha256": D, "plan_sha256": F,
    },
    "put_state": {},
    "read_round": {"round": W, "members[]": E, "complete": E},
    "read_state": {},
    "put_certificate": {},
    "create_endpoint": NEW_ENDPOINT,
    "rotate_endpoint": NEW_ENDPOINT,
    "confirm_endpoint": ENDPOINT,
    "resume_endpoint": ENDPOINT,
    "test_endpoint": {"delivery_id": F},
    "remove_endpoint": {},
    "create_quote": QUOTE,
    "ask_what_if": WHAT_IF,
    "create_job": JOB,
    "cancel_job": JOB,
    "file_budget_request": REQUEST,
    "withdraw_budget_request": REQUEST,
    "approve_budget_request": REQUEST,
    "deny_budget_request": REQUEST,
    "create_dataset": {
        **DATASET, "warnings": D, "warnings[].pointer": D, "warnings[].problem": C, "warnings[].detail": C,
    },
    "delete_dataset": {"id": F, "population_id": F, "state": W, "deleted_at": W},
    "add_member": {"items": C, **under("items[].", MEMBER)},
    "remove_member": {"items": C, **under("items[].", MEMBER)},
    "set_budget": BUDGET,
    "freeze_dataset": BUDGET,
    "unfreeze_dataset": BUDGET,
    "revoke_grant": GRANT,
    "name_principal": {"principal_id": F, "name": W},
    "create_person": {**WHO, **under("enrolment.", ENROLMENT), "enrolment.token": F},
    "list_people": {"items": C, **under("items[].", WHO)},
    "create_enrolment": {**ENROLMENT, "token": F},
    "list_enrolments": {"items": C, **under("items[].", ENROLMENT)},
    "cancel_enrolment": ENROLMENT,
    "accept_enrolment": {**NEW_KEY, "held_until": W},
    "create_key": NEW_KEY,
    "rotate_key": {**NEW_KEY, "old_key_ends_at": W},
    "revoke_key": KEY,
    "create_session": SESSION,
    "close_session": {},
    "order_sealed_report": {},
    "list_sealed_reports": {},
    "read_sealed_report": {},
    "read_sealed_report_summary": {},
    "download_sealed_report": {},
    "delete_sealed_report": {},
    "upload_rows": {},
    "accept_rows": {},
    "discard_rows": {},
    "create_upload": {},
    "put_part": {},
    "complete_upload": {},
    "abort_upload": {},
}  # fmt: skip


def source_of(operation: str, path: str, *, refused: bool = False) -> Source | None:
    """The line of a field: its own, else the longest of those that stand for everything below; None where there is none.

    Args:
        operation: Who answered.
        path: The field.
        refused: Whether the answer is a problem document.
    """
    lines = HEADERS | (PROBLEM if refused else OPERATIONS.get(operation, {}))
    if path in lines:
        return lines[path]
    covering = [line for line in lines if line.endswith("**") and path.startswith(line.removesuffix("**"))]
    return lines[max(covering, key=len)] if covering else None
