"""Upload without JavaScript, and the owner's decision on waiting rows.

Without JavaScript the browser sends the file in a form, as one request that cannot be resumed.
"""

from typing import Final
from uuid import UUID

from fastapi import APIRouter, Response

from core.platform.access.errors import CsrfRefused
from service.auth.cookie import presented_cookie
from service.dashboard.errors import FormInvalid
from service.dashboard.multipart import MOST_HEADERS, FileForm, boundary_of
from service.dashboard.rendering import sent_on
from service.dashboard.visit import TOKEN_FIELD, CurrentVisit, StreamingVisit
from service.datasets.endpoints import accept_rows, discard_rows, upload_rows
from service.datasets.upload import RowsUpload
from service.edge.body_stream import BodyStream

KINDS: Final = {
    "csv": "text/csv",
    "gz": "application/gzip",
    "parquet": "application/vnd.apache.parquet",
    "zip": "application/zip",
    "npz": "application/x-npz",
}
"""Media types by file extension, as the API names them; upload.js has the same list."""

router = APIRouter(include_in_schema=False)


@router.post("/datasets/{dataset_id}/rows")
def send(dataset_id: UUID, visit: StreamingVisit) -> Response:
    """Upload rows, as `POST /v1/datasets/{id}/rows` does.

    Raises:
        CsrfRefused: No valid CSRF token before the file; the file was not read.
        FormInvalid: Unknown file extension.
        UnderstudyError: As the API operation.
    """
    visit.require(upload_rows)
    context, request = visit.context, visit.request
    boundary = boundary_of(request.headers.get("content-type", ""))
    if boundary is None:
        raise CsrfRefused
    upload = RowsUpload(context, visit.principal, dataset_id)
    with context.limits.uploads.hold(visit.principal.id):
        body = BodyStream(request, max_bytes=context.settings.max_upload_bytes + MOST_HEADERS)
        form = FileForm(iter(body), boundary)
        token = form.fields().get(TOKEN_FIELD, "")
        if not context.access.sessions.proves(
            token, cookie=presented_cookie(request, context.settings) or ""
        ):
            raise CsrfRefused
        kind = KINDS.get(form.file_name.rpartition(".")[2].lower())
        if kind is None:
            raise FormInvalid(
                "Unknown file extension. Supported: CSV, CSV.GZ, Parquet, ZIP and NPZ.",
                remedy="Go back and choose another file.",
            )
        domain, units = upload.require_open()
        upload.receive(form, domain=domain, units=units, content_type=kind)
    return sent_on(f"/datasets/{dataset_id}/facts?done=uploaded")


@router.post("/datasets/{dataset_id}/rows/accept")
def accept(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Accept the waiting rows into the dataset."""
    visit.ask(accept_rows, dataset_id=dataset_id)
    return sent_on(f"/datasets/{dataset_id}/facts?done=rows-accepted")


@router.post("/datasets/{dataset_id}/rows/discard")
def discard(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Destroy the waiting rows."""
    visit.ask(discard_rows, dataset_id=dataset_id)
    return sent_on(f"/datasets/{dataset_id}/facts?done=rows-discarded")
