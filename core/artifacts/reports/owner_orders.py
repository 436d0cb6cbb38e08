"""Owner reports (in tables and API: sealed reports), from the order to the end of a claim.

They are jobs under the leases of core.jobs.leases. They make no ledger entry: the file is
sealed for the owner of the rows and reveals nothing to others (docs/privacy-promise.md). The seed is public and fixed, so a
repeated report is the same.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core.artifacts.private_models.certificate_form import SCHEMAS as MODELS
from core.artifacts.reports.columns import target_of
from core.artifacts.reports.errors import ReportNotForModels
from core.clock import Clock
from core.db.session import on_commit
from core.db.tables.dataset import Dataset
from core.db.tables.owner_report import FAILED, MADE, QUEUED, RUNNING, OwnerReport
from core.db.tables.release import Release
from core.jobs.errors import DatasetDeleted
from core.jobs.leases import Leases
from core.logs import current_request_id
from core.plan.domain.declared import domain_from_json

if TYPE_CHECKING:
    # The child that makes a report does not need the broker's libraries.
    from core.jobs.queue import Queue

REPORT_FAILED: Final = "report-failed"
"""The only error code of a failed report. Errors that depend on rows are explained in the sealed file instead."""
REPORTS: Final = Leases(OwnerReport, waiting=QUEUED, running=RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportClaim:
    """One worker's hold on one report.

    Attributes:
        fence: rises with every claim; only the highest may write.
        attempts: number of claims, this one included.
        request_id: the request that ordered it, for logs; None if unknown.
    """

    report_id: UUID
    dataset_id: UUID
    fence: int
    attempts: int
    claimed_at: datetime
    request_id: str | None


def order_report(
    session: Session,
    *,
    release: Release,
    dataset: Dataset,
    target: str | None,
    ordered_by: UUID,
    queue: "Queue",
    clock: Clock,
) -> tuple[OwnerReport, bool]:
    """Order a report, or find the existing one. The caller has checked that the orderer owns the dataset.

    Args:
        session: the open transaction, which holds the dataset's row; the message is sent after it commits.
        target: the column to predict, as for `target_of`.

    Returns:
        The report, and whether this call ordered it.

    Raises:
        DatasetDeleted: the rows were destroyed.
        ReportNotForModels: the release is a private model.
        ReportTargetUnknown: no modelled column has that name.
    """
    if dataset.wrapped_data_key is None:
        raise DatasetDeleted
    if release.certificate.get("schema") in MODELS:
        raise ReportNotForModels
    chosen = target_of(domain_from_json(dataset.domain), target)
    wanted = select(OwnerReport).where(
        OwnerReport.release_id == release.id, OwnerReport.target == chosen, OwnerReport.state != FAILED
    )
    found = session.scalar(wanted)
    if found is not None:
        return found, False
    now = clock.now()
    report = OwnerReport(
        id=uuid4(),
        release_id=release.id,
        dataset_id=dataset.id,
        ordered_by=ordered_by,
        target=chosen,
        state=QUEUED,
        created_at=now,
        sent_at=now,
        request_id=current_request_id(),
    )
    session.add(report)
    session.flush()
    on_commit(session, partial(queue.enqueue_report, report.id))
    return report, True


def order_after_release(session: Session, release: Release, *, queue: "Queue", clock: Clock) -> None:
    """Order the report that every release of a generator gets by itself, in the transaction that publishes it.

    Orders none for private models and deleted datasets. Public facts alone decide, so that there is a report
    reveals nothing. The dataset's row is not locked: a deletion waits for the job's row and would wait for ever.
    """
    dataset = session.get_one(Dataset, release.dataset_id, populate_existing=True)
    with suppress(DatasetDeleted, ReportNotForModels):
        order_report(
            session,
            release=release,
            dataset=dataset,
            target=None,
            ordered_by=dataset.owner_id,
            queue=queue,
            clock=clock,
        )


def claim_report(
    session: Session,
    report_id: UUID,
    *,
    clock: Clock,
    lease_seconds: float,
    max_attempts: int,
    lease_owner: str | None = None,
) -> ReportClaim | None:
    """Claim a report that is waiting, or whose worker's lease has expired. Arguments as `core.jobs.claims.claim`.

    Returns:
        The claim, or None: another worker has it, it has ended, or it was ended here because its attempts are used up.
    """
    report = session.get(OwnerReport, report_id, populate_existing=True, with_for_update=True)
    now = clock.now()
    if report is None or not REPORTS.is_claimable(report, now=now):
        return None
    if report.attempts >= max_attempts:
        _end(report, FAILED, at=now)
        report.failure_code = REPORT_FAILED
        session.flush()
        return None
    REPORTS.take(report, now=now, seconds=lease_seconds, owner=lease_owner)
    report.attempts += 1
    session.flush()
    return ReportClaim(
        report_id=report.id,
        dataset_id=report.dataset_id,
        fence=report.fence,
        attempts=report.attempts,
        claimed_at=now,
        request_id=report.request_id,
    )


def finish_report(session: Session, claim: ReportClaim, *, object_key: str, clock: Clock) -> None:
    """Make the attempt's stored report visible to the owner.

    Raises:
        LeaseLost: another worker took over, or the report is gone with its dataset. The object is then an orphan that
            nothing opens.
    """
    report = _locked(session, claim)
    _end(report, MADE, at=clock.now())
    report.object_key = object_key


def fail_report(session: Session, claim: ReportClaim, *, again: bool, queue: "Queue", clock: Clock) -> None:
    """Fail a report, or put it back into the queue for another attempt (`again`).

    Raises:
        LeaseLost: as `finish_report`.
    """
    report = _locked(session, claim)
    if again:
        _requeue(session, report, queue=queue, at=clock.now())
        return
    _end(report, FAILED, at=clock.now())
    report.failure_code = REPORT_FAILED


def hand_back_report(session: Session, claim: ReportClaim, *, queue: "Queue", clock: Clock) -> None:
    """Put a report back into the queue because its worker was asked to stop; the claim counts as no attempt.

    Raises:
        LeaseLost: as `finish_report`.
    """
    report = _locked(session, claim)
    report.attempts -= 1
    _requeue(session, report, queue=queue, at=clock.now())


def forget_reports(session: Session, dataset_id: UUID) -> None:
    """Remove all reports of a dataset that is being deleted. A worker on one of them thereby loses its lease."""
    session.execute(delete(OwnerReport).where(OwnerReport.dataset_id == dataset_id))


def _locked(session: Session, claim: ReportClaim) -> OwnerReport:
    return REPORTS.locked(session, claim.report_id, fence=claim.fence)


def _requeue(session: Session, report: OwnerReport, *, queue: "Queue", at: datetime) -> None:
    REPORTS.put_back(report)
    report.sent_at = at
    on_commit(session, partial(queue.enqueue_report, report.id))


def _end(report: OwnerReport, state: str, *, at: datetime) -> None:
    REPORTS.end(report, state)
    report.finished_at = at
