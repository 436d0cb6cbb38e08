"""The public facts of a dataset that plans depend on, as a value that outlives its transaction."""

from dataclasses import dataclass
from typing import Self
from uuid import UUID

from core.db.tables.dataset import Dataset
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.learning import learning_of
from core.plan.several_owners.federation import Federation
from core.plan.several_owners.owners import DataOwner


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFacts:
    """Declared facts of a dataset; nothing here comes from rows.

    Args:
        population_id: The population whose budget is charged.
        declared_size: The public number of privacy units.
        adjacency: The relation between neighbouring datasets.
        ready: Whether the rows are stored.
        federation: Of an order in a federation, where `declared_size` is the sum of its members'; None without one.
        owners: Of an order over several datasets, where `declared_size` is the sum of theirs; empty for one dataset.
    """

    id: UUID
    population_id: UUID
    domain: Domain
    declared_size: int
    adjacency: Adjacency
    privacy_unit: PrivacyUnit
    ready: bool
    owners: tuple[DataOwner, ...] = ()
    federation: Federation | None = None

    @property
    def has_thresholds(self) -> bool:
        """Whether a generator of the dataset learns categories, so that only basic composition covers it."""
        return learning_of(self.domain).has_thresholds

    @classmethod
    def of(cls, row: Dataset) -> Self:
        """Convert a row."""
        domain = domain_from_json(row.domain)
        return cls(
            id=row.id,
            population_id=row.population_id,
            domain=domain,
            declared_size=row.declared_size,
            adjacency=Adjacency(row.adjacency),
            privacy_unit=PrivacyUnit(column=row.privacy_unit, records=domain.records_per_unit),
            ready=row.state == "ready",
        )
