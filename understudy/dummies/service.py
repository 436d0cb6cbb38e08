"""A simulated service: it keeps declarations and orders, reads no rows, trains nothing and charges nothing.

Its answers have every member that the service's have (a test compares them), with true values where there are any: no
amount but zero, no hash, no plan. Whoever acts may do everything, budgets are never short, and jobs end when they are read the third time.
"""

import io
import json
import uuid
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from understudy.documents import Json
from understudy.dummies.drawing import dummy_file
from understudy.dummies.refusals import DummyRefusal
from understudy.dummies.values import fake_columns
from understudy.errors import InputUnusable
from understudy.sample_formats import IMAGE_FORMATS, formats_of

ME: Final = "00000000-0000-0000-0000-00000000d003"
LONG_AGO: Final = "2000-01-01T00:00:00Z"
FAR_AWAY: Final = "2999-01-01T00:00:00Z"
STATEMENT: Final = "No data was read and nothing was charged: what this generates are uniform draws from the declared domain."
NOTHING: Final[Json] = {"epsilon": "0", "delta": "0"}
ZERO: Final[Json] = {"pld": 0.0, "rdp": 0.0, "reported": 0.0}
PART_BYTES: Final = 8 * 2**20
Kept = dict[str, dict[str, Any]]


@dataclass(slots=True)
class DummyService:
    """The state of a simulated service, as the documents of its answers."""

    _datasets: Kept = field(default_factory=dict)
    _caps: Kept = field(default_factory=dict)
    _uploads: Kept = field(default_factory=dict)
    _requests: Kept = field(default_factory=dict)
    _jobs: Kept = field(default_factory=dict)
    _releases: Kept = field(default_factory=dict)

    def health(self) -> Json:
        """Answer the health check."""
        return {"status": "ok", "dummy": True}

    def session(self) -> Json:
        """Return the identity of the caller."""
        roles = ["owner", "analyst", "admin", "auditor"]
        how: dict[str, Any] = {"scopes": [], "via": "key", "held_until": None, "csrf_token": None}
        return {"principal_id": ME, "roles": roles, **how, "dummy": True}

    def declare(self, body: Json, *, dataset_id: str | None = None, state: str = "declared") -> Json:
        """Declare a dataset; a domain from which nothing can be drawn is refused."""
        domain = dict(body["domain"])
        if formats_of(domain) != IMAGE_FORMATS:
            try:
                fake_columns(domain)
            except InputUnusable as error:
                raise DummyRefusal(422, "domain-invalid", str(error)) from None
        parent = self._datasets.get(str(body.get("parent_dataset_id")))
        made: dict[str, Any] = {
            "id": dataset_id or str(uuid.uuid4()),
            "population_id": str(uuid.uuid4()) if parent is None else parent["population_id"],
            "name": body["name"],
            "domain": domain,
            "adjacency": "add-or-remove",
            "privacy_unit": domain.get("privacy_unit"),
            "declared_size": body.get("declared_size", 1000),
            "rule": "filters",
            "state": state,
            "created_at": LONG_AGO,
            "deleted_at": None,
            "dummy": True,
        }
        self._datasets[made["id"]] = made
        return made

    def datasets(self) -> Json:
        """List datasets, newest first."""
        return {"items": [*reversed(self._datasets.values())], "next_before": None}

    def dataset(self, dataset_id: str) -> Json:
        """Return a dataset."""
        return _found(self._datasets, dataset_id, "dataset")

    def take_rows(self, dataset_id: str) -> Json:
        """Ignore the rows, and report that none was read."""
        _found(self._datasets, dataset_id, "dataset")["state"] = "ready"
        return {
            "rows_accepted": 0, "rows_refused": 0, "changes": {}, "refusals": {}, "problems": [],
            "problems_unlisted": 0, "position": "row", "waiting": False, "dummy": True,
        }  # fmt: skip

    def start_upload(self, dataset_id: str, body: Json) -> Json:
        """Start an upload whose parts are ignored."""
        _found(self._datasets, dataset_id, "dataset")
        made: dict[str, Any] = {
            "id": str(uuid.uuid4()),
            "dataset_id": dataset_id,
            "state": "open",
            "part_bytes": PART_BYTES,
            "parts_total": max(1, -(-int(body["bytes"]) // PART_BYTES)),
            "parts": [],
        }
        self._uploads[made["id"]] = made
        return made

    def upload(self, upload_id: str) -> Json:
        """Return an upload."""
        return _found(self._uploads, upload_id, "upload")

    def complete_upload(self, upload_id: str) -> Json:
        """End an upload."""
        found = _found(self._uploads, upload_id, "upload")
        found["state"] = "completed"
        return {"intake_report": self.take_rows(found["dataset_id"])}

    def members(self, dataset_id: str) -> Json:
        """List the members: the caller alone."""
        _found(self._datasets, dataset_id, "dataset")
        return {"items": [{"principal_id": ME, "added_at": LONG_AGO, "name": "dummy"}]}

    def set_budget(self, dataset_id: str, body: Json) -> Json:
        """Set a cap; nothing is ever charged against it."""
        population = _found(self._datasets, dataset_id, "dataset")["population_id"]
        self._caps[population] = {"epsilon": body["epsilon"], "delta": body["delta"]}
        return self.budget(dataset_id)

    def budget(self, dataset_id: str) -> Json:
        """Return the cap; all of it is left."""
        population = _found(self._datasets, dataset_id, "dataset")["population_id"]
        cap = self._caps.get(population)
        return {
            "population_id": population, "rule": "filters", "cap": cap, "frozen_at": None, "spent": NOTHING,
            "reserved": NOTHING, "carried_by": "basic", "filters": [],
            "remaining_epsilon": None if cap is None else cap["epsilon"], "dummy": True,
        }  # fmt: skip

    def ledger(self, dataset_id: str) -> Json:
        """Return the ledger: it has no entries."""
        totals = dict.fromkeys(("reserved", "spent", "voided", "settled"), NOTHING)
        more = {"schema": "understudy.statement/2", "entries": [], "totals": totals, "grants": []}
        return {**self.budget(dataset_id), **more, "head": {"sequence": 0, "hash": "0" * 64}}

    def grants(self, dataset_id: str) -> Json:
        """List the grants that were approved."""
        population = _found(self._datasets, dataset_id, "dataset")["population_id"]
        granted = [each["grant"] for each in self._requests.values() if each["grant"] is not None]
        return {"items": [grant for grant in granted if grant["population_id"] == population]}

    def file_request(self, dataset_id: str, body: Json) -> Json:
        """File a budget request."""
        population = _found(self._datasets, dataset_id, "dataset")["population_id"]
        cap: Json = self._caps.get(population) or {"epsilon": body["epsilon"], "delta": 0.0}
        share = cap["delta"] * min(1.0, body["epsilon"] / cap["epsilon"])
        made = {
            "id": str(uuid.uuid4()), "dataset_id": dataset_id, "requested_by": ME, "state": "open", "note": None,
            "population_id": population, "grant": None,
            "epsilon": body["epsilon"], "delta": body.get("delta", share), "purpose": body["purpose"], "decided_by": None,
            "created_at": LONG_AGO, "decided_at": None, "expires_at": FAR_AWAY, "dummy": True,
        }  # fmt: skip
        self._requests[made["id"]] = made
        return made

    def requests(self) -> Json:
        """List budget requests, newest first."""
        return {"items": [*reversed(self._requests.values())], "next_before": None}

    def request(self, request_id: str) -> Json:
        """Return a budget request."""
        return _found(self._requests, request_id, "request")

    def approve(self, request_id: str) -> Json:
        """Approve a request, even the caller's own."""
        found = _found(self._requests, request_id, "request")
        found["state"] = "approved"
        found["grant"] = {
            "id": str(uuid.uuid4()), "population_id": found["population_id"], "holder_id": ME, "state": "open",
            "epsilon": found["epsilon"], "delta": found["delta"], "expires_at": FAR_AWAY, "created_at": LONG_AGO,
            "closed_at": None,
        }  # fmt: skip
        return found

    def quote(self, body: Json) -> Json:
        """Say that everything fits and costs nothing."""
        dataset = _found(self._datasets, body["dataset_id"], "dataset")
        cap = self._caps.get(dataset["population_id"])
        left = None if cap is None else cap["epsilon"]
        quote: dict[str, Any] = {
            "synthesizer": body.get("synthesizer", "idpgan"), "adjacency": "add-or-remove",
            "guarantee": {"epsilon": body["epsilon"], "delta": body.get("delta") or 0.0},
            "privacy_unit": {"column": dataset["privacy_unit"]}, "declared_size": dataset["declared_size"],
            "steps": 0, "sampling_rate": 0.0, "expected_batch_size": 0, "noise": [],
            "split": {"order": 8, "label_histogram": _nothing_of(), "anchor": _nothing_of(), "critic": {**_nothing_of(), "asks": "none"}},
            "epsilon": ZERO, "groups": [], "charge": {"epsilon_micros": 0, "delta_femtos": 0, "rdp_micros": {}}, "fits": True,
            "carried_by": "basic", "filters": {}, "remaining_epsilon": left, "remaining_epsilon_after": left,
            "plan_digest": "0" * 64, "refusal": None, "cap": None, "grant": None, "dummy": True,
            "expected_error": _NO_ERROR,
        }  # fmt: skip
        selection = body.get("selection")
        if selection is not None:
            listed = [{"epsilon": ZERO, "steps": 0} for _ in selection["candidates"]]
            quote["selection"] = {
                "parts": len(listed) + 1, "part_size": dataset["declared_size"] // (len(listed) + 1),
                "choice_epsilon": selection["choice_epsilon"], "epsilon": ZERO, "candidates": listed,
            }  # fmt: skip
            quote["final"] = {"epsilon": ZERO, "candidates": listed}
        return quote

    def order(self, body: Json) -> Json:
        """Accept an order; the job has succeeded at the third poll."""
        if body.get("report") is not None:
            detail = "There are no real rows here to measure a release against."
            raise DummyRefusal(422, "invalid-report", detail)
        _found(self._datasets, body["dataset_id"], "dataset")
        made = {
            "id": str(uuid.uuid4()), "dataset_id": body["dataset_id"], "ordered_by": ME, "state": "queued",
            "kind": "training", "dataset_ids": [body["dataset_id"]], "federation": None,
            "cancel_requested": False, "progress": _progress(None, 0), "release_id": None, "report_id": None, "failure": None,
            "warning": None, "device": "cpu", "device_wish": "auto", "waiting": None,
            "plan_digest": "0" * 64, "created_at": LONG_AGO, "started_at": None, "finished_at": None, "dummy": True,
        }  # fmt: skip
        self._jobs[made["id"]] = made
        return made

    def jobs(self) -> Json:
        """List jobs, newest first."""
        return {"items": [*reversed(self._jobs.values())], "next_before": None}

    def look_at_job(self, job_id: str) -> Json:
        """Return a job, and advance it by one step."""
        job = _found(self._jobs, job_id, "job")
        shown = dict(job)
        if job["state"] == "running":
            release_id = str(uuid.uuid4())
            base = f"/v1/releases/{release_id}"
            self._releases[release_id] = {
                "id": release_id, "job_id": job_id, "dataset_id": job["dataset_id"], "created_at": LONG_AGO,
                "links": {part: f"{base}/{part}" for part in ("bundle", "certificate", "samples")}, "dummy": True,
            }  # fmt: skip
            job |= {"state": "succeeded", "release_id": release_id, "progress": _progress(None, 100)}
        elif job["state"] == "queued":
            job |= {"state": "running", "progress": _progress("pretrain", 50)}
        return shown

    def cancel(self, job_id: str) -> Json:
        """Cancel a job that has not ended."""
        job = _found(self._jobs, job_id, "job")
        if job["state"] != "succeeded":
            job |= {"state": "cancelled", "cancel_requested": True}
        return job

    def releases(self) -> Json:
        """List releases, newest first."""
        return {"items": [*reversed(self._releases.values())], "next_before": None}

    def release(self, release_id: str) -> Json:
        """Return a release."""
        return _found(self._releases, release_id, "release")

    def certificate(self, release_id: str) -> Json:
        """Return a certificate that says that nothing is certified."""
        release = self.release(release_id)
        return {
            "schema": "understudy.dummy-certificate/1",
            "dummy": True,
            "statement": STATEMENT,
            "release_id": release_id,
            "job_id": release["job_id"],
            "dataset_id": release["dataset_id"],
            "privacy_parameters": {"epsilon": 0.0, "delta": 0.0},
            "epsilon": ZERO,
        }

    def bundle(self, release_id: str) -> bytes:
        """Return a ZIP with a README that says that it holds no generator."""
        domain = self._domain_of(release_id)
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(
                "README.md", f"# A dummy\n\n{STATEMENT}\nThere is no generator in this bundle.\n"
            )
            archive.writestr("domain.json", json.dumps(domain, indent=2, sort_keys=True, ensure_ascii=False))
            archive.writestr(
                "certificate.json", json.dumps(self.certificate(release_id), indent=2, sort_keys=True)
            )
        return target.getvalue()

    def samples(self, release_id: str, query: Mapping[str, str]) -> bytes:
        """Draw fake rows, or images of noise."""
        domain = self._domain_of(release_id)
        rows, where = int(query.get("rows", 1000)), json.loads(query.get("where", "{}"))
        return dummy_file(domain, rows=rows, file_format=query.get("format"), where=where)

    def _domain_of(self, release_id: str) -> dict[str, Any]:
        domain: dict[str, Any] = self._datasets[self.release(release_id)["dataset_id"]]["domain"]
        return domain


def _found(kept: Kept, key: str, what: str) -> dict[str, Any]:
    if key not in kept:
        raise DummyRefusal(404, f"{what}-not-found", f"There is no such {what}.")
    return kept[key]


def _progress(stage: str | None, percent: int) -> Json:
    return {
        "stage": stage, "stages": ["measure", "pretrain", "export"], "step": 0, "total": 0, "percent": percent, "eta_seconds": None, "epsilon_planned": 0.0,
        "epsilon_so_far": None, "delta_planned": 0.0,
    }  # fmt: skip


_NO_ERRORS: Final[Json] = {"one_way": 0.0, "two_way": 0.0, "three_way": 0.0}
_NO_ERROR: Final[Json] = {
    **_NO_ERRORS,
    "if_independent": _NO_ERRORS,
    "released_counts": {"one_way": 0.0, "two_way": 0.0},
    "measured": {
        "columns": 0,
        "tables": 0,
        "screened": False,
        "by_class": False,
        "combinations": False,
        "most_groups": 0,
    },
}


def _nothing_of() -> Json:
    return {"share": 0.0, "noise_multiplier": None}
