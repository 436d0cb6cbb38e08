"""Datasets: declared and uploaded by their owner; their public facts are visible to analysts and admins."""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from sqlalchemy.orm import Session

from core.clock import Clock
from core.data import errors as upload_errors
from core.data import waiting_rows
from core.data.intake.intake_report import MAX_REFUSED
from core.db.session import on_commit
from core.db.tables.dataset import Dataset
from core.ledger import governance
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.domain.errors import DomainInvalid, DomainMismatch, DomainUnconfirmed
from core.platform.access.errors import RateExceeded, RecoveryHold
from core.platform.access.roles import Principal
from core.platform.quotas import checks
from core.platform.quotas.errors import QuotaExceeded
from service.audit import record
from service.datasets import repository
from service.datasets.errors import (
    DatasetNotFound,
    IntakeReportMissing,
    NoRowsWaiting,
    RowsAlreadyStored,
    UnitDiffers,
)
from service.datasets.schemas import DatasetList, DatasetOrder, DatasetView, DeclaredDataset, MaxRefused
from service.datasets.upload import RowsUpload
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.edge.body_stream import BodyStream, UploadInterrupted
from service.edge.concurrency import ServiceBusy, ShareUsedUp
from service.problem import problems
from service.strict_route import StrictRoute
from service.wire import DEFAULT_PAGE, Before, PageSize

router = APIRouter(prefix="/datasets", tags=["datasets"], route_class=StrictRoute)

