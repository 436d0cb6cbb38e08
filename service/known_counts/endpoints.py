"""What existing releases of a dataset already answer: asked before a budget is, for it may make one needless."""

from uuid import UUID

from fastapi import APIRouter

from core.domain.table import TableDomain
from core.synthesis.reusing import told_of
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.datasets.facts import DatasetFacts
from service.dependencies import CurrentPrincipal, OpenSession
from service.known_counts.schemas import CountsOfRelease, KnownCounts
from service.problem import problems
from service.quotes.reuse import stored_counts
from service.strict_route import StrictRoute

router = APIRouter(prefix="/datasets/{dataset_id}", tags=["datasets"], route_class=StrictRoute)


@router.get("/known-counts", summary="See what releases already answer", responses=problems(DatasetNotFound))
def read_known_counts(dataset_id: UUID, principal: CurrentPrincipal, session: OpenSession) -> KnownCounts:
    """Which counts the releases of the dataset hold that the key may read, how precise they are, and what they are worth.

    They are asked with `GET /v1/releases/{release_id}/counts`, which costs nothing. A new job starts from them, unless its order
    says `"reuse": false`. Counts of domains that were learnt, and of `aim` and `mst`, can be asked too and are not listed.
    """
    facts = DatasetFacts.of(repository.visible(session, dataset_id, principal))
    if not isinstance(facts.domain, TableDomain):
        return KnownCounts(releases=[])
    target = facts.domain.target
    found = [
        CountsOfRelease.of(
            UUID(one.counts.release_id), one.created_at, told_of(one.counts, facts.domain), target=target
        )
        for one in stored_counts(session, facts, principal)
    ]
    return KnownCounts(releases=sorted(found, key=lambda one: -one.epsilon_as_if))
