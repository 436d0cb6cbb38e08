"""Removing objects that nothing refers to: puts whose commit never came, and what outlived its job or dataset.

An object is an orphan when no row names it and it is older than a day: between a put and the commit that names it lie
seconds. Keys that are not of a known form are left alone, for they belong to somebody else.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Final
from uuid import UUID

from obstore.exceptions import BaseError as StoreError
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.release import Release
from core.db.tables.sealed_report import SealedReport
from core.db.tables.waiting_rows import WaitingRows
from core.jobs.states import ENDED, JobState
from core.logs import get_logger
from core.reports.sealed_orders import QUEUED, RUNNING
from core.storage.objects import ObjectStore
from core.witness.places import publication_key
from workers.places import release_id_of
from workers.stored_bundles import BUNDLE

AGE: Final = timedelta(days=1)
BATCH: Final = 500
_LIVE_REPORTS: Final = (QUEUED, RUNNING)

_UUID: Final = r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_ROWS: Final = re.compile(rf"datasets/{_UUID}/rows[^/]*\.sealed")
_ON_THE_WAY: Final = re.compile(
    rf"jobs/{_UUID}/(?:checkpoint-\d+\.sealed|measured-\d+\.json|counts-\d+/[a-z\d-]+\.sealed)"
)
_REPORT: Final = re.compile(rf"datasets/{_UUID}/report-[^/]*\.sealed")
_FAILURE_NOTE: Final = re.compile(rf"jobs/{_UUID}/failure-\d+\.sealed")

Wanted = Callable[[Session, dict[str, UUID]], set[str]]
"""Of objects, with the id that stands in each key, those that some row refers to."""


def sweep_orphans(database: Database, store: ObjectStore, *, clock: Clock) -> int:
    """Look through the folders of datasets, jobs and releases, and delete the orphans. Returns how many.

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
            removed += _delete(store, batch.keys() - kept)
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
    # A tombstone still names its rows until they are gone; that is the business of finish_deletions.
    stored = select(Dataset.rows_key).where(Dataset.id.in_(objects.values()), Dataset.rows_key.is_not(None))
    waiting = select(WaitingRows.rows_key).where(WaitingRows.dataset_id.in_(objects.values()))
    # One statement: rows that are accepted meanwhile stand in one of the two tables at any moment.
    return set(session.scalars(stored.union(waiting)))


def _reports_wanted(session: Session, objects: dict[str, UUID]) -> set[str]:
    # Whoever works on a report may be about to name its file.
    wanted: set[str] = set()
    for report in session.scalars(select(SealedReport).where(SealedReport.dataset_id.in_(objects.values()))):
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
    told = set(
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
    return {key for key, job_id in objects.items() if job_id in told}


def _bundles_wanted(session: Session, objects: dict[str, UUID], *, store: ObjectStore) -> set[str]:
    """All but those that an ended job is known to have left: a bundle that was published is never an orphan.

    A job that the database does not know, or whose publication is noted although no release names a bundle of it, tells
    that the database was restored; its bundles are what it has forgotten.
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


def _delete(store: ObjectStore, keys: Iterable[str]) -> int:
    removed = 0
    for key in keys:
        try:
            store.delete(key)
        except (StoreError, OSError):
            get_logger().warning("orphan-not-removed", exc_info=True)
        else:
            removed += 1
    return removed
