"""Counts already available from existing releases of a dataset; they may make a budget request unnecessary."""

from uuid import UUID

from fastapi import APIRouter

from core.plan.domain.table import TableDomain
from core.plan.reuse_rules import precision_of
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, OpenSession
from service.known_counts.schemas import CountsOfRelease, KnownCounts
from service.planning.facts import DatasetFacts
from service.problem import problems
from service.quotes.reuse import stored_counts
from service.strict_route import StrictRoute

router = APIRouter(prefix="/datasets/{dataset_id}", tags=["datasets"], route_class=StrictRoute)


@router.get("/known-counts", summary="List counts already released", responses=problems(DatasetNotFound))
def read_known_counts(dataset_id: UUID, principal: CurrentPrincipal, session: OpenSession) -> KnownCounts:
    """The counts in the dataset's releases that the key may read, their precision, and their equivalent epsilon.

    Query them with `GET /v1/releases/{release_id}/counts`, at no cost. A new job starts from them unless its order says
    `"reuse": false`. Counts of learnt domains, and of `aim` and `mst`, can be queried too but are not listed.
    """
    facts = DatasetFacts.of(repository.visible(session, dataset_id, principal))
    if not isinstance(facts.domain, TableDomain):
        return KnownCounts(releases=[])
    target = facts.domain.target
    found = [
        CountsOfRelease.of(
            UUID(one.counts.release_id), one.created_at, precision_of(one.counts, facts.domain), target=target
        )
        for one in stored_counts(session, facts, principal)
    ]
    return KnownCounts(releases=sorted(found, key=lambda one: -one.epsilon_as_if))
