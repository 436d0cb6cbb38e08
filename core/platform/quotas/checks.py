"""Quotas per principal, counted under an advisory lock of that principal.

The advisory lock of Postgres ends with the transaction: of two requests racing for the last slot, the second
counts what the first has committed. It is taken before every row lock, which rules out deadlocks.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.db.tables.dataset import Dataset
from core.db.tables.federation import Federation
from core.db.tables.job import Job
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.db.tables.owner_report import OwnerReport
from core.db.tables.upload import Upload
from core.db.tables.waiting_rows import WaitingRows
from core.platform.quotas.errors import QuotaExceeded

_LIVE_UPLOADS: Final = ("open", "completing")


def require_dataset(session: Session, principal_id: UUID, *, limit: int) -> None:
    """Take the principal's lock and require that one more dataset may be declared.

    Raises:
        QuotaExceeded: The limit is reached; deleted datasets do not count.
    """
    _lock(session, principal_id)
    used = _count(session, Dataset.id, Dataset.owner_id == principal_id, Dataset.state != "deleted")
    if used >= limit:
        raise QuotaExceeded(
            quota="quota_datasets", what="datasets", limit=limit, used=used, requested=1,
            remedy="Delete datasets that are not needed",
        )  # fmt: skip


def require_upload(session: Session, principal_id: UUID, *, limit: int) -> None:
    """Take the principal's lock and require that one more upload may be open.

    Raises:
        QuotaExceeded: The limit is reached.
    """
    _lock(session, principal_id)
    used = _count(session, Upload.id, Upload.principal_id == principal_id, Upload.state.in_(_LIVE_UPLOADS))
    if used >= limit:
        raise QuotaExceeded(
            quota="quota_open_uploads", what="open uploads", limit=limit, used=used, requested=1,
            remedy="Complete or abort open uploads",
        )  # fmt: skip


def require_bytes(
    session: Session,
    principal_id: UUID,
    *,
    limit: int,
    requested: int,
    instead_of: UUID | None = None,
    dataset_id: UUID | None = None,
) -> None:
    """Take the principal's lock and require that `requested` more sealed bytes may be stored.

    An open upload counts with the bytes it announced, arrived or not. Waiting rows count like stored ones.

    Args:
        limit: Bytes in all.
        requested: Additional bytes.
        instead_of: An open upload whose bytes these replace.
        dataset_id: A dataset whose waiting rows these replace.

    Raises:
            QuotaExceeded: The limit would be exceeded.
    """
    _lock(session, principal_id)
    rows = _row_bytes(session, principal_id, but_waiting_of=dataset_id)
    others = [Upload.id != instead_of] if instead_of is not None else []
    parts = _sum(
        session,
        Upload.declared_bytes,
        Upload.principal_id == principal_id,
        Upload.state.in_(_LIVE_UPLOADS),
        *others,
    )
    if rows + parts + requested > limit:
        raise QuotaExceeded(
            quota="quota_stored_bytes", what="stored bytes", limit=limit, used=rows + parts, requested=requested,
            remedy="Delete datasets that are not needed",
        )  # fmt: skip


def require_job(session: Session, principal_id: UUID, *, limit: int) -> None:
    """Take the principal's lock and require that one more job may wait.

    Raises:
        QuotaExceeded: The limit is reached; running jobs do not count.
    """
    _lock(session, principal_id)
    # A job that went back to the queue after a crash counts as running: the quota must not reveal that it crashed.
    waiting = (Job.ordered_by == principal_id, Job.state == "queued", Job.started_at.is_(None))
    used = _count(session, Job.id, *waiting)
    if used >= limit:
        raise QuotaExceeded(
            quota="quota_queued_jobs", what="waiting jobs", limit=limit, used=used, requested=1,
            remedy="Wait for jobs to begin, or cancel some",
        )  # fmt: skip


def require_endpoint(session: Session, principal_id: UUID, *, limit: int, since: datetime) -> None:
    """Take the principal's lock and require that one more endpoint may be registered.

    Each new address is sent a code, so endpoints that were made and removed also count for a while: up to
    twice the limit.

    Args:
        limit: Endpoints at the same time.
        since: Endpoints made after this moment count even if removed.

    Raises:
            QuotaExceeded: The limit is reached, or too many were made recently.
    """
    _lock(session, principal_id)
    mine = NotificationEndpoint.principal_id == principal_id
    present = _count(session, NotificationEndpoint.id, mine, NotificationEndpoint.state != "removed")
    made = _count(session, NotificationEndpoint.id, mine, NotificationEndpoint.created_at > since)
    if present >= limit or made >= 2 * limit:
        raise QuotaExceeded(
            quota="quota_notification_endpoints", what="endpoints for notifications", limit=limit, used=present,
            requested=1, remedy="Remove endpoints that are not needed, wait a day if many were made",
        )  # fmt: skip


def require_federation(session: Session, principal_id: UUID, *, limit: int) -> None:
    """Take the principal's lock and require that one more federation may be open.

    Raises:
        QuotaExceeded: The limit is reached.
    """
    _lock(session, principal_id)
    used = _count(session, Federation.id, Federation.created_by == principal_id, Federation.state == "open")
    if used >= limit:
        raise QuotaExceeded(
            quota="the number of federations", what="open federations", limit=limit, used=used, requested=1,
            remedy="End federations that are not needed",
        )  # fmt: skip


def require_report(session: Session, principal_id: UUID, *, limit: int) -> None:
    """Take the principal's lock and require that one more owner report may be ordered.

    Raises:
        QuotaExceeded: The limit of pending reports is reached.
    """
    _lock(session, principal_id)
    used = _count(
        session,
        OwnerReport.id,
        OwnerReport.ordered_by == principal_id,
        OwnerReport.state.in_(("queued", "running")),
    )
    if used >= limit:
        raise QuotaExceeded(
            quota="quota_queued_jobs", what="waiting reports", limit=limit, used=used, requested=1,
            remedy="Wait for reports to be made, or delete some",
        )  # fmt: skip


def _lock(session: Session, principal_id: UUID) -> None:
    # 64 bits of a random UUID: two principals that collide only wait for each other.
    key = int.from_bytes(principal_id.bytes[:8], "big", signed=True)
    session.execute(select(func.pg_advisory_xact_lock(key)))


def _count(session: Session, column: InstrumentedAttribute[UUID], *where: ColumnElement[bool]) -> int:
    return session.scalars(select(func.count(column)).where(*where)).one()


def _row_bytes(session: Session, principal_id: UUID, *, but_waiting_of: UUID | None) -> int:
    """Stored bytes in one statement: rows that are accepted meanwhile count once."""
    mine = Dataset.owner_id == principal_id
    stored = select(Dataset.stored_bytes).where(mine, Dataset.state == "ready")
    waiting = select(WaitingRows.stored_bytes).join(Dataset, Dataset.id == WaitingRows.dataset_id).where(mine)
    if but_waiting_of is not None:
        waiting = waiting.where(WaitingRows.dataset_id != but_waiting_of)
    both = stored.union_all(waiting).subquery()
    return int(session.scalars(select(func.sum(both.c.stored_bytes))).one() or 0)


def _sum(
    session: Session,
    column: InstrumentedAttribute[int] | InstrumentedAttribute[int | None],
    *where: ColumnElement[bool],
) -> int:
    return int(session.scalars(select(func.sum(column)).where(*where)).one() or 0)
