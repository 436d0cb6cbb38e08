"""Reading the counts of earlier releases that a plan takes over, before a row of the job's dataset is opened."""

import hashlib
from uuid import UUID

from core.db.session import Database
from core.db.tables.release import Release
from core.domain.table import TableDomain
from core.logs import get_logger
from core.releases.bundle import unpack_counts
from core.releases.counts import ReleasedCounts
from core.releases.errors import BundleInvalid
from core.storage.errors import ObjectMissing
from core.storage.objects import ObjectStore
from core.synthesis.plan import Plan
from core.synthesis.reused import ReusedCounts
from models.idpgan.reuse import require_usable
from workers.assignment import Assignment
from workers.attempt import AttemptEnded, machinery
from workers.outcomes import ExitCode


def earlier_counts(
    work: Assignment, plan: Plan, *, database: Database, store: ObjectStore
) -> tuple[ReleasedCounts, ...]:
    """Read the counts that the plan names, and hold each against its digest.

    Args:
        work: What is to be done.
        plan: What is trained.
        database: Where releases are.
        store: Where bundles lie.

    Raises:
        AttemptEnded: A bundle is gone or holds other counts than were ordered about; or a part does not answer.
    """
    if not plan.reused:
        return ()
    assert isinstance(work.domain, TableDomain), "only counts of tables are reused"
    found = tuple(_counts(one, work, database, store) for one in plan.reused)
    try:
        require_usable(
            plan, found, cardinalities=work.domain.cardinalities, target_index=work.domain.target_index
        )
    except ValueError:
        raise AttemptEnded(ExitCode.REUSED_MISSING) from None
    return found


def _counts(one: ReusedCounts, work: Assignment, database: Database, store: ObjectStore) -> ReleasedCounts:
    with machinery():
        with database.read_only() as session:
            release = session.get(Release, UUID(one.release_id))
            key = (
                None if release is None or release.dataset_id != work.claim.dataset_id else release.bundle_key
            )
        try:
            bundle = None if key is None else store.get_bytes(key)
        except ObjectMissing:
            bundle = None
    content = None
    try:
        content = None if bundle is None else unpack_counts(bundle)[1]
        if content is not None and hashlib.sha256(content).hexdigest() == one.counts_sha256:
            return ReleasedCounts.from_bytes(content)
    except BundleInvalid:
        pass
    get_logger().error("reused-counts-missing", release_id=one.release_id)
    raise AttemptEnded(ExitCode.REUSED_MISSING)
