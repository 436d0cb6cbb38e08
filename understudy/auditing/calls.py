"""The requests about the audit log, signed heads and verifications, as values."""

from collections.abc import Mapping

from understudy.calls import Call
from understudy.documents import Json, take

EXPORT_FORMATS = ("jsonl", "csv")
DOSSIER_FORMATS = ("html", "json")


def list_events(
    filters: Mapping[str, str], *, before: int | None
) -> Call[tuple[tuple[Json, ...], int | None]]:
    """Ask for a page of the audit log, newest first, and where the next page begins.

    Args:
        filters: actor, action, object, outcome, from, to.
        before: the sequence to continue before.
    """
    return _events("/v1/audit", filters, before)


def list_dataset_events(dataset_id: str, *, before: int | None) -> Call[tuple[tuple[Json, ...], int | None]]:
    """Ask for a page of a dataset's audit trail, newest first, and where the next page begins."""
    return _events(f"/v1/datasets/{dataset_id}/audit", {}, before)


def _events(
    path: str, filters: Mapping[str, str], before: int | None
) -> Call[tuple[tuple[Json, ...], int | None]]:
    def read(document: object) -> tuple[tuple[Json, ...], int | None]:
        found, next_before = take(document, "items", "next_before")
        return tuple(found), next_before

    query: dict[str, str | int] = {"limit": 200, **filters}
    if before is not None:
        query["before"] = before
    return Call(method="GET", path=path, read=read, query=query)


def export_log(filters: Mapping[str, str], *, file_format: str) -> Call[None]:
    """Ask for the audit log as a file."""
    query = {"format": file_format, **filters}
    return Call(method="GET", path="/v1/audit/export", read=lambda _document: None, query=query)


def verify_log() -> Call[Json]:
    """Ask for a verification of the whole audit log."""
    return Call(method="GET", path="/v1/audit/verification", read=_whole)


def read_ledger_head(dataset_id: str) -> Call[Json]:
    """Ask for the signed head of a dataset's ledger."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/ledger/head", read=_whole)


def verify_ledger(dataset_id: str, *, witness: Json | None) -> Call[Json]:
    """Ask for a verification of a dataset's ledger, held against a head noted earlier if there is one."""
    query: dict[str, str | int] = {}
    if witness is not None:
        query = {"sequence": witness["sequence"], "hash": witness["hash"]}
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/ledger/verification", read=_whole, query=query)


def list_signing_keys() -> Call[tuple[Json, ...]]:
    """Ask for the service's public keys."""
    return Call(
        method="GET", path="/v1/signing-keys", read=lambda document: tuple(take(document, "items")[0])
    )


def export_dossier(dataset_id: str, *, file_format: str) -> Call[None]:
    """Ask for the dossier of a dataset as a file."""
    return Call(
        method="GET",
        path=f"/v1/datasets/{dataset_id}/dossier",
        read=lambda _document: None,
        query={"format": file_format},
    )


def delete_dataset(dataset_id: str) -> Call[Json]:
    """Have the key of a dataset's rows destroyed."""
    return Call(method="DELETE", path=f"/v1/datasets/{dataset_id}", read=_whole)


def read_failure_note(job_id: str) -> Call[Json]:
    """Ask for the account of a failed training."""
    return Call(method="GET", path=f"/v1/jobs/{job_id}/failure-note", read=_whole)


def _whole(document: object) -> Json:
    take(document)
    assert isinstance(document, dict)
    return document
