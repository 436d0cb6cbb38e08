"""Wire types of what is ordered: a quote prices it, a job runs it."""

from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from core.plan.devices import Wish
from core.plan.mechanism_forms import FEWEST_CANDIDATES, MOST_CANDIDATES
from core.plan.options import ABLATIONS
from core.plan.private_models.options import ModelRequest
from core.plan.selections.plan import SelectionSpec
from core.plan.several_owners.federation import MEMBER_NAME, MOST_MEMBERS, Federation, FederationMember
from core.plan.several_owners.owners import MOST_OWNERS
from core.plan.spec import GRAPHICAL, PROFILES, SYNTHESIZERS, SynthesisSpec
from core.plan.utility_reports.plan import MOST_COLUMNS
from core.values import Digest
from service.wire import DEFAULT_DELTA, Delta, Document, Epsilon, Name

_EXAMPLE: dict[str, JsonValue] = {
    "dataset_id": "6f1c2a52-3a0b-4a53-9d2b-9f6f1d3f6a10",
    "epsilon": 1.0,
    "delta": 1e-6,
    "synthesizer": "idpgan",
    "options": {"steps": 1000},
}


def _add_options(schema: dict[str, Any]) -> None:
    """Write the options of all synthesizers. The plan checks rules between options; a quote reports violations."""
    properties = {
        name: option
        for request in SYNTHESIZERS.values()
        for name, option in request.model_json_schema()["properties"].items()
    }
    named = {
        name: {"anyOf": [{"type": "string", "enum": sorted(values)}, {"type": "null"}], "default": None}
        for name, values in (("ablation", ABLATIONS), ("profile", PROFILES))
    }
    schema |= {"properties": properties | named, "additionalProperties": False}


class Candidate(BaseModel):
    """One candidate generator of a selection."""

    model_config = ConfigDict(extra="forbid")

    synthesizer: Name = Field("idpgan", description="Synthesizer: idpgan, aim or mst.")
    options: Document = Field(
        default_factory=dict,
        description="Options that override the defaults from the public rules.",
        json_schema_extra=_add_options,
    )


class SelectionOrder(BaseModel):
    """A selection among candidates, each trained on its own disjoint part of the units."""

    model_config = ConfigDict(extra="forbid")

    candidates: list[Candidate] = Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)
    epsilon: Epsilon = Field(
        description="Epsilon of each candidate's training on its part, at the order's delta."
    )
    choice_epsilon: Epsilon = Field(description="Epsilon of the selection step, which has no delta.")

    def spec(self) -> SelectionSpec:
        """The selection as a plan's specification.

        Raises:
            InvalidSelection: Two candidates are equal.
            InvalidSpec: A candidate is invalid.
        """
        candidates = tuple(
            SynthesisSpec(synthesizer=one.synthesizer, options=one.options) for one in self.candidates
        )
        return SelectionSpec(candidates=candidates, epsilon=self.epsilon, choice_epsilon=self.choice_epsilon)


class ReportOrder(BaseModel):
    """A utility report: the distance of a release from its dataset, measured once under noise."""

    model_config = ConfigDict(extra="forbid")

    release_id: UUID = Field(description="A release of the dataset.")
    target: Name | None = Field(
        None,
        description="The column predicted by a classifier trained on synthetic records. Default: the domain's target; for images their label.",
    )
    columns: list[Name] | None = Field(
        None,
        min_length=1,
        max_length=MOST_COLUMNS,
        description="Columns to measure; for images `label`, `brightness` and `detail`. Default: all. Fewer columns are measured more precisely.",
    )


MemberName = Annotated[str, Field(pattern=MEMBER_NAME)]
BoardUrl = Annotated[str, Field(min_length=8, max_length=300, pattern=r"^https?://[A-Za-z0-9.:_\[\]-]+/?$")]


class FederatedOwner(BaseModel):
    """A member of a federation, as declared."""

    model_config = ConfigDict(extra="forbid")

    name: MemberName
    declared_size: Annotated[int, Field(ge=1, le=10**12, strict=True)]


class FurtherDataset(BaseModel):
    """A further dataset of an order, of another owner and another population."""

    model_config = ConfigDict(extra="forbid")

    dataset_id: UUID
    grant_id: UUID | None = Field(
        None, description="The analyst's grant on this dataset. Default: the only open one in which it fits."
    )


