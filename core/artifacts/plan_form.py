"""The forms of mechanisms and plans in a certificate, as types (`core.artifacts.certificate_form`)."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.plan.marginals import GraphicalOptions
from core.plan.options import IdpganOptions

Identifier = Annotated[str, Field(pattern=r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$")]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Moment = Annotated[
    str,
    Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00$"),
]
Positive = Annotated[float, Field(gt=0, lt=1e13, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, lt=1e300, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10**12)]
CountOrNone = Annotated[int, Field(ge=0, le=10**15)]


class Form(BaseModel):
    """Strict: no other members, no conversion of types, frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, protected_namespaces=())


class Parameters(Form):
    """The promised guarantee: epsilon and delta."""

    epsilon: Positive
    delta: Annotated[float, Field(gt=0, lt=1)]


class Epsilon(Form):
    """Two valid upper bounds on epsilon at delta; the smaller is reported."""

    pld: NotNegative
    rdp: NotNegative
    reported: NotNegative


class GaussianForm(Form):
    """A Gaussian mechanism; the multiplier is standard deviation over sensitivity."""

    kind: Literal["gaussian"]
    noise_multiplier: Positive


class DiscreteGaussianForm(Form):
    """A discrete Gaussian on one histogram."""

    kind: Literal["discrete-gaussian"]
    noise_multiplier: Positive


class PoissonSampledForm(Form):
    """A Gaussian on a Poisson sample."""

    kind: Literal["poisson-sampled"]
    sampling_rate: Share
    mechanism: GaussianForm


class RepeatedForm(Form):
    """A mechanism, repeated."""

    kind: Literal["repeated"]
    count: Count
    mechanism: PoissonSampledForm


class ThresholdForm(Form):
    """A threshold below which names stay unpublished, and its share of delta."""

    kind: Literal["threshold"]
    delta: Annotated[float, Field(gt=0, lt=1)]


class ComposedForm(Form):
    """All executed mechanisms, in order; epsilon is computed from them."""

    version: Literal[1]
    kind: Literal["composed"]
    parts: Annotated[
        list[GaussianForm | DiscreteGaussianForm | ThresholdForm | RepeatedForm],
        Field(min_length=1, max_length=256),
    ]


class BlockForm(Form):
    """Consecutive steps with one noise multiplier."""

    first_step: CountOrNone
    steps: Count
    noise_multiplier: Positive


class ActsForm(Form):
    """The noisy histograms from which thresholds are chosen."""

    interval: Count
    groups: Count
    noise_multiplier: Positive
    lowest_edge: Positive
    edge_ratio: Positive
    bins: Count


class AnchorForm(Form):
    """The noisy counts of a table. Plans older than the two rounds have no sensitivities of rounds."""

    noise_multiplier: Positive
    sensitivity: Positive
    diagonal_weight: Positive
    column_sensitivity: NotNegative = 0.0
    table_sensitivity: NotNegative = 0.0
    screening_sensitivity: NotNegative = 0.0


class ImageAnchorForm(Form):
    """The noisy moments of images: class means, basis, cells, moments of every cell."""

    means_noise_multiplier: Positive
    basis_noise_multiplier: Positive
    cells_noise_multiplier: NotNegative
    moments_noise_multiplier: Positive
    frequencies: Count
    dimensions: Count
    cells: Count
    rounds: CountOrNone
    image_norm: Positive
    residual_norm: Positive
    cell_norm: Positive


class MarginalsForm(Form):
    """The noisy one-way counts, scores and chosen marginals of a graphical model."""

    columns: Count
    candidates: CountOrNone
    rounds: CountOrNone
    marginals_per_round: CountOrNone
    one_way_noise_multiplier: Positive
    scores_noise_multiplier: NotNegative
    marginals_noise_multiplier: NotNegative


class LabelForm(Form):
    """The noisy label counts."""

    noise_multiplier: Positive


class LearningReleaseForm(Form):
    """One release of counts from which the domain is learnt."""

    column: CountOrNone | None
    learns: Literal["bounds", "bins", "categories", "records"]
    sensitivity: Positive


class LearningForm(Form):
    """The learnt parts of the domain, released before anything else, and the delta of their thresholds."""

    noise_multiplier: Positive
    delta: Annotated[float, Field(ge=0, lt=1)]
    releases: Annotated[list[LearningReleaseForm], Field(min_length=1, max_length=64)]


class ReusedTablesForm(Form):
    """Pairs of an earlier release with counts in the same groups."""

    noise_multiplier: Positive
    most_groups: Count
    by_class: bool
    screened: bool


class ReusedForm(Form):
    """The counts of an earlier release that were combined with the plan's own; they cost nothing."""

    release_id: Identifier
    counts_sha256: Digest
    holds: Annotated[list[Identifier], Field(max_length=10_000)]
    columns_noise_multiplier: Positive
    tables: ReusedTablesForm | None


class UnitColumn(Form):
    """The privacy unit as the plan names it; `records`, if present, bounds how many of a unit count."""

    column: Name | None
    records: Count = Field(default=None)  # type: ignore[assignment]


class PlanForm(Form):
    """The charged plan, verbatim."""

    version: Literal[1]
    synthesizer: Literal["idpgan", "aim", "mst"]
    guarantee: Parameters
    adjacency: Literal["add-or-remove"]
    privacy_unit: UnitColumn
    declared_size: Count
    options: IdpganOptions | GraphicalOptions
    sampling_rate: Share
    expected_batch_size: Count
    steps: CountOrNone
    blocks: Annotated[list[BlockForm], Field(max_length=64)]
    acts: ActsForm | None
    anchor: AnchorForm | ImageAnchorForm | MarginalsForm | None
    label_histogram: LabelForm | None
    epsilons: Epsilon
    max_sampled_batch: Count
    mechanism: ComposedForm
    # Not nullable: omitted if nothing is learnt.
    learning: LearningForm = Field(default=None)  # type: ignore[assignment]
    # Likewise, if nothing is reused.
    reused: list[ReusedForm] = Field(default=None, min_length=1, max_length=64)  # type: ignore[arg-type]
