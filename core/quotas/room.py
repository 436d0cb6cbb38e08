"""How much of each thing one principal may have, counted under a lock of that principal.

The lock is Postgres' own and ends with the transaction: of two requests racing for the last place, the second counts
what the first has committed. It comes before every row lock, so that no two transactions wait for each other.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.notification_endpoint import NotificationEndpoint
from core.db.tables.owner_report import OwnerReport
from core.db.tables.upload import Upload
from core.db.tables.waiting_rows import WaitingRows
from core.quotas.errors import QuotaExceeded

_LIVE_UPLOADS: Final = ("open", "completing")


def require_dataset(session: Session, principal_id: UUID, *, limit: int) -> None:
    """Hold the principal's lock, and see that one more dataset may be declared.

    Raises:
        QuotaExceeded: There are as many as allowed; deleted ones do not count.
    """
    _lock(session, principal_id)
    used = _count(session, Dataset.id, Dataset.owner_id == principal_id, Dataset.state != "deleted")
    if used >= limit:
        raise QuotaExceeded(
            quota="quota_datasets", what="datasets", limit=limit, used=used, requested=1,
            remedy="Delete datasets that are not needed",
        )  # fmt: skip


def require_upload(session: Session, principal_id: UUID, *, limit: int) -> None:
    """Hold the principal's lock, and see that one more upload may be open.

    Raises:
        QuotaExceeded: There are as many as allowed.
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
    """Hold the principal's lock, and see that so many more sealed bytes may be kept.

    Open uploads count with the bytes they announced, whether or not those have arrived; rows that wait for their owner's
    word count like stored ones.

    Args:
        session: The transaction.
        principal_id: Whose.
        limit: How many in all.
        requested: How many more.
        instead_of: An open upload whose bytes these replace.
        dataset_id: A dataset whose waiting rows these replace.

    Raises:
        QuotaExceeded: It would be too many.
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
    """Hold the principal's lock, and see that one more job may wait.

    Raises:
        QuotaExceeded: As many as allowed are waiting; those that run do not count.
    """
    _lock(session, principal_id)
    # One that has begun and went back to the queue after a crash still runs: that it crashed is not told here either.
    waiting = (Job.ordered_by == principal_id, Job.state == "queued", Job.started_at.is_(None))
    used = _count(session, Job.id, *waiting)
    if used >= limit:
        raise QuotaExceeded(
            quota="quota_queued_jobs", what="waiting jobs", limit=limit, used=used, requested=1,
            remedy="Wait for jobs to begin, or cancel some",
        )  # fmt: skip


def require_endpoint(session: Session, principal_id: UUID, *, limit: int, since: datetime) -> None:
    """Hold the principal's lock, and see that one more endpoint may be registered.

    Each address is sent a code, so those made and removed again count for a while too: twice as many as may be there.

    Args:
        session: The transaction.
        principal_id: Whose.
        limit: How many there may be.
        since: The moment from which those that were made count, removed ones too.

    Raises:
        QuotaExceeded: There are as many as allowed, or too many were made lately.
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


def require_report(session: Session, principal_id: UUID, *, limit: int) -> None:
    """Hold the principal's lock, and see that one more owner report may be ordered.

    Raises:
        QuotaExceeded: There are as many as may be on the way.
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
    # 64 bits of a random uuid: two principals that share a lock by chance only wait for each other.
    key = int.from_bytes(principal_id.bytes[:8], "big", signed=True)
    session.execute(select(func.pg_advisory_xact_lock(key)))


def _count(session: Session, column: InstrumentedAttribute[UUID], *where: ColumnElement[bool]) -> int:
    return session.scalars(select(func.count(column)).where(*where)).one()


def _row_bytes(session: Session, principal_id: UUID, *, but_waiting_of: UUID | None) -> int:
    """In one statement, so that rows which are accepted meanwhile count once."""
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
