"""Removing what the attempts of an ended job have left in the object store."""

from datetime import timedelta
from typing import Final
from uuid import UUID

from obstore.exceptions import BaseError as StoreError
from sqlalchemy import select

from core.clock import Clock
from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.release import Release
from core.logs import get_logger
from core.storage.objects import ObjectStore
from core.witness.places import publication_key
from workers.places import count_folder, leftovers

RECENT: Final = timedelta(days=1)


def sweep(
    store: ObjectStore, population_id: UUID, job_id: UUID, fence: int, *, published: str | None
) -> None:
    """Delete checkpoints and unpublished bundles; what cannot be deleted now is left to upkeep.

    The bundles of a job stay where it is noted that it has published and the database knows of no release: the
    database was restored, and they are what it has forgotten.

    Args:
        store: Where they lie.
        population_id: Whose ledger the job was paid from.
        job_id: A job that has ended.
        fence: The last fence it was claimed under.
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
    """Sweep after every job that ended lately: a worker that had lost its lease may have written once more.

    What it wrote is sealed under a key that was destroyed with the job, or is a bundle that nobody names.

    Returns:
        The number of jobs swept after.
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
