"""Where the objects of a job lie.

Every key that an attempt writes holds its fence. A worker that lost its lease may go on writing for a moment, but
only under its own fence, where nobody looks; what counts is named by the rows, which the fence protects.
"""

from collections.abc import Iterator
from typing import Final
from uuid import UUID, uuid5

from core.jobs.failure_notes import failure_note_key

_RELEASES: Final = UUID("6a1c3b7e-52f0-4d0e-9f3c-0a54f1d6c2b8")


def release_id_of(job_id: UUID) -> UUID:
    """The release of a job: fixed by the job, so that a resumed job certifies the same release."""
    return uuid5(_RELEASES, job_id.hex)


def checkpoint_key(job_id: UUID, fence: int) -> str:
    """Sealed state of the training of one attempt."""
    return f"jobs/{job_id}/checkpoint-{fence}.sealed"


def bundle_key(job_id: UUID, fence: int) -> str:
    """The generator that one attempt made; published when the release's row names it."""
    return f"releases/{release_id_of(job_id)}/bundle-{fence}.zip"


def count_folder(job_id: UUID, fence: int) -> str:
    """Questions and sealed exact counts of one attempt (`workers.count_board`)."""
    return f"jobs/{job_id}/counts-{fence}"


def report_key(job_id: UUID, fence: int) -> str:
    """What one attempt measured for a charged report, already noisy; the report itself stands in the database."""
    return f"jobs/{job_id}/measured-{fence}.json"


def leftovers(job_id: UUID, fence: int, *, published: str | None, bundles: bool = True) -> Iterator[str]:
    """Every key that the attempts of an ended job may have left, the published bundle and notes excepted.

    Args:
        job_id: The job.
        fence: The last fence it was claimed under.
        published: Key of the bundle that the release names, if there is a release.
        bundles: Whether other bundles count as left over.
    """
    for each in range(1, fence + 1):
        yield checkpoint_key(job_id, each)
        yield report_key(job_id, each)
        if bundles and bundle_key(job_id, each) != published:
            yield bundle_key(job_id, each)
        if published is not None:
            yield failure_note_key(job_id, each)
