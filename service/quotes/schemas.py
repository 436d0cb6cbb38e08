"""Wire types of quotes and of the orders they are about."""

from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from core.synthesis.options import ABLATIONS
from core.synthesis.report_plan import MOST_COLUMNS
from core.synthesis.selection import FEWEST_CANDIDATES, MOST_CANDIDATES, SelectionSpec
from core.synthesis.spec import SYNTHESIZERS, SynthesisSpec
from service.budgets.schemas import Delta, Epsilon
from service.wire import Document, Name

_EXAMPLE: dict[str, JsonValue] = {
    "dataset_id": "6f1c2a52-3a0b-4a53-9d2b-9f6f1d3f6a10",
    "epsilon": 1.0,
    "delta": 1e-6,
    "synthesizer": "idpgan",
    "options": {"steps": 1000},
}


def _options_schema() -> dict[str, Any]:
    """The options of all synthesizers one by one. Rules between them are the plan's, and are told by the answer of a quote."""
    properties = {
        name: option
        for request in SYNTHESIZERS.values()
        for name, option in request.model_json_schema()["properties"].items()
    }
    ablation = {"anyOf": [{"type": "string", "enum": sorted(ABLATIONS)}, {"type": "null"}], "default": None}
    return {
        "properties": properties | {"ablation": ablation},
        "additionalProperties": False,
    }


class Candidate(BaseModel):
    """One way of making a generator, to be chosen among."""

    model_config = ConfigDict(extra="forbid")

    synthesizer: Name = Field("idpgan", description="How the generator is made: idpgan, aim or mst.")
    options: Document = Field(
        default_factory=dict,
        description="What to choose instead of the public rules.",
        json_schema_extra=_options_schema(),
    )


class SelectionOrder(BaseModel):
    """A choice among candidates, each trained on a part of the units of its own."""

    model_config = ConfigDict(extra="forbid")

    candidates: list[Candidate] = Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)
    epsilon: Epsilon = Field(description="Of every candidate's training on its part, at the order's delta.")
    choice_epsilon: Epsilon = Field(description="Of the choice among them, which has no delta.")

    def spec(self) -> SelectionSpec:
        """The selection in the words of plans.

        Raises:
            InvalidSelection: Two candidates are alike.
            InvalidSpec: A candidate is none.
        """
        candidates = tuple(
            SynthesisSpec(synthesizer=one.synthesizer, options=one.options) for one in self.candidates
        )
        return SelectionSpec(candidates=candidates, epsilon=self.epsilon, choice_epsilon=self.choice_epsilon)


class ReportOrder(BaseModel):
    """A utility report: how far a release is from its dataset, measured once with noise."""

    model_config = ConfigDict(extra="forbid")

    release_id: UUID = Field(description="A release of the dataset.")
    target: Name | None = Field(
        None,
        description="The column that a classifier, trained on synthetic records, predicts; left out: the domain's target, of images their label.",
    )
    columns: list[Name] | None = Field(
        None,
        min_length=1,
        max_length=MOST_COLUMNS,
        description="Columns to measure, of images `label`, `brightness` and `detail`; left out: all. Fewer are measured more precisely.",
    )


class GeneratorOrder(BaseModel):
    """A generator that is asked for: from which dataset, under which guarantee, made how. Or a report about one."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    dataset_id: UUID
    epsilon: Epsilon
    delta: Delta | None = Field(None, description="Left out: the delta of the dataset's cap over 16.")
    synthesizer: Name = Field("idpgan", description="How the generator is made: idpgan, aim or mst.")
    options: Document = Field(
        default_factory=dict,
        description="What to choose instead of the public rules.",
        json_schema_extra=_options_schema(),
    )
    grant_id: UUID | None = Field(
        None, description="The analyst's grant that pays; left out: the only open one on the dataset."
    )
    selection: SelectionOrder | None = Field(
        None,
        description="Candidates to choose among instead of `synthesizer` and `options`; `epsilon` is then the winner's "
        "training alone, and the quote tells the price of all of it.",
    )
    report: ReportOrder | None = Field(
        None, description="What to measure of a release, instead of making a generator."
    )
    reuse: bool = Field(
        default=True,
        strict=True,
        description="Combine the noisy counts of earlier releases of the dataset with the generator's own, by precision. It "
        "costs nothing. A selection and a report reuse nothing.",
    )

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if self.selection is not None and self.options:
            raise ValueError("a selection's options stand at its candidates")
        if self.report is not None and (self.options or self.selection is not None):
            raise ValueError("a report makes no generator, so it has neither options nor candidates")
        return self
