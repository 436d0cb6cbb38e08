"""The public facts about a dataset that plans are made from, as a value that outlives its transaction."""

from dataclasses import dataclass
from typing import Self
from uuid import UUID

from core.db.tables.dataset import Dataset
from core.domain.declared import Domain, domain_from_json
from core.privacy.adjacency import Adjacency, PrivacyUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFacts:
    """What is declared about a dataset; nothing in it comes from rows.

    Args:
        id: Which dataset.
        population_id: Whose budget pays.
        domain: The declared columns or images.
        declared_size: The public number of units.
        adjacency: What neighbouring datasets differ by.
        privacy_unit: Who is protected.
        ready: Whether the rows are stored.
    """

    id: UUID
    population_id: UUID
    domain: Domain
    declared_size: int
    adjacency: Adjacency
    privacy_unit: PrivacyUnit
    ready: bool

    @classmethod
    def of(cls, row: Dataset) -> Self:
        """Read them off a row."""
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
