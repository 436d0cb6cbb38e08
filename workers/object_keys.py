"""Keys of a job's objects.

Every key that an attempt writes holds its fence. A worker that lost its lease may go on writing for a moment, but only
under its own fence, where nothing is read any more. Valid objects are named by database rows, which the fence protects.
"""

import re
from collections.abc import Iterator
from typing import Final
from uuid import UUID, uuid5

from core.data.failure_notes import failure_note_key

BUNDLE: Final = re.compile(r"releases/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/bundle-\d+\.zip")
"""The form of `bundle_key`."""
_RELEASES: Final = UUID("6a1c3b7e-52f0-4d0e-9f3c-0a54f1d6c2b8")


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


def leftovers(job_id: UUID, fence: int, *, published: str | None, bundles: bool = True) -> Iterator[str]:
    """Every key that the attempts of an ended job may have left, except for the published bundle and the notes of a failed job.

    Args:
        job_id: The job.
        fence: The last fence it was claimed under.
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
