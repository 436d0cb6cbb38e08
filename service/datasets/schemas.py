"""Wire types of datasets."""

from datetime import datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from core.db.tables.dataset import Dataset
from core.domain.declared import domain_from_json
from core.domain.spreadsheet import formula_places
from core.privacy.adjacency import Adjacency
from core.privacy.filters import AdmissionRule
from service.wire import Document, Name, coarse

MAX_DECLARED_SIZE = 10**12

MaxRefused = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="The largest share of refused rows with which the dataset takes the others at once. Above it they wait for "
        "the owner's decision. Never shown to anybody.",
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
    """A dataset to be declared. Everything in it is public: it may appear on certificates."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    name: Name = Field(description="What people call the dataset.")
    domain: Document = Field(
        description="The declared domain: columns, types, bounds, categories, target, unit, rules between columns; or an image's "
        "shape, labels, unit."
    )
    declared_size: int = Field(
        ge=1,
        le=MAX_DECLARED_SIZE,
        strict=True,
        description="The public number of units that plans are made for.",
    )
    adjacency: Adjacency = Field(
        Adjacency.ADD_OR_REMOVE, description="What neighbouring datasets differ by; the one supported kind."
    )
    rule: AdmissionRule = Field(
        AdmissionRule.FILTERS,
        description="How the charges of jobs add up; a new version inherits its parent's.",
    )
    parent_dataset_id: UUID | None = Field(
        None, description="The dataset this one is a version, copy or part of; both share one budget."
    )


class DatasetView(BaseModel):
    """The public facts about a dataset."""

    id: UUID
    population_id: UUID = Field(
        description="Who is protected together: versions of a dataset share a population."
    )
    name: str
    domain: dict[str, Any]
    adjacency: Adjacency
    privacy_unit: str | None = Field(description="The unit column; null where each record is a unit.")
    declared_size: int
    rule: AdmissionRule = Field(
        description="How the charges of jobs add up; fixed for the population when its first dataset was declared."
    )
    state: str = Field(description="declared, ready once the rows are stored, or deleted.")
    created_at: datetime
    deleted_at: datetime | None = Field(description="When its rows were made unreadable for ever; else null.")

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
    """A place of the declared domain that is permitted and may surprise."""

    pointer: str = Field(description="Where in the declared document, as a JSON pointer (RFC 6901).")
    problem: str = Field(description="spreadsheet-formula.")
    detail: str


class DeclaredDataset(DatasetView):
    """The public facts about a dataset that was declared just now, with what its declarer may want to change."""

    warnings: list[DomainWarning] = Field(
        description="Names and words that a spreadsheet may run as formulas; samples as CSV can be made safe for it."
    )

    @classmethod
    def just_now(cls, row: Dataset, *, rule: str) -> Self:
        """Show a row that was declared just now."""
        places = formula_places(domain_from_json(row.domain))
        warnings = [
            DomainWarning(
                pointer=pointer,
                problem="spreadsheet-formula",
                detail="A spreadsheet may run a name or a word here as a formula, for it begins with =, +, -, @, a tab or a "
                "carriage return. Draw CSV for spreadsheets with spreadsheet_safe, or declare another word.",
            )
            for pointer in places
        ]
        return cls(**DatasetView.of(row, rule=rule).model_dump(), warnings=warnings)


class DatasetList(BaseModel):
    """A page of datasets, newest first."""

    items: list[DatasetView]
    next_before: UUID | None = Field(description="Ask for the next page with before=...; null on the last.")
