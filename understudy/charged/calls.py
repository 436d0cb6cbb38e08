"""Every request about charged reports as a value; see `understudy.calls`."""

import uuid
from collections.abc import Sequence
from typing import Any

from understudy.calls import Call, items
from understudy.charged.results import ChargedReport, ReportEntry, ReportJob
from understudy.jobs.results import Quote


def terms(
    dataset_id: str,
    release_id: str,
    *,
    epsilon: float,
    delta: float | None,
    target: str | None,
    columns: Sequence[str] | None,
    grant_id: str | None,
) -> dict[str, Any]:
    """What a quote and an order take."""
    report = {
        "release_id": release_id,
        "target": target,
        "columns": None if columns is None else list(columns),
    }
    order = {"dataset_id": dataset_id, "epsilon": epsilon, "delta": delta, "grant_id": grant_id}
    return _given(order) | {"report": _given(report)}


def quote_report(body: dict[str, Any]) -> Call[Quote]:
    """Ask what a report would cost and how precise it would be; nothing is spent."""
    return Call(method="POST", path="/v1/quotes", read=Quote.from_json, body=body)


def order_report(body: dict[str, Any], *, idempotency_key: str | None) -> Call[ReportJob]:
    """Order a report. The idempotency key makes a repetition the same order, so that it spends once."""
    return Call(
        method="POST",
        path="/v1/jobs",
        read=ReportJob.from_json,
        body=body,
        headers={"Idempotency-Key": idempotency_key or uuid.uuid4().hex},
    )


def list_reports(release_id: str) -> Call[tuple[ReportEntry, ...]]:
    """Ask for the newest reports about a release."""
    path = f"/v1/releases/{release_id}/charged-reports"
    return Call(method="GET", path=path, read=items(ReportEntry.from_json))


def read_report(report_id: str) -> Call[ChargedReport]:
    """Ask for a report."""
    return Call(method="GET", path=f"/v1/charged-reports/{report_id}", read=ChargedReport.from_json)


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
