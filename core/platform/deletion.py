"""Deleting a dataset: the key is destroyed first, in one transaction; the objects are deleted afterwards, with retries.

    1. one transaction: state `deleted`; the wrapped data key and the intake report are erased; who deleted it
    and when is recorded; waiting rows and owner reports are forgotten; every live job is asked to stop. From
    this commit on nothing of the dataset can be opened.
    2. objects: the sealed rows, everything else in the dataset's folder (owner reports too), the failure
    notes of its jobs.
    3. one transaction: the row drops the key of the rows' object. A tombstone that still has it is unfinished.

Steps 2 and 3 run right after the commit and in every round of upkeep, and are idempotent. The ledger is
unchanged: a release cannot be taken back, so the population keeps its spend. See docs/decisions/deletion.md.
"""

from contextlib import suppress
from typing import Final
from uuid import UUID

from obstore.exceptions import BaseError as StoreError
from sqlalchemy import func, null, select, update
from sqlalchemy.orm import Session

from core.artifacts.reports.owner_orders import forget_reports
from core.clock import Clock
from core.data import waiting_rows
from core.data.failure_notes import failure_note_key
from core.data.objects import ObjectStore
from core.data.uploads.ending import end_all_of
from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.errors import UnderstudyError
from core.jobs.endings import cancel
from core.jobs.errors import JobEnded
from core.jobs.leases import has_live_worker
from core.jobs.repository import reads_one_of
from core.jobs.states import JobState
from core.logs import get_logger

DELETED: Final = "deleted"
_LIVE: Final = (JobState.QUEUED.value, JobState.RUNNING.value)


def mark_deleted(session: Session, dataset: Dataset, *, by: UUID, clock: Clock) -> bool:
    """Destroy the data key and leave a tombstone. The caller holds the row's lock.

    Live jobs are asked to stop, not ended: ending one locks the budget, and a broken ledger must not prevent
    deletion.


    Returns:
        Whether this call deleted it; False if it was deleted before.
    """
    if dataset.state == DELETED:
        return False
    now = clock.now()
    waited = waiting_rows.take_away(session, dataset.id)
    session.execute(
        update(Dataset)
        .where(Dataset.id == dataset.id)
        .values(
            state=DELETED,
            wrapped_data_key=None,
            rows_key=func.coalesce(waited, Dataset.rows_key),
            # SQL null: None would be stored as JSON null, which counts as a report.
            intake_report=null(),
            deleted_at=now,
            deleted_by=by,
        )
        .execution_options(synchronize_session=False)
    )
    session.refresh(dataset)
    end_all_of(session, dataset.id, clock=clock)
    forget_reports(session, dataset.id)
    session.execute(
        update(Job)
        .where(reads_one_of([dataset.id]), Job.state.in_(_LIVE), Job.cancel_requested_at.is_(None))
        .values(cancel_requested_at=now)
        .execution_options(synchronize_session=False)
    )
    return True


def finish_deletions(database: Database, store: ObjectStore, *, clock: Clock) -> int:
    """Finish every unfinished tombstone. Returns how many were finished.

    Raises:
        DatabaseUnavailable: the database cannot be reached.
    """
    _stop_jobs(database, clock=clock)
    with database.read_only() as session:
        unfinished = session.scalars(
            select(Dataset.id).where(Dataset.state == DELETED, Dataset.rows_key.is_not(None))
        ).all()
    return sum(erase_objects(database, store, dataset_id) for dataset_id in unfinished)


def erase_objects(database: Database, store: ObjectStore, dataset_id: UUID) -> bool:
    """Remove the objects of a deleted dataset, then the key of its rows. Returns whether that worked.

    Raises:
        DatabaseUnavailable: the database cannot be reached.
    """
    with database.read_only() as session:
        jobs = session.execute(select(Job.id, Job.fence).where(reads_one_of([dataset_id]))).all()
    keys = [failure_note_key(job_id, attempt) for job_id, fence in jobs for attempt in range(1, fence + 1)]
    try:
        for found in list(store.list(f"datasets/{dataset_id}")):
            store.delete(found.key)
        for key in keys:
            store.delete(key)
    except (StoreError, OSError):
        get_logger().warning("erasing-failed", dataset_id=str(dataset_id), exc_info=True)
        return False
    with database.transaction() as session:
        session.execute(
            update(Dataset).where(Dataset.id == dataset_id, Dataset.state == DELETED).values(rows_key=None)
        )
    return True


def _stop_jobs(database: Database, *, clock: Clock) -> None:
    """End the jobs of deleted datasets that no live worker has leased; a live worker sees the request itself.

    This also finds an order that was placed while the dataset was being deleted.
    """
    with database.read_only() as session:
        jobs = session.scalars(
            select(Job).where(
                Job.state.in_(_LIVE), reads_one_of(select(Dataset.id).where(Dataset.state == DELETED))
            )
        ).all()
        waiting = [
            job.id
            for job in jobs
            if job.cancel_requested_at is None or not has_live_worker(job, now=clock.now())
        ]
    for job_id in waiting:
        try:
            with suppress(JobEnded), database.transaction() as session:
                cancel(session, job_id, clock=clock)
        except UnderstudyError as error:
            # A ledger that does not verify accepts no entries; the job stays, but has no key to open anything.
            get_logger().warning("job-not-stopped", job_id=str(job_id), code=error.code)
