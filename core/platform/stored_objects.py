"""Objects in the store: the keys of a job's, and the removal of those that are no longer needed.

Every key that an attempt writes holds its fence. A worker that lost its lease may go on writing for a moment, but only
under its own fence, where nothing is read any more. Valid objects are named by database rows, which the fence protects.

Leftovers of an ended job are removed at once, orphans after a day. An object is an orphan if no row names it and it is older
than a day: a put and the commit that names it are seconds apart. Keys of an unknown form are kept, because they belong to
other software.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Final
from uuid import UUID, uuid5

from obstore.exceptions import BaseError as StoreError
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.clock import Clock
from core.data.failure_notes import failure_note_key
from core.data.objects import ObjectStore, delete_each
from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.owner_report import QUEUED, RUNNING, OwnerReport
from core.db.tables.release import Release
from core.db.tables.waiting_rows import WaitingRows
from core.jobs.states import ENDED, JobState
from core.logs import get_logger
from core.platform.witness.witness_store import publication_key

_UUID: Final = r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
BUNDLE: Final = re.compile(rf"releases/{_UUID}/bundle-\d+\.zip")
"""The form of `bundle_key`."""
_ROWS: Final = re.compile(rf"datasets/{_UUID}/rows[^/]*\.sealed")
_ON_THE_WAY: Final = re.compile(
    rf"jobs/{_UUID}/(?:checkpoint-\d+\.sealed|measured-\d+\.json|counts-\d+/[a-z\d-]+\.sealed)"
)
_REPORT: Final = re.compile(rf"datasets/{_UUID}/report-[^/]*\.sealed")
_FAILURE_NOTE: Final = re.compile(rf"jobs/{_UUID}/failure-\d+\.sealed")
_RELEASES: Final = UUID("6a1c3b7e-52f0-4d0e-9f3c-0a54f1d6c2b8")
RECENT: Final = timedelta(days=1)
AGE: Final = timedelta(days=1)
BATCH: Final = 500
_LIVE_REPORTS: Final = (QUEUED, RUNNING)


def release_id_of(job_id: UUID) -> UUID:
    """The id of a job's release. It follows from the job, so a resumed job certifies the same release."""
    return uuid5(_RELEASES, job_id.hex)


def checkpoint_key(job_id: UUID, fence: int) -> str:
    """The sealed training state of one attempt."""
    return f"jobs/{job_id}/checkpoint-{fence}.sealed"


def bundle_key(job_id: UUID, fence: int) -> str:
    """The bundle that one attempt staged. It is published once the release's row names it."""
    return f"releases/{release_id_of(job_id)}/bundle-{fence}.zip"


def count_folder(job_id: UUID, fence: int) -> str:
    """Questions and sealed exact counts of one attempt (`workers.shared_counting`)."""
    return f"jobs/{job_id}/counts-{fence}"


def measurement_key(job_id: UUID, fence: int) -> str:
    """Noisy measurements of one attempt for a utility report; the report itself is in the database."""
    return f"jobs/{job_id}/measured-{fence}.json"


def leftovers(job_id: UUID, fence: int, *, published: str | None, bundles: bool) -> Iterator[str]:
    """Every key that the attempts of an ended job may have left, except for the published bundle and the notes of a failed job.

    Args:
        fence: The last one of the job.
        published: Key of the bundle that the release names, if there is a release.
        bundles: Whether other bundles count as leftovers.
    """
    for each in range(1, fence + 1):
        yield checkpoint_key(job_id, each)
        yield measurement_key(job_id, each)
        if bundles and bundle_key(job_id, each) != published:
            yield bundle_key(job_id, each)
        if published is not None:
            yield failure_note_key(job_id, each)


def sweep(
    store: ObjectStore, population_id: UUID, job_id: UUID, fence: int, *, published: str | None
) -> None:
    """Delete a job's checkpoints, counts and unpublished bundles; what cannot be deleted now is left to upkeep.

    The bundles stay if the job's publication is noted outside the database and the database knows of no release: then the
    database was restored, and the bundles are what it has forgotten.

    Args:
        population_id: The population whose ledger paid for the job.
        fence: The last one of the job.
        published: Key of the bundle that its release names, if it has one.
    """
    try:
        forgotten = published is None and store.exists(publication_key(population_id, job_id))
        for key in leftovers(job_id, fence, published=published, bundles=not forgotten):
            store.delete(key)
        for each in range(1, fence + 1):
            for found in list(store.list(count_folder(job_id, each))):
                store.delete(found.key)
    except (StoreError, OSError):
        get_logger().warning("sweep-failed", job_id=str(job_id), exc_info=True)


