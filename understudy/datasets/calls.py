"""Every request about datasets and their rows as a value; see `understudy.calls`."""

from collections.abc import Mapping
from pathlib import Path

from understudy.calls import Call, read_nothing, read_object
from understudy.datasets.results import Dataset, IntakeReport, Upload
from understudy.documents import Json, take
from understudy.errors import InputUnusable

CONTENT_TYPES: Mapping[str, str] = {
    ".csv": "text/csv",
    ".gz": "application/gzip",
    ".parquet": "application/vnd.apache.parquet",
    ".zip": "application/zip",
    ".npz": "application/x-npz",
}


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


def upload_rows(dataset_id: str, rows: Path, *, max_refused: float | None = None) -> Call[IntakeReport]:
    """Send the rows; the file itself is streamed by the client. Above the share `max_refused` they wait for the owner's decision.

    Raises:
        InputUnusable: if there is no such file, or its name does not say its format.
    """
    kind = content_type_of(rows)
    return Call(
        method="POST",
        path=f"/v1/datasets/{dataset_id}/rows",
        read=IntakeReport.from_json,
        query={} if max_refused is None else {"max_refused": repr(float(max_refused))},
        headers={"Content-Type": kind, "Content-Length": str(rows.stat().st_size)},
    )


def accept_rows(dataset_id: str) -> Call[IntakeReport]:
    """Make the waiting rows those of the dataset, for good; doing it again changes nothing."""
    return Call(
        method="POST",
        path=f"/v1/datasets/{dataset_id}/rows/accept",
        read=IntakeReport.from_json,
        headers={"Idempotency-Key": f"accept-{dataset_id}"},
    )


def discard_rows(dataset_id: str) -> Call[None]:
    """Have the waiting rows destroyed; the dataset takes rows as before. Doing it again changes nothing."""
    return Call(
        method="POST",
        path=f"/v1/datasets/{dataset_id}/rows/discard",
        read=read_nothing,
        headers={"Idempotency-Key": f"discard-{dataset_id}"},
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
        read=read_object,
        headers={"Content-Type": "application/octet-stream", "Content-Digest": digest},
        content=content,
    )


def complete_upload(upload_id: str, *, sha256: str, max_refused: float | None = None) -> Call[Json | None]:
    """Have the rows taken in; gives the intake report, or None while that goes on. Repeating it does the work once."""
    return Call(
        method="POST",
        path=f"/v1/uploads/{upload_id}/complete",
        read=_report_if_there,
        body={"sha256": sha256} | ({} if max_refused is None else {"max_refused": max_refused}),
        headers={"Idempotency-Key": f"complete-{upload_id}"},
    )


def abort_upload(upload_id: str) -> Call[None]:
    """Have the parts of a file removed."""
    return Call(method="DELETE", path=f"/v1/uploads/{upload_id}", read=read_nothing)


def read_intake_report(dataset_id: str) -> Call[IntakeReport]:
    """Ask, as the owner, what happened to the rows."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/intake-report", read=IntakeReport.from_json)


def _report_if_there(document: object) -> Json | None:
    (report,) = take(document, "intake_report")
    return None if report is None else dict(report)
