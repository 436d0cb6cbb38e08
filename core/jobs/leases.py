"""Leases: one worker at a time holds a row, under a fence that rises with every claim.

| kind           | row                    | worker                                                | asked for by                |
|----------------|------------------------|-------------------------------------------------------|-----------------------------|
| train, measure | `Job`                  | a worker's pool process (`workers.training`)          | a message                   |
| compare        | `OwnerReport`          | a worker's pool process (`workers.owner_reports`)     | a message                   |
| intake         | `Upload`               | a thread of the API (`service.uploads.completing`)    | the client's request        |
| notify         | `NotificationDelivery` | upkeep (`core.platform.notifications.dispatch`)       | upkeep's rounds             |

All kinds follow the same rules:

* A claim takes a row that waits, or whose lease has run out. It raises the fence and stamps the end of the lease.
* A heartbeat renews the lease. A late heartbeat is good as long as nobody has taken the row over.
* Every further write checks the fence, so a worker that lost its lease can write nothing any more.
* Upkeep ends the lease of a worker that it sees dead, and sends messages again for rows that wait without a live worker.

Upkeep sees processes of its own machine and container. Any other worker loses its lease when that runs out. Ending a lease
early is always safe: the next claim has a higher fence.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, and_, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from core.db.tables.job import Job
from core.db.tables.notification_delivery import NotificationDelivery
from core.db.tables.owner_report import OwnerReport
from core.db.tables.upload import Upload
from core.jobs.errors import LeaseLost
from core.jobs.states import JobState
from core.plan.ordered_plan import OrderedPlan, owners_of

BATCH: Final = 100
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE: Final = Path("/proc/self/ns/pid")
_ZOMBIE: Final = "Z"

RowT = TypeVar("RowT", Job, OwnerReport, Upload, NotificationDelivery)
SentT = TypeVar("SentT", Job, OwnerReport)
ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class Leases(Generic[RowT]):
    """The leases on the rows of one table.

    Attributes:
        waiting: the state of a row that waits for a worker.
        running: the state of a row that a worker holds; may be the same, because the lease distinguishes them.
    """

    table: type[RowT]
    waiting: str
    running: str

    def is_claimable(self, row: RowT, *, now: datetime) -> bool:
        """Whether a locked row waits for a worker, or its worker's lease has run out."""
        return row.state in {self.waiting, self.running} and not has_live_worker(row, now=now)

    def are_claimable(self, now: datetime) -> ColumnElement[bool]:
        """`is_claimable` as a condition in SQL."""
        return or_(
            and_(self.table.state == self.waiting, self.table.lease_expires_at.is_(None)),
            and_(self.table.state == self.running, self.table.lease_expires_at < now),
        )

    def take(self, row: RowT, *, now: datetime, seconds: float, owner: str | None) -> None:
        """Take a locked row: raise its fence, and let the lease hold for `seconds` without a heartbeat.

        Args:
            owner: the claiming process, by `this_process`; None if nobody shall see it die.
        """
        row.state = self.running
        row.fence += 1
        row.lease_expires_at = now + timedelta(seconds=seconds)
        row.lease_owner = owner

    def put_back(self, row: RowT) -> None:
        """Let a locked row wait for a worker again."""
        self.end(row, self.waiting)

    def end(self, row: RowT, state: str) -> None:
        """Give a locked row a state in which no worker holds it."""
        row.state = state
        row.lease_expires_at = row.lease_owner = None

    def renew(self, session: Session, row_id: UUID, *, fence: int, now: datetime, seconds: float) -> None:
        """Let the lease hold for `seconds` from now on.

        Raises:
            LeaseLost: the fence does not hold the row, or the row is gone.
        """
        values = {self.table.lease_expires_at: now + timedelta(seconds=seconds)}
        self.write(session, row_id, values, fence=fence, returning=self.table.id)

    def held(self, session: Session, row_id: UUID, *, fence: int) -> RowT:
        """The row, freshly read without a lock, for a process that was given only its id and the fence.

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
            .where(self.table.id == row_id, self.table.fence == fence, self._leased)
            .values(values)
            .returning(returning)
            .execution_options(synchronize_session=False)
        ).one_or_none()
        if row is None:
            raise LeaseLost
        value: ValueT = row[0]
        return value

    def end_dead(self, session: Session, *, now: datetime, is_dead: Callable[[str], bool]) -> list[UUID]:
        """End the leases of dead owners, so that nobody waits for the leases to run out. Rows that are locked are skipped.

        Args:
            is_dead: whether a lease owner has certainly ended. A mistake costs an attempt.

        Returns:
            The ids of the rows, which are claimable.
        """
        held = (
            select(self.table.id, self.table.lease_owner)
            .where(self._leased, self.table.lease_expires_at >= now, self.table.lease_owner.is_not(None))
            .with_for_update(skip_locked=True)
        )
        dead = [row_id for row_id, owner in session.execute(held) if is_dead(str(owner))]
        session.execute(
            update(self.table)
            .where(self.table.id.in_(dead))
            .values(lease_expires_at=now - timedelta(microseconds=1), lease_owner=None)
            .execution_options(synchronize_session=False)
        )
        return dead

    @property
    def _leased(self) -> ColumnElement[bool]:
        return and_(self.table.state == self.running, self.table.lease_expires_at.is_not(None))

    def _held(self, row: RowT | None, fence: int) -> RowT:
        if row is None or row.fence != fence or row.state != self.running or row.lease_expires_at is None:
            raise LeaseLost
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One worker's hold on one job.

    Attributes:
        dataset_id: the dataset whose rows it reads.
        population_id: the population whose ledger pays for it.
        fence: rises with every claim; only the highest may write.
        attempts: claims since the job last made progress, this one included; claims that were handed back do not count.
        plan: what to run, to the letter.
        plan_digest: SHA-256 of the plan, in hexadecimal.
        sealed_randomness_key: the key of all the job's randomness, sealed; the same for every attempt.
        steps_begun: the highest durable mark of earlier attempts.
        cancel_requested: whether a person asked to cancel.
        lease_expires_at: the end of the lease without a heartbeat.
        request_id: the request that ordered the job, for logs; None if unknown.
        trace_context: the trace that the order belongs to; None if it was not traced.
        device: the kind of device to train on; None for whatever the worker has.
        stage: of the last durable mark of earlier attempts; None before the first.
        step: of that mark.
    """

    job_id: UUID
    dataset_id: UUID
    population_id: UUID
    ordered_by: UUID
    fence: int
    attempts: int
    plan: OrderedPlan
    plan_digest: str
    sealed_randomness_key: bytes
    steps_begun: int
    cancel_requested: bool
    claimed_at: datetime
    lease_expires_at: datetime
    request_id: str | None = None
    trace_context: str | None = None
    device: str | None = None
    stage: str | None = None
    step: int = 0

    @property
    def population_ids(self) -> tuple[UUID, ...]:
        """The populations whose ledgers pay for it, each the whole plan."""
        owners = owners_of(self.plan)
        return tuple(UUID(owner.population_id) for owner in owners) or (self.population_id,)


