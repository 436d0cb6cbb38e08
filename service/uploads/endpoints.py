"""Multipart uploads: for files so large that interruptions are likely and sending everything again is not practical."""

import base64
import re
from datetime import timedelta
from typing import Annotated, Any, Final
from uuid import UUID, uuid4

from fastapi import APIRouter, Header, Path, Request, Response

from core.data import waiting_rows
from core.data.errors import (
    ContentDisagrees,
    DigestDiffers,
    PartSizeDiffers,
    UnsupportedUpload,
    UploadTooLarge,
)
from core.data.intake.sniffing import kind_of, require_fitting
from core.data.sealing import new_data_key
from core.data.uploads import repository
from core.data.uploads.ending import end, erase_parts
from core.data.uploads.errors import (
    ChecksumDiffers,
    DigestMissing,
    PartDiffers,
    PartOutOfRange,
    UploadIncomplete,
    UploadNotFound,
    UploadNotOpen,
)
from core.db.tables.upload import Upload
from core.plan.domain.declared import domain_from_json
from core.platform.access.errors import RateExceeded, RecoveryHold
from core.platform.quotas import checks
from core.platform.quotas.errors import QuotaExceeded
from service.audit import record
from service.datasets import repository as datasets
from service.datasets.errors import DatasetNotFound, RowsAlreadyStored
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.edge.body_stream import BodyStream, UploadInterrupted
from service.edge.concurrency import ServiceBusy, ShareUsedUp
from service.problem import problems
from service.strict_route import StrictRoute
from service.uploads.completing import Completion
from service.uploads.failures import INTAKE_ERRORS
from service.uploads.receiving import PartReceiver, wrapping_context
from service.uploads.schemas import CompletionOrder, CompletionView, PartView, UploadOrder, UploadView

_DIGEST_BYTES: Final = 32
_DIGEST_MEMBER: Final = re.compile(r"\s*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/]*={0,2}):\s*")

router = APIRouter(tags=["uploads"], route_class=StrictRoute)

PATIENCE_SECONDS = 2.0
MAX_PARTS = 100_000

