"""Leases: one worker at a time holds a row, under a fence that rises with every claim.

Jobs (train, measure), owner reports (compare) and uploads (intake) are worked on under the same rules:

* A claim takes a row that waits, or whose lease has run out. It raises the fence and stamps the end of the lease.
* A heartbeat renews the lease. A late heartbeat is good as long as nobody has taken the row over.
* Every further write checks the fence, so a worker that lost its lease can write nothing any more.
* Upkeep sends a row again that waits without a live worker.

The kinds differ only in their tables and in what their states are called.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from sqlalchemy import and_, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.db.tables.job import Job
from core.db.tables.owner_report import OwnerReport
from core.db.tables.upload import Upload
from core.jobs.errors import LeaseLost
from core.jobs.states import JobState

BATCH: Final = 100

RowT = TypeVar("RowT", Job, OwnerReport, Upload)
SentT = TypeVar("SentT", Job, OwnerReport)
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Leases(Generic[RowT]):
    """The leases on the rows of one table.

    Attributes:
        table: the rows.
        waiting: the state of a row that waits for a worker.
        running: the state of a row that a worker holds.
    """

    table: type[RowT]
    waiting: str
    running: str

    def take(self, row: RowT, *, now: datetime, seconds: float) -> None:
        """Take a locked row: raise its fence, and let the lease hold for `seconds` without a heartbeat."""
        row.state = self.running
        row.fence += 1
        row.lease_expires_at = now + timedelta(seconds=seconds)

    def put_back(self, row: RowT) -> None:
        """Let a locked row wait for a worker again."""
        row.state = self.waiting
        row.lease_expires_at = None

    def held(self, session: Session, row_id: UUID, *, fence: int) -> RowT:
        """The row, freshly read without a lock, for a process that was told only its id and the fence.

        Raises:
            LeaseLost: the fence does not hold the row, or the row is gone.
        """
        return self._held(session.get(self.table, row_id, populate_existing=True), fence)

    def locked(self, session: Session, row_id: UUID, *, fence: int) -> RowT:
        """The row, locked until the transaction ends.

        Raises:
            LeaseLost: the fence does not hold the row, or the row is gone.
        """
        row = session.get(self.table, row_id, populate_existing=True, with_for_update=True)
        return self._held(row, fence)

    def write(
        self,
        session: Session,
        row_id: UUID,
        values: Mapping[Any, Any],
        *,
        fence: int,
        returning: InstrumentedAttribute[ValueT],
    ) -> ValueT:
        """Write to the row if the fence still holds it, in one statement that locks no longer than it must.

        Returns:
            The column `returning` of the row.

        Raises:
            LeaseLost: the fence does not hold the row, or the row is gone.
        """
        row = session.execute(
            update(self.table)
            .where(self.table.id == row_id, self.table.fence == fence, self.table.state == self.running)
            .values(values)
            .returning(returning)
            .execution_options(synchronize_session=False)
        ).one_or_none()
        if row is None:
            raise LeaseLost
        value: ValueT = row[0]
        return value

    def _held(self, row: RowT | None, fence: int) -> RowT:
        if row is None or row.fence != fence or row.state != self.running:
            raise LeaseLost
        return row


JOBS: Final = Leases(Job, waiting=JobState.QUEUED.value, running=JobState.RUNNING.value)


def has_live_worker(row: Job | OwnerReport | Upload, *, now: datetime) -> bool:
    """Whether a worker holds the row and was heard of in time."""
    return row.lease_expires_at is not None and row.lease_expires_at >= now


def take_overdue(
    session: Session, leases: Leases[SentT], *, now: datetime, sent_before: datetime
) -> list[UUID]:
    """Rows without a live worker whose last message is older than `sent_before`, stamped as sent `now`.

    Send them after the commit. Because of the stamp two upkeeps do not both send a row. Rows that somebody has locked are
    skipped: they are being looked after.
    """
    table = leases.table
    waiting = or_(
        table.state == leases.waiting, and_(table.state == leases.running, table.lease_expires_at < now)
    )
    chosen = (
        select(table.id)
        .where(waiting, table.sent_at <= sent_before)
        .order_by(table.sent_at)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    rows = session.scalars(
        update(table)
        .where(table.id.in_(chosen.scalar_subquery()))
        .values(sent_at=now)
        .returning(table.id)
        .execution_options(synchronize_session=False)
    )
    return list(rows)
