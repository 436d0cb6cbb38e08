"""Every request of the client as a value, without any input or output: the two clients send the same ones."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from understudy.errors import InputUnusable
from understudy.results import (
    Budget,
    Dataset,
    IntakeReport,
    Job,
    Json,
    NewKey,
    Quote,
    Release,
    Statement,
    Upload,
    take,
)
from understudy.sample_formats import FORMATS

Result = TypeVar("Result")
Read = Callable[[Any], Result]

REPEATABLE = frozenset({"GET", "PUT", "DELETE"})
CONTENT_TYPES: Mapping[str, str] = {
    ".csv": "text/csv",
    ".gz": "application/gzip",
    ".parquet": "application/vnd.apache.parquet",
    ".zip": "application/zip",
    ".npz": "application/x-npz",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Generic[Result]):
    """One request.

    Attributes:
        method: HTTP method.
        path: path below the address of the service.
        read: turns the parsed answer into a result.
        query: query parameters.
        body: JSON body, or None.
        headers: headers beside the client's own.
        content: raw body, or None.
    """

    method: str
    path: str
    read: Read[Result]
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Json | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = field(default=None, repr=False)

    @property
    def repeatable(self) -> bool:
        """Whether sending it twice does what sending it once does."""
        return self.method in REPEATABLE or "Idempotency-Key" in self.headers


def items(read: Read[Result]) -> Read[tuple[Result, ...]]:
    """Read a list of which each item is read alike."""

    def read_items(document: object) -> tuple[Result, ...]:
        return tuple(read(item) for item in take(document, "items")[0])

    return read_items


def _order(
    dataset_id: str,
    epsilon: float,
    delta: float | None,
    synthesizer: str,
    options: Json | None,
    selection: Json | None,
    grant_id: str | None,
) -> dict[str, Any]:
    order = {
        "dataset_id": dataset_id,
        "epsilon": epsilon,
        "delta": delta,
        "synthesizer": synthesizer,
        "selection": selection,
        "grant_id": grant_id,
    }
    return {name: value for name, value in order.items() if value is not None} | {"options": options or {}}


def declare_dataset(
    *,
    name: str,
    domain: Json,
    declared_size: int,
    rule: str | None = None,
    parent_dataset_id: str | None = None,
) -> Call[Dataset]:
    """Declare a private table; nothing private is sent."""
    optional = {"rule": rule, "parent_dataset_id": parent_dataset_id}
    body = {"name": name, "domain": domain, "declared_size": declared_size}
    return Call(
        method="POST",
        path="/v1/datasets",
        read=Dataset.from_json,
        body=body | {key: value for key, value in optional.items() if value is not None},
    )


def list_datasets(*, before: str | None = None) -> Call[tuple[tuple[Dataset, ...], str | None]]:
    """Ask for a page of datasets and where the next page begins."""

    def read(document: object) -> tuple[tuple[Dataset, ...], str | None]:
        items, next_before = take(document, "items", "next_before")
        return tuple(Dataset.from_json(item) for item in items), next_before

    query: dict[str, str | int] = {"limit": 200} | ({"before": before} if before else {})
    return Call(method="GET", path="/v1/datasets", read=read, query=query)


def read_dataset(dataset_id: str) -> Call[Dataset]:
    """Ask for a dataset's public facts."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}", read=Dataset.from_json)


def content_type_of(rows: Path) -> str:
    """Give the content type of a file.

    Raises:
        InputUnusable: if there is no such file, or its name does not say its format.
    """
    if not rows.is_file():
        message = f"there is no file {rows}"
        raise InputUnusable(message)
    kind = CONTENT_TYPES.get(rows.suffix.lower())
    if kind is None:
        message = f"{rows.name}: the name must end in {', '.join(CONTENT_TYPES)} so that the format is known"
        raise InputUnusable(message)
    return kind


def upload_rows(dataset_id: str, rows: Path) -> Call[IntakeReport]:
    """Send the rows; the file itself is streamed by the client.

    Raises:
        InputUnusable: if there is no such file, or its name does not say its format.
    """
    kind = content_type_of(rows)
    return Call(
        method="POST",
        path=f"/v1/datasets/{dataset_id}/rows",
        read=IntakeReport.from_json,
        headers={"Content-Type": kind, "Content-Length": str(rows.stat().st_size)},
    )


def start_upload(dataset_id: str, rows: Path, *, size: int) -> Call[Upload]:
    """Announce a file that will come in parts.

    Raises:
        InputUnusable: if there is no such file, or its name does not say its format.
    """
    return Call(
        method="POST",
        path=f"/v1/datasets/{dataset_id}/uploads",
        read=Upload.from_json,
        body={"bytes": size, "content_type": content_type_of(rows)},
    )


def read_upload(upload_id: str) -> Call[Upload]:
    """Ask which parts of a file the service has."""
    return Call(method="GET", path=f"/v1/uploads/{upload_id}", read=Upload.from_json)