class FederationJoin(BaseModel):
    """The member's part in a federation, as its board states it (`GET /v1/federations/{id}/membership`)."""

    model_config = ConfigDict(extra="forbid")

    url: BoardUrl = Field(
        description="The board's origin, such as https://board.example.org. The worker calls it: the public internet, or networks that "
        "the operator allows."
    )
    token: Annotated[str, Field(min_length=1, max_length=200, repr=False)] = Field(
        description="The member's token. It is stored sealed until the job ends."
    )
    federation_id: UUID
    member: MemberName = Field(description="The name of this member.")
    members: list[FederatedOwner] = Field(min_length=2, max_length=MOST_MEMBERS)
    domain_sha256: Digest
    plan_sha256: Digest

    def seen(self) -> Federation:
        """The federation as a part of the plan.

        Raises:
            InvalidPlan: Two members have one name, or this member is none of them.
        """
        members = tuple(
            FederationMember(name=one.name, declared_size=one.declared_size) for one in self.members
        )
        return Federation(federation_id=str(self.federation_id), member=self.member, members=members)


class GeneratorOrder(BaseModel):
    """An order of a generator: dataset, guarantee and synthesizer. Or an order of a utility report or of a private model."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    dataset_id: UUID
    epsilon: Epsilon
    delta: Delta | None = Field(None, description=DEFAULT_DELTA)
    synthesizer: Name = Field("idpgan", description="Synthesizer: idpgan, aim or mst.")
    options: Document = Field(
        default_factory=dict,
        description="Options that override the defaults from the public rules.",
        json_schema_extra=_add_options,
    )
    grant_id: UUID | None = Field(
        None,
        description="The analyst's grant to charge. Default: the only open one on the dataset in which it fits.",
    )
    selection: SelectionOrder | None = Field(
        None,
        description="Candidates to select among, instead of `synthesizer` and `options`. `epsilon` then covers only the winner's "
        "training, and the quote states the total price.",
    )
    report: ReportOrder | None = Field(None, description="A utility report to make, instead of a generator.")
    model: ModelRequest | None = Field(
        None,
        description="A classifier of the table's target or of the images' labels to train, instead of a generator. Options that are "
        "left out follow public rules; `accuracy_share` measures the accuracy on held-out units.",
    )
    further_datasets: list[FurtherDataset] = Field(
        default_factory=list,
        max_length=MOST_OWNERS - 1,
        description="Datasets of other owners to train a `model` or a generator on together, all declared with the same domain. A generator is "
        "trained on the sums of their counts: of a table, without a critic; it reuses no counts. Every ledger is charged the whole "
        "job, together or not at all, before rows of any owner are read.",
    )
    federation: FederationJoin | None = Field(
        None,
        description="The federation in which a `model` or a generator is trained: on the rows of this dataset alone, with weights that are averaged "
        "with those of owners in services of their own, or with noisy counts that are added to theirs. `model` or `options` are those that "
        "the board states. A generator is of a table, without a critic, and reuses no counts.",
    )
    reuse: bool = Field(
        default=True,
        strict=True,
        description="Combine the noisy counts of earlier releases of the dataset with the generator's own, by precision. It "
        "costs nothing. A selection and a report reuse nothing.",
    )

    device: Wish = Field(
        "auto",
        description="Kind of device to train on. `auto`: by a public rule, and on the kind that live workers serve. A wish for `gpu` waits "
        "until a worker with a GPU lives; the job's `waiting` says so.",
    )

    @property
    def named_grants(self) -> dict[UUID, UUID | None]:
        """The grant that the order names for each dataset, its own first."""
        return {self.dataset_id: self.grant_id} | {
            one.dataset_id: one.grant_id for one in self.further_datasets
        }

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if self.selection is not None and self.options:
            raise ValueError("set the options of a selection in its candidates")
        if self.report is not None and (self.options or self.selection is not None):
            raise ValueError("a report has neither options nor candidates, because it makes no generator")
        if self.model is not None and (self.options or self.selection is not None or self.report is not None):
            raise ValueError("a model has its own options, and neither candidates nor a report")
        if self.further_datasets and (self.selection is not None or self.report is not None):
            raise ValueError("a selection and a report are over one dataset")
        elsewhere = self.selection is not None or self.report is not None or self.further_datasets
        if self.federation is not None and elsewhere:
            raise ValueError("a federation trains a model or a generator on one dataset of this service")
        on_cpu = self.model is not None or self.report is not None
        on_cpu |= self.selection is None and self.synthesizer in GRAPHICAL
        if self.device == "gpu" and on_cpu:
            raise ValueError("private models, utility reports and graphical models are made on CPUs only")
        return self