JOBS: Final = Leases(Job, waiting=JobState.QUEUED.value, running=JobState.RUNNING.value)


def has_live_worker(row: Job | OwnerReport | Upload | NotificationDelivery, *, now: datetime) -> bool:
    """Whether a worker holds the row and its lease has not run out."""
    return row.lease_expires_at is not None and row.lease_expires_at >= now


def take_overdue(
    session: Session,
    leases: Leases[SentT],
    *,
    now: datetime,
    resend_seconds: float,
    is_dead: Callable[[str], bool],
) -> list[UUID]:
    """Rows to send again after the commit, stamped as sent `now`.

    They are the rows whose owner is dead, and the claimable rows whose last message is older than `resend_seconds`. Because
    of the stamp two upkeeps do not both send a row. Rows that somebody has locked are skipped: they are being handled.
    """
    table = leases.table
    dead = leases.end_dead(session, now=now, is_dead=is_dead)
    late = table.sent_at <= now - timedelta(seconds=resend_seconds)
    chosen = (
        select(table.id)
        .where(leases.are_claimable(now), or_(late, table.id.in_(dead)))
        .order_by(table.id.in_(dead).desc(), table.sent_at)
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


@cache
def this_machine() -> str:
    """This boot of this machine, seen from this container; process ids mean something only within it."""
    return f"{_BOOT.read_text().strip()}/{_NAMESPACE.stat().st_ino}/"


def this_process() -> str:
    """This process as a lease owner. Its start time distinguishes it from a later process with the same id."""
    pid = os.getpid()
    return f"{this_machine()}{pid}/{_started(pid)}"


def is_dead(lease_owner: str) -> bool:
    """Whether a lease owner has certainly ended; False for one that cannot be seen from here."""
    machine = this_machine()
    if not lease_owner.startswith(machine):
        return False
    pid, _, started = lease_owner.removeprefix(machine).partition("/")
    return _started(int(pid)) != started


def _started(pid: int) -> str | None:
    """The start of a live process, in ticks since the boot; None if there is no such process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] == _ZOMBIE else fields[19]
