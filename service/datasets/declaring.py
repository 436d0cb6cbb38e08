"""Declaring a dataset: a new population with its own budget, or a new version in its parent's population."""

from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock
from core.db.tables.dataset import Dataset
from core.ledger import governance
from core.plan.domain.declared import Domain, domain_from_json
from core.platform.access.roles import Principal
from core.platform.quotas import room
from service.datasets import repository
from service.datasets.errors import UnitDiffers
from service.datasets.schemas import DatasetOrder


def declare(
    session: Session, order: DatasetOrder, principal: Principal, *, quota: int, clock: Clock
) -> Dataset:
    """Check the domain and insert the dataset.

    Raises:
        DomainInvalid: The domain is invalid; the error points to the location.
        DomainUnconfirmed: The domain is a draft.
        DatasetNotFound: The parent does not exist or belongs to someone else.
        UnitDiffers: The parent has another privacy unit.
        QuotaExceeded: The principal has reached its limit of datasets.
    """
    domain = domain_from_json(order.domain)
    room.require_dataset(session, principal.id, limit=quota)
    row = Dataset(
        population_id=_population(session, order, domain, principal, clock),
        owner_id=principal.id,
        name=order.name,
        domain=domain.to_json(),
        adjacency=order.adjacency.value,
        privacy_unit=domain.privacy_unit,
        declared_size=order.declared_size,
        state="declared",
        created_at=clock.now(),
    )
    repository.add(session, row)
    return row


def _population(
    session: Session, order: DatasetOrder, domain: Domain, principal: Principal, clock: Clock
) -> UUID:
    if order.parent_dataset_id is None:
        return governance.open_population(session, rule=order.rule, clock=clock)
    parent = repository.owned(session, order.parent_dataset_id, principal)
    # Budgets of different privacy units cannot be composed: a guarantee for records says little about people.
    if (parent.privacy_unit, parent.adjacency) != (domain.privacy_unit, order.adjacency.value):
        raise UnitDiffers
    return parent.population_id
