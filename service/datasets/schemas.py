"""Wire types of datasets."""

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from core.db.tables.dataset import Dataset
from core.dp.adjacency import Adjacency
from core.dp.filters import AdmissionRule
from core.plan.domain.declared import domain_from_json
from core.plan.domain.spreadsheet import formula_places
from service.wire import Document, Name, NextBefore, coarse

MAX_DECLARED_SIZE = 10**12

MaxRefused = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="The largest share of refused rows up to which the remaining rows are accepted at once. Above it they await "
        "the owner's decision. Never shown to anyone.",
    ),
]

_EXAMPLE: dict[str, JsonValue] = {
    "name": "admissions 2020",
    "declared_size": 50000,
    "domain": {
        "schema": "understudy.domain/1",
        "target": "readmitted",
        "privacy_unit": None,
        "columns": [
            {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 110, "null": "refuse"},
            {"name": "readmitted", "kind": "boolean", "true": "yes", "false": "no"},
        ],
    },
}


class DatasetOrder(BaseModel):
    """A dataset to declare. Everything here is public and may appear on certificates."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    name: Name = Field(description="Display name of the dataset.")
    domain: Document = Field(
        description="The declared domain: columns, types, bounds, categories, target, privacy unit and rules between columns; for images "
        "shape, labels and privacy unit."
    )
    declared_size: int = Field(
        ge=1,
        le=MAX_DECLARED_SIZE,
        strict=True,
        description="The public number of privacy units that plans are made for.",
    )
    adjacency: Adjacency = Field(
        Adjacency.ADD_OR_REMOVE,
        description="The relation between neighbouring datasets; only one kind is supported.",
    )
    rule: AdmissionRule = Field(
        AdmissionRule.FILTERS,
        description="Composition rule of the jobs' charges; a new version inherits its parent's.",
    )
    parent_dataset_id: UUID | None = Field(
        None, description="The dataset of which this one is a version, copy or part; both share one budget."
    )


class DatasetView(BaseModel):
    """The public facts of a dataset."""

    id: UUID
    population_id: UUID = Field(
        description="The people or records protected together; versions of a dataset share a population."
    )
    name: str
    domain: dict[str, Any]
    adjacency: Adjacency
    privacy_unit: str | None = Field(description="The unit column; null if each record is a unit.")
    declared_size: int
    rule: AdmissionRule = Field(
        description="Composition rule of the jobs' charges; fixed for the population when its first dataset was declared."
    )
    state: str = Field(description="declared, ready once the rows are stored, or deleted.")
    created_at: datetime
    deleted_at: datetime | None = Field(
        description="When its rows were made permanently unreadable; null if they were not."
    )

    @classmethod
    def of(cls, row: Dataset, *, rule: str) -> Self:
        """Show a row."""
        return cls(
            id=row.id,
            population_id=row.population_id,
            name=row.name,
            domain=row.domain,
            adjacency=Adjacency(row.adjacency),
            privacy_unit=row.privacy_unit,
            declared_size=row.declared_size,
            rule=AdmissionRule(rule),
            state=row.state,
            created_at=coarse(row.created_at),
            deleted_at=None if row.deleted_at is None else coarse(row.deleted_at),
        )


class DomainWarning(BaseModel):
    """A location in the declared domain that is allowed but may have unexpected effects."""

    pointer: str = Field(description="Location in the declared document, as a JSON pointer (RFC 6901).")
    problem: str = Field(description="spreadsheet-formula.")
    detail: str


class DeclaredDataset(DatasetView):
    """The public facts of a newly declared dataset, with warnings for its declarer."""

    warnings: list[DomainWarning] = Field(
        description="Names and values that a spreadsheet may run as formulas; CSV samples can be made spreadsheet-safe."
    )

    @classmethod
    def just_now(cls, row: Dataset, *, rule: str) -> Self:
        """Convert a newly declared row."""
        places = formula_places(domain_from_json(row.domain))
        warnings = [
            DomainWarning(
                pointer=pointer,
                problem="spreadsheet-formula",
                detail="A spreadsheet may run a name or value here as a formula, because it starts with =, +, -, @, a tab or a "
                "carriage return. Download CSV samples for spreadsheets with spreadsheet_safe, or declare another value.",
            )
            for pointer in places
        ]
        return cls(**DatasetView.of(row, rule=rule).model_dump(), warnings=warnings)


class DatasetList(BaseModel):
    """A page of datasets, newest first."""

    items: list[DatasetView]
    next_before: NextBefore
