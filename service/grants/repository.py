"""All SQL that shows grants, and who sees which; they are made and closed in core.ledger alone."""

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.access.roles import Principal
from core.db.tables.dataset import Dataset
from core.db.tables.grant import Grant
from core.ledger import book
from core.ledger.errors import GrantNotFound
from service.datasets.repository import governed_by, overseen_by


def shown(session: Session, dataset: Dataset, principal: Principal) -> Sequence[Grant]:
    """The grants of a dataset's population: all for who oversees the dataset, for analysts their own."""
    grants = book.grants_of(session, dataset.population_id)
    overseen = select(Dataset.id).where(Dataset.id == dataset.id, overseen_by(principal))
    if session.scalar(overseen) is not None:
        return grants
    return [grant for grant in grants if grant.holder_id == principal.id]


def governed(session: Session, grant_id: UUID, principal: Principal) -> Grant:
    """A grant that the principal may revoke: on a population of its own datasets, or as an admin.

    Raises:
        GrantNotFound: No such grant, or not for this principal.
    """
    populations = select(Dataset.population_id).where(governed_by(principal))
    query = select(Grant).where(Grant.id == grant_id, Grant.population_id.in_(populations))
    grant = session.scalar(query)
    if grant is None:
        raise GrantNotFound
    return grant
