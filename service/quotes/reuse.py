"""Selects the releases whose counts an order reuses: those of its dataset that the caller may read.

Rows, declared domain and privacy unit belong to a dataset, so all releases of one dataset are of the same rows. Anyone who
may download a release may read its counts (`service.releases.repository`). A release with a learnt domain counts
different codes and is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from sqlalchemy.orm import Session

from core.artifacts.bundle import COUNTS
from core.artifacts.certificate_form import SCHEMA
from core.data.objects import ObjectStore
from core.db.tables.release import Release
from core.errors import UnderstudyError
from core.plan.domain.table import TableDomain
from core.plan.ordered_plan import OrderedPlan
from core.plan.plan import Plan
from core.plan.reuse_rules import EarlierCounts, may_reuse, with_reuse
from core.plan.several_owners.member_plan import MemberPlan
from core.platform.access.roles import Principal
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder
from service.releases import repository

MOST_LOOKED_AT: Final = 64
"""Number of latest releases considered; each contains the counts of the releases that it reused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCounts:
    """The counts of a release, and the object key of its bundle."""

    counts: EarlierCounts
    bundle_key: str
    created_at: datetime

    @classmethod
    def of(cls, row: Release, facts: DatasetFacts) -> Self | None:
        """Convert a release; None if it has no counts that another plan could reuse."""
        certificate = row.certificate
        try:
            if (
                certificate["schema"] != SCHEMA
                or certificate["data_domain"]["sha256"] != facts.domain.digest()
            ):
                return None
            plan = Plan.from_json(certificate["plan"])
            digest = certificate["artefacts"][COUNTS]["sha256"]
        except (KeyError, TypeError, UnderstudyError):
            return None
        if not may_reuse(plan) or not isinstance(digest, str):
            return None
        counts = EarlierCounts(release_id=str(row.id), plan=plan, counts_sha256=digest)
        return cls(counts=counts, bundle_key=row.bundle_key, created_at=row.created_at)


def stored_counts(session: Session, facts: DatasetFacts, principal: Principal) -> Sequence[StoredCounts]:
    """The counts of the dataset that the principal may read, newest first."""
    if not isinstance(facts.domain, TableDomain):
        return ()
    rows, _ = repository.page(
        session, principal, dataset_id=facts.id, job_id=None, limit=MOST_LOOKED_AT, before=None
    )
    found = (StoredCounts.of(row, facts) for row in rows)
    return [one for one in found if one is not None]


def reusing(
    plan: OrderedPlan,
    stored: Sequence[StoredCounts],
    order: GeneratorOrder,
    facts: DatasetFacts,
    store: ObjectStore,
) -> OrderedPlan:
    """Return the plan with those of the stored counts that it reuses. A release whose bundle is missing is left out."""
    of_others = isinstance(plan, MemberPlan)  # whose counts are added to those of other rows
    if of_others or not isinstance(plan, Plan) or not isinstance(facts.domain, TableDomain):
        return plan
    share_ordered = order.options.get("anchor_screening_share") is not None
    left = {one.counts.release_id: one for one in stored}
    while True:
        earlier = [one.counts for one in left.values()]
        made = with_reuse(plan, earlier, facts.domain, share_ordered=share_ordered)
        gone = [one.release_id for one in made.reused if not store.exists(left[one.release_id].bundle_key)]
        if not gone:
            return made
        for release_id in gone:
            del left[release_id]
