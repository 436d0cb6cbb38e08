"""All SQL that reads grants, and their visibility. Only core.ledger creates and closes grants."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, and_, or_, select
from sqlalchemy.orm import Session

from core.db.tables.dataset import Dataset
from core.db.tables.grant import Grant
from core.ledger import ledger_queries
from core.ledger.entries import GrantState
from core.ledger.errors import GrantNotFound
from core.platform.access.roles import Principal
from service.datasets.repository import governed_by, has_thresholds, overseen_by, visible_to
from service.paging import page_of


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantFilter:
    """A filter for grants, on the population of a dataset, of a holder, in a state; None matches all."""

    dataset_id: UUID | None = None
    holder_id: UUID | None = None
    state: GrantState | None = None


def shown(session: Session, dataset: Dataset, principal: Principal) -> Sequence[Grant]:
    """The grants of a dataset's population: all for those who oversee the dataset, only their own for analysts."""
    grants = ledger_queries.grants_of(session, dataset.population_id)
    overseen = select(Dataset.id).where(Dataset.id == dataset.id, overseen_by(principal))
    if session.scalar(overseen) is not None:
        return grants
    return [grant for grant in grants if grant.holder_id == principal.id]


def governed(session: Session, grant_id: UUID, principal: Principal) -> Grant:
    """A grant that the principal may revoke: on a population of its own datasets, or as an admin.

    Raises:
        GrantNotFound: No such grant, or the principal has no such right.
    """
    populations = select(Dataset.population_id).where(governed_by(principal))
    query = select(Grant).where(Grant.id == grant_id, Grant.population_id.in_(populations))
    grant = session.scalar(query)
    if grant is None:
        raise GrantNotFound
    return grant


def visible(session: Session, grant_id: UUID, principal: Principal) -> Grant:
    """A grant that the principal holds on a dataset it may see, or one on a dataset that it oversees.

    Raises:
        GrantNotFound: No such grant, or not visible to this principal.
    """
    grant = session.scalar(select(Grant).where(Grant.id == grant_id, _seen_by(principal)))
    if grant is None:
        raise GrantNotFound
    return grant


def page(
    session: Session,
    principal: Principal,
    wanted: GrantFilter,
    *,
    at: datetime,
    limit: int,
    before: UUID | None,
) -> tuple[Sequence[Grant], UUID | None]:
    """A page of the grants that the principal may see; `at` determines which open ones have expired."""
    query = select(Grant).where(_seen_by(principal))
    if wanted.dataset_id is not None:
        named = select(Dataset.population_id).where(Dataset.id == wanted.dataset_id, visible_to(principal))
        query = query.where(Grant.population_id.in_(named))
    if wanted.holder_id is not None:
        query = query.where(Grant.holder_id == wanted.holder_id)
    if wanted.state is not None:
        query = query.where(_is(wanted.state, at))
    return page_of(session, query, Grant, limit=limit, before=before)


def datasets_of(
    session: Session, grants: Sequence[Grant], principal: Principal, *, further: Collection[UUID] = ()
) -> tuple[Mapping[UUID, list[UUID]], set[UUID], set[UUID]]:
    """Visible datasets of the grants' populations, by population, oldest first; the ids of those that learn categories; those with rows.

    `further` datasets appear only in the two sets of ids.
    """
    wanted = {grant.population_id for grant in grants}
    query = (
        select(Dataset.population_id, Dataset.id, has_thresholds(), Dataset.state == "ready")
        .where(or_(Dataset.population_id.in_(wanted), Dataset.id.in_(further)), visible_to(principal))
        .order_by(Dataset.created_at, Dataset.id)
    )
    found: dict[UUID, list[UUID]] = {population_id: [] for population_id in wanted}
    learning, ready = set(), set()
    for population_id, dataset_id, learns, has_rows in session.execute(query):
        if population_id in wanted:
            found[population_id].append(dataset_id)
        if learns:
            learning.add(dataset_id)
        if has_rows:
            ready.add(dataset_id)
    return found, learning, ready


def granted_datasets(session: Session, principal: Principal, *, limit: int) -> Sequence[tuple[UUID, str]]:
    """Ids and names of datasets with grants that the principal may see, sorted by name."""
    query = (
        select(Dataset.id, Dataset.name)
        .where(
            visible_to(principal),
            Dataset.population_id.in_(select(Grant.population_id).where(_seen_by(principal))),
        )
        .order_by(Dataset.name, Dataset.id)
        .limit(limit)
    )
    return [(dataset_id, name) for dataset_id, name in session.execute(query)]


def holders(session: Session, principal: Principal, *, limit: int) -> Sequence[UUID]:
    """Current and past holders of grants that the principal may see."""
    query = select(Grant.holder_id).where(_seen_by(principal)).distinct().order_by(Grant.holder_id)
    return session.scalars(query.limit(limit)).all()


def _seen_by(principal: Principal) -> ColumnElement[bool]:
    overseen = select(Dataset.population_id).where(overseen_by(principal))
    seen = select(Dataset.population_id).where(visible_to(principal))
    own = and_(Grant.holder_id == principal.id, Grant.population_id.in_(seen))
    return or_(Grant.population_id.in_(overseen), own)


def _is(state: GrantState, at: datetime) -> ColumnElement[bool]:
    """The condition for a state. Open grants past their expiry count as expired even before upkeep closes them."""
    is_open = Grant.state == GrantState.OPEN.value
    match state:
        case GrantState.OPEN:
            return and_(is_open, Grant.expires_at > at)
        case GrantState.EXPIRED:
            return or_(Grant.state == state.value, and_(is_open, Grant.expires_at <= at))
        case _:
            return Grant.state == state.value