_UPLOAD_ERRORS = (
    upload_errors.EmptyUpload,
    upload_errors.WrongHeader,
    upload_errors.NotUtf8,
    upload_errors.WrongEncoding,
    upload_errors.NulByte,
    upload_errors.StrayQuote,
    upload_errors.BareCarriageReturn,
    upload_errors.RecordTooLong,
    upload_errors.DamagedUpload,
    upload_errors.NoAcceptableRows,
    upload_errors.TooManyUnits,
    DomainMismatch,
    upload_errors.WrongArchive,
    upload_errors.TooManyImages,
    upload_errors.DecoderUnavailable,
    upload_errors.UploadTooLarge,
    upload_errors.DecompressionBomb,
    upload_errors.UnsupportedUpload,
    upload_errors.ContentDisagrees,
)
_ROWS_BODY = {
    "requestBody": {
        "required": True,
        "description": "The rows or images that the domain declares, as a stream.",
        "content": {
            "text/csv": {"schema": {"type": "string", "format": "binary"}},
            "application/gzip": {"schema": {"type": "string", "format": "binary"}},
            "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
            "application/zip": {"schema": {"type": "string", "format": "binary"}},
            "application/x-npz": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@router.post(
    "",
    status_code=201,
    summary="Declare a dataset",
    responses=problems(DomainInvalid, DomainUnconfirmed, DatasetNotFound, UnitDiffers, QuotaExceeded),
)
def create_dataset(
    order: DatasetOrder, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> DeclaredDataset:
    """Declare the domain of a table or a set of images, and its size. All of this is public; no rows are involved yet."""
    row = declare(session, order, principal, quota=context.settings.quota_datasets, clock=context.clock)
    record(session, principal, action="dataset.declare", object_id=row.id, clock=context.clock)
    return DeclaredDataset.just_now(row, rule=repository.rules_of(session, [row])[row.population_id])


@router.get("", summary="List datasets")
def list_datasets(
    principal: CurrentPrincipal, session: OpenSession, limit: PageSize = DEFAULT_PAGE, before: Before = None
) -> DatasetList:
    """The datasets that the key may see, newest first."""
    rows, next_before = repository.page(session, principal, limit=limit, before=before)
    rules = repository.rules_of(session, rows)
    items = [DatasetView.of(row, rule=rules[row.population_id]) for row in rows]
    return DatasetList(items=items, next_before=next_before)


@router.get("/{dataset_id}", summary="Read a dataset's public facts", responses=problems(DatasetNotFound))
def read_dataset(dataset_id: UUID, principal: CurrentPrincipal, session: OpenSession) -> DatasetView:
    """The declared domain and size, and whether the rows are stored."""
    return _view(session, repository.visible(session, dataset_id, principal))


@router.post(
    "/{dataset_id}/rows",
    status_code=201,
    summary="Upload rows",
    openapi_extra=_ROWS_BODY,
    responses=problems(
        DatasetNotFound,
        RowsAlreadyStored,
        QuotaExceeded,
        UploadInterrupted,
        ServiceBusy,
        ShareUsedUp,
        RateExceeded,
        *_UPLOAD_ERRORS,
    ),
)
def upload_rows(
    dataset_id: UUID,
    request: Request,
    principal: CurrentPrincipal,
    context: InjectedContext,
    max_refused: MaxRefused = MAX_REFUSED,
) -> dict[str, Any]:
    """Send the rows once, as the raw body. Each row is checked, encrypted and never shown again.

    The response is the intake report: accepted, refused and mapped rows by line, column and kind, never by value. It is
    for the owner only. If anything fails, nothing is stored. Send images as a ZIP of PNG and JPEG files with a label
    file, a ZIP of idx files, or an NPZ.

    If more than `max_refused` of the rows are refused, the report says `waiting`: the dataset stays declared until the
    owner accepts the rows or uploads again, which replaces the waiting rows.
    """
    upload = RowsUpload(context, principal, dataset_id, max_refused=max_refused)
    with context.limits.uploads.hold(principal.id):
        domain, units = upload.require_open()
        body = BodyStream(request, max_bytes=context.settings.max_upload_bytes)
        return upload.receive(
            body, domain=domain, units=units, content_type=request.headers.get("content-type", "")
        )


@router.get(
    "/{dataset_id}/intake-report",
    summary="Read the intake report",
    responses=problems(DatasetNotFound, IntakeReportMissing, RecoveryHold),
)
def read_intake_report(dataset_id: UUID, principal: CurrentPrincipal, session: OpenSession) -> dict[str, Any]:
    """The report of the upload. It contains private facts (counts), so only the owner can see it.

    `waiting` says whether the rows await the owner's decision.
    """
    report = waiting_rows.report_of(session, repository.owned(session, dataset_id, principal).id)
    if report is None:
        raise IntakeReportMissing
    return report


@router.post(
    "/{dataset_id}/rows/accept",
    summary="Accept waiting rows",
    responses=problems(DatasetNotFound, NoRowsWaiting, RecoveryHold),
)
def accept_rows(
    dataset_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> dict[str, Any]:
    """Accept the waiting rows into the dataset although many rows were refused. Final; repeating it changes nothing.

    The response is the intake report. To everyone else it looks as if the rows were uploaded now.
    """
    dataset = repository.owned_for_update(session, dataset_id, principal)
    if waiting_rows.accept(session, dataset):
        record(session, principal, action="dataset.rows", object_id=dataset.id, clock=context.clock)
    if dataset.intake_report is None:
        raise NoRowsWaiting
    return dataset.intake_report | {"waiting": False}


@router.post(
    "/{dataset_id}/rows/discard",
    status_code=204,
    summary="Discard waiting rows",
    responses=problems(DatasetNotFound, RowsAlreadyStored, RecoveryHold),
)
def discard_rows(
    dataset_id: UUID, principal: CurrentPrincipal, context: InjectedContext, session: OpenSession
) -> None:
    """Destroy the key of the waiting rows and remove them. The dataset accepts rows again; without waiting rows nothing changes."""
    dataset = repository.owned_for_update(session, dataset_id, principal)
    if dataset.state == waiting_rows.READY:
        raise RowsAlreadyStored
    rows_key = waiting_rows.take_away(session, dataset.id)
    if rows_key is not None:
        on_commit(session, lambda: context.store.delete(rows_key))


def _view(session: Session, row: Dataset) -> DatasetView:
    return DatasetView.of(row, rule=repository.rules_of(session, [row])[row.population_id])


def declare(
    session: Session, order: DatasetOrder, principal: Principal, *, quota: int, clock: Clock
) -> Dataset:
    """Check the domain and insert the dataset.

    Raises:
        DomainInvalid: The domain is invalid; the error points to the location.
        DomainUnconfirmed: The domain is a draft.
        DatasetNotFound: The parent does not exist or belongs to someone else.
        UnitDiffers: The parent has another privacy unit.
        QuotaExceeded: The principal has reached its limit of datasets.
    """
    domain = domain_from_json(order.domain)
    checks.require_dataset(session, principal.id, limit=quota)
    row = Dataset(
        population_id=_population(session, order, domain, principal, clock),
        owner_id=principal.id,
        name=order.name,
        domain=domain.to_json(),
        adjacency=order.adjacency.value,
        privacy_unit=domain.privacy_unit,
        declared_size=order.declared_size,
        state="declared",
        created_at=clock.now(),
    )
    repository.add(session, row)
    return row


def _population(
    session: Session, order: DatasetOrder, domain: Domain, principal: Principal, clock: Clock
) -> UUID:
    if order.parent_dataset_id is None:
        return governance.open_population(session, rule=order.rule, clock=clock)
    parent = repository.owned(session, order.parent_dataset_id, principal)
    # Budgets of different privacy units cannot be composed: a guarantee for records says little about people.
    if (parent.privacy_unit, parent.adjacency) != (domain.privacy_unit, order.adjacency.value):
        raise UnitDiffers
    return parent.population_id
