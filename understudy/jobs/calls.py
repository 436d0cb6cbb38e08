"""Every request about quotes and jobs as a value; see `understudy.calls`."""

import uuid
from typing import Any

from understudy.calls import Call, items
from understudy.documents import Json
from understudy.jobs.results import Job, Quote


def ask_quote(
    dataset_id: str,
    *,
    epsilon: float,
    delta: float | None = None,
    synthesizer: str = "idpgan",
    options: Json | None = None,
    selection: Json | None = None,
    grant_id: str | None = None,
    reuse: bool = True,
) -> Call[Quote]:
    """Ask what a job would do and cost; nothing is spent, so it may be repeated.

    Without `reuse` the job takes no counts of earlier releases over.
    A selection names `candidates`, the `epsilon` of each on its part and the `choice_epsilon`; options are then theirs.
    """
    return Call(
        method="POST",
        path="/v1/quotes",
        read=Quote.from_json,
        body=_order(dataset_id, epsilon, delta, synthesizer, options, selection, grant_id, reuse=reuse),
    )


def order_job(
    dataset_id: str,
    *,
    epsilon: float,
    delta: float | None = None,
    synthesizer: str = "idpgan",
    options: Json | None = None,
    selection: Json | None = None,
    grant_id: str | None = None,
    reuse: bool = True,
    idempotency_key: str | None = None,
) -> Call[Job]:
    """Order a publication. The idempotency key makes a repetition the same order, so that it spends once."""
    return Call(
        method="POST",
        path="/v1/jobs",
        read=Job.from_json,
        body=_order(dataset_id, epsilon, delta, synthesizer, options, selection, grant_id, reuse=reuse),
        headers={"Idempotency-Key": idempotency_key or uuid.uuid4().hex},
    )


def list_jobs() -> Call[tuple[Job, ...]]:
    """Ask for the newest jobs."""
    return Call(method="GET", path="/v1/jobs", read=items(Job.from_json))


def read_job(job_id: str) -> Call[Job]:
    """Ask how far a job is."""
    return Call(method="GET", path=f"/v1/jobs/{job_id}", read=Job.from_json)


def cancel_job(job_id: str) -> Call[Job]:
    """Cancel a job; cancelling it again changes nothing, so it may be repeated."""
    return Call(
        method="POST",
        path=f"/v1/jobs/{job_id}/cancel",
        read=Job.from_json,
        headers={"Idempotency-Key": f"cancel-{job_id}"},
    )


def _order(
    dataset_id: str,
    epsilon: float,
    delta: float | None,
    synthesizer: str,
    options: Json | None,
    selection: Json | None,
    grant_id: str | None,
    *,
    reuse: bool,
) -> dict[str, Any]:
    order = {
        "dataset_id": dataset_id,
        "epsilon": epsilon,
        "delta": delta,
        "synthesizer": synthesizer,
        "selection": selection,
        "grant_id": grant_id,
    }
    chosen = {name: value for name, value in order.items() if value is not None}
    return chosen | {"options": options or {}} | ({} if reuse else {"reuse": False})