_PART_BODY = {
    "requestBody": {
        "required": True,
        "description": "The raw bytes of this part.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"model": CompletionView, "description": "The rows are being ingested; repeat the request."}
}
_COMPLETION_ANSWERS = _ACCEPTED | problems(
    RecoveryHold,
    UploadNotFound,
    DatasetNotFound,
    UploadNotOpen,
    UploadIncomplete,
    ChecksumDiffers,
    RowsAlreadyStored,
    QuotaExceeded,
    ServiceBusy,
    ShareUsedUp,
    RateExceeded,
    *INTAKE_ERRORS,
)
PartNumber = Annotated[int, Path(ge=1, le=MAX_PARTS, description="Number of the part, from 1.")]
ContentDigest = Annotated[
    str | None,
    Header(max_length=1000, description="`sha-256=:<base64>:`, the digest of this part (RFC 9530)."),
]


@router.post(
    "/datasets/{dataset_id}/uploads",
    status_code=201,
    summary="Start a multipart upload",
    responses=problems(DatasetNotFound, RowsAlreadyStored, QuotaExceeded, UploadTooLarge, UnsupportedUpload),
)
def create_upload(
    dataset_id: UUID,
    order: UploadOrder,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> UploadView:
    """Announce a file. Its parts can then be sent in any order, concurrently, and again after an interruption."""
    settings = context.settings
    kind_of(order.content_type)
    if order.bytes > settings.max_upload_bytes:
        raise UploadTooLarge(
            "The upload is larger than the service accepts.",
            remedy="Compress it (gzip, Parquet), split it, or ask the operator to raise the limit.",
            max_bytes=settings.max_upload_bytes,
        )
    dataset = datasets.owned(session, dataset_id, principal)
    if dataset.state != "declared":
        raise RowsAlreadyStored
    require_fitting(order.content_type, domain_from_json(dataset.domain))
    checks.require_upload(session, principal.id, limit=settings.quota_open_uploads)
    checks.require_bytes(session, principal.id, limit=settings.quota_stored_bytes, requested=order.bytes)
    upload_id, now = uuid4(), context.clock.now()
    row = Upload(
        id=upload_id,
        dataset_id=dataset.id,
        principal_id=principal.id,
        declared_bytes=order.bytes,
        part_bytes=max(settings.upload_part_bytes, -(-order.bytes // MAX_PARTS)),
        sha256=None if order.sha256 is None else bytes.fromhex(order.sha256),
        content_type=order.content_type,
        state="open",
        wrapped_data_key=settings.master_keys.wrap(new_data_key(), context=wrapping_context(upload_id)),
        created_at=now,
        expires_at=now + timedelta(hours=settings.upload_hours),
    )
    repository.add(session, row)
    record(session, principal, action="upload.open", object_id=upload_id, clock=context.clock)
    return UploadView.of(row, [])


@router.get(
    "/uploads/{upload_id}",
    summary="List the parts of an upload",
    responses=problems(UploadNotFound, RecoveryHold),
)
def read_upload(upload_id: UUID, principal: CurrentPrincipal, context: InjectedContext) -> UploadView:
    """The upload and its parts with their digests. Parts that are not listed still have to be sent."""
    with context.database.read_only() as session:
        row = repository.owned(session, upload_id, principal.id)
        return UploadView.of(row, [PartView.of(part) for part in repository.parts_of(session, upload_id)])


@router.put(
    "/uploads/{upload_id}/parts/{number}",
    summary="Send a part",
    openapi_extra=_PART_BODY,
    responses=problems(
        UploadNotFound,
        UploadNotOpen,
        PartDiffers,
        PartOutOfRange,
        DigestMissing,
        DigestDiffers,
        PartSizeDiffers,
        ContentDisagrees,
        UploadInterrupted,
        UploadTooLarge,
        ServiceBusy,
        ShareUsedUp,
        RateExceeded,
    ),
)
def put_part(
    upload_id: UUID,
    number: PartNumber,
    request: Request,
    principal: CurrentPrincipal,
    context: InjectedContext,
    content_digest: ContentDigest = None,
) -> PartView:
    """Send one part as the raw body. It is sealed on arrival and kept only if its digest matches the announced one.

    Sending an existing part again changes nothing.
    """
    sha256 = read_sha256(content_digest)
    receiver = PartReceiver(context, principal, upload_id, number, sha256=sha256)
    with context.limits.uploads.hold(principal.id):
        return receiver.receive(BodyStream(request, max_bytes=receiver.size_bytes))


@router.post(
    "/uploads/{upload_id}/complete",
    summary="Complete an upload",
    responses=_COMPLETION_ANSWERS,
)
def complete_upload(
    upload_id: UUID,
    order: CompletionOrder,
    principal: CurrentPrincipal,
    context: InjectedContext,
    response: Response,
) -> CompletionView:
    """Check the whole file and ingest its rows, as `POST /v1/datasets/{id}/rows` would.

    Answers 202 while this is in progress: repeat the request until it answers 200 with the intake report, or an error.
    The work is done only once, with the `max_refused` of the request that started it.
    """
    upload = Completion(
        context, principal, upload_id, sha256=bytes.fromhex(order.sha256), max_refused=order.max_refused
    ).pursue(patience_seconds=PATIENCE_SECONDS)
    report = None
    if upload.state == "completed":
        with context.database.read_only() as session:
            report = waiting_rows.report_of(session, datasets.owned(session, upload.dataset_id, principal).id)
        if report is None:  # its rows have been discarded or deleted since
            raise UploadNotOpen(upload.state)
    else:
        response.status_code = 202
        response.headers["Retry-After"] = "1"
    return CompletionView(upload_id=upload.id, state=upload.state, intake_report=report)


@router.delete(
    "/uploads/{upload_id}",
    status_code=204,
    summary="Abort an upload",
    responses=problems(UploadNotFound, UploadNotOpen),
)
def abort_upload(upload_id: UUID, principal: CurrentPrincipal, context: InjectedContext) -> None:
    """Destroy the key of the parts and remove them. Aborting an upload that ended without rows changes nothing."""
    with context.database.transaction() as session:
        row = repository.owned(session, upload_id, principal.id, lock=True)
        if row.state == "completed":
            raise UploadNotOpen(row.state)
        if row.state in repository.LIVE:
            end(session, row, "aborted", clock=context.clock)
            record(session, principal, action="upload.abort", object_id=upload_id, clock=context.clock)
    erase_parts(context.store, upload_id)


def read_sha256(header: str | None) -> bytes:
    """The SHA-256 in a ``Content-Digest`` header (RFC 9530), such as ``sha-256=:...:, sha-512=:...:``.

    Raises:
        DigestMissing: No SHA-256, or a malformed header.
    """
    found: bytes | None = None
    for text in (header or "").split(","):
        member = _DIGEST_MEMBER.fullmatch(text)
        if member is None:
            raise DigestMissing
        if member[1] == "sha-256":
            try:
                found = base64.b64decode(member[2], validate=True)
            except ValueError:
                raise DigestMissing from None
    if found is None or len(found) != _DIGEST_BYTES:
        raise DigestMissing
    return found