def put_part(upload_id: str, number: int, content: bytes, *, digest: str) -> Call[Json]:
    """Send one part of a file; sending it again changes nothing."""
    return Call(
        method="PUT",
        path=f"/v1/uploads/{upload_id}/parts/{number}",
        read=_object,
        headers={"Content-Type": "application/octet-stream", "Content-Digest": digest},
        content=content,
    )


def complete_upload(upload_id: str, *, sha256: str) -> Call[Json | None]:
    """Have the rows taken in; gives the intake report, or None while that goes on. Repeating it does the work once."""
    return Call(
        method="POST",
        path=f"/v1/uploads/{upload_id}/complete",
        read=_report_if_there,
        body={"sha256": sha256},
        headers={"Idempotency-Key": f"complete-{upload_id}"},
    )


def abort_upload(upload_id: str) -> Call[None]:
    """Have the parts of a file removed."""
    return Call(method="DELETE", path=f"/v1/uploads/{upload_id}", read=_nothing)


def read_intake_report(dataset_id: str) -> Call[IntakeReport]:
    """Ask, as the owner, what happened to the rows."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/intake-report", read=IntakeReport.from_json)


def set_budget(dataset_id: str, *, epsilon: float, delta: float, reason: str | None = None) -> Call[Budget]:
    """Set the cap of the dataset's population; to raise one, say why."""
    return Call(
        method="PUT",
        path=f"/v1/datasets/{dataset_id}/budget",
        read=Budget.from_json,
        body={"epsilon": epsilon, "delta": delta} | ({} if reason is None else {"reason": reason}),
    )


def read_budget(dataset_id: str) -> Call[Budget]:
    """Ask for the cap of the dataset's population."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/budget", read=Budget.from_json)


def ask_quote(
    dataset_id: str,
    *,
    epsilon: float,
    delta: float | None = None,
    synthesizer: str = "idpgan",
    options: Json | None = None,
    selection: Json | None = None,
    grant_id: str | None = None,
) -> Call[Quote]:
    """Ask what a job would do and cost; nothing is spent, so it may be repeated.

    A selection names `candidates`, the `epsilon` of each on its part and the `choice_epsilon`; options are then theirs.
    """
    return Call(
        method="POST",
        path="/v1/quotes",
        read=Quote.from_json,
        body=_order(dataset_id, epsilon, delta, synthesizer, options, selection, grant_id),
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
    idempotency_key: str | None = None,
) -> Call[Job]:
    """Order a publication. The idempotency key makes a repetition the same order, so that it spends once."""
    return Call(
        method="POST",
        path="/v1/jobs",
        read=Job.from_json,
        body=_order(dataset_id, epsilon, delta, synthesizer, options, selection, grant_id),
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


def list_releases() -> Call[tuple[Release, ...]]:
    """Ask for the newest releases."""
    return Call(method="GET", path="/v1/releases", read=items(Release.from_json))


def read_release(release_id: str) -> Call[Release]:
    """Ask for a release."""
    return Call(method="GET", path=f"/v1/releases/{release_id}", read=Release.from_json)


def read_certificate(release_id: str) -> Call[Json]:
    """Ask for a release's certificate."""
    return Call(method="GET", path=f"/v1/releases/{release_id}/certificate", read=_object)


def download_bundle(release_id: str) -> Call[None]:
    """Ask for the generator bundle; the answer is streamed."""
    return Call(method="GET", path=f"/v1/releases/{release_id}/bundle", read=_nothing)


def draw_samples(
    release_id: str, *, rows: int, file_format: str | None, where: Json | None = None
) -> Call[None]:
    """Ask for synthetic rows or images; the answer is streamed. Without a format the usual one of their kind comes.

    `where` fixes columns to values.

    Raises:
        InputUnusable: if the format is none of ``FORMATS``.
    """
    if file_format is not None and file_format not in FORMATS:
        message = f"unknown format {file_format!r}; it is one of {', '.join(FORMATS)}"
        raise InputUnusable(message)
    query: dict[str, str | int] = {"rows": rows}
    if file_format is not None:
        query["format"] = file_format
    if where:
        query["where"] = json.dumps(dict(where), ensure_ascii=False)
    return Call(method="GET", path=f"/v1/releases/{release_id}/samples", read=_nothing, query=query)


def read_ledger(dataset_id: str) -> Call[Statement]:
    """Ask for the ledger statement of the dataset's population."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/ledger", read=Statement.from_json)


def create_key(*, name: str, roles: Sequence[str]) -> Call[NewKey]:
    """Make an API key; the answer is the only time it is shown."""
    return Call(
        method="POST", path="/v1/keys", read=NewKey.from_json, body={"name": name, "roles": list(roles)}
    )


def check_health() -> Call[Json]:
    """Ask whether the service lives."""
    return Call(method="GET", path="/v1/health", read=_object)


def read_health_report() -> Call[Json]:
    """Ask for the doctor's report."""
    return Call(method="GET", path="/v1/health/report", read=_object)


def _object(document: Any) -> Json:  # noqa: ANN401 - any JSON
    take(document)
    return dict(document)


def _report_if_there(document: object) -> Json | None:
    (report,) = take(document, "intake_report")
    return None if report is None else dict(report)


def _nothing(_document: object) -> None:
    return None