def sweep_recent(database: Database, store: ObjectStore, *, clock: Clock) -> int:
    """Sweep after every job that ended within a day: a worker that had lost its lease may have written once more.

    What it wrote is sealed under a key that was destroyed with the job, or is a bundle that no row names. Returns how many jobs.
    """
    recent = (
        select(Dataset.population_id, Job.id, Job.fence, Release.bundle_key)
        .join(Dataset, Dataset.id == Job.dataset_id)
        .outerjoin(Release, Release.job_id == Job.id)
        .where(Job.finished_at >= clock.now() - RECENT)
    )
    with database.read_only() as session:
        jobs = session.execute(recent).all()
    for population_id, job_id, fence, published in jobs:
        sweep(store, population_id, job_id, fence, published=published)
    return len(jobs)


def sweep_orphans(database: Database, store: ObjectStore, *, clock: Clock) -> int:
    """Delete the orphans among the objects of datasets, jobs and releases. Returns how many.

    Raises:
        DatabaseUnavailable: The database is away.
    """
    before = clock.now() - AGE
    removed = 0
    for folder, form, wanted in (
        ("datasets", _ROWS, _rows_wanted),
        ("datasets", _REPORT, _reports_wanted),
        ("jobs", _ON_THE_WAY, _wanted_by_live_jobs),
        ("jobs", _FAILURE_NOTE, _notes_wanted),
        ("releases", BUNDLE, partial(_bundles_wanted, store=store)),
    ):
        old = (found.key for found in store.list(folder) if found.stored_at < before)
        for batch in _batches(_matching(form, old)):
            with database.read_only() as session:
                kept = wanted(session, batch)
            removed += delete_each(store, batch.keys() - kept, failed="orphan-not-removed")
    return removed


def _matching(form: re.Pattern[str], keys: Iterable[str]) -> Iterator[tuple[str, UUID]]:
    for key in keys:
        found = form.fullmatch(key)
        if found is not None:
            yield key, UUID(found[1])


def _batches(items: Iterator[tuple[str, UUID]]) -> Iterator[dict[str, UUID]]:
    while batch := dict(islice(items, BATCH)):
        yield batch


def _rows_wanted(session: Session, objects: dict[str, UUID]) -> set[str]:
    # A deleted dataset's row names its rows until they are gone; finish_deletions removes them.
    stored = select(Dataset.rows_key).where(Dataset.id.in_(objects.values()), Dataset.rows_key.is_not(None))
    waiting = select(WaitingRows.rows_key).where(WaitingRows.dataset_id.in_(objects.values()))
    # One statement: rows that are accepted concurrently are in one of the two tables at any moment.
    return set(session.scalars(stored.union(waiting)))


def _reports_wanted(session: Session, objects: dict[str, UUID]) -> set[str]:
    # A worker may be about to name its file.
    wanted: set[str] = set()
    for report in session.scalars(select(OwnerReport).where(OwnerReport.dataset_id.in_(objects.values()))):
        its = {key for key in objects if str(report.id) in key}
        wanted |= its if report.state in _LIVE_REPORTS else its & {report.object_key}
    return wanted


def _wanted_by_live_jobs(session: Session, objects: dict[str, UUID]) -> set[str]:
    live = set(
        session.scalars(
            select(Job.id).where(
                Job.id.in_(objects.values()), Job.state.not_in([state.value for state in ENDED])
            )
        )
    )
    return {key for key, job_id in objects.items() if job_id in live}


def _notes_wanted(session: Session, objects: dict[str, UUID]) -> set[str]:
    wanted = set(
        session.scalars(
            select(Job.id)
            .join(Dataset, Dataset.id == Job.dataset_id)
            .where(
                Job.id.in_(objects.values()),
                Job.state != JobState.SUCCEEDED.value,
                Dataset.wrapped_data_key.is_not(None),
            )
        )
    )
    return {key for key, job_id in objects.items() if job_id in wanted}


def _bundles_wanted(session: Session, objects: dict[str, UUID], *, store: ObjectStore) -> set[str]:
    """Keep all bundles except those that an ended job is known to have left: a published bundle is never an orphan.

    A job that the database does not know, or whose publication is noted although no release names one of its bundles,
    means that the database was restored: those bundles are what it has forgotten.
    """
    named = set(session.scalars(select(Release.bundle_key).where(Release.id.in_(objects.values()))))
    ended = session.execute(
        select(Dataset.population_id, Job.id, Release.id.is_not(None))
        .join(Dataset, Dataset.id == Job.dataset_id)
        .outerjoin(Release, Release.job_id == Job.id)
        .where(Job.state.in_([state.value for state in ENDED]))
    )
    asked = set(objects.values())
    left = {
        release_id_of(job_id)
        for population_id, job_id, released in ended
        if release_id_of(job_id) in asked
        and (released or not store.exists(publication_key(population_id, job_id)))
    }
    return {key for key, release_id in objects.items() if key in named or release_id not in left}
