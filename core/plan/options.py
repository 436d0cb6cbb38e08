"""Options of the synthesizer "idpgan": as requested, and as fixed in a plan.

In `IdpganRequest` every option may be missing, and then the public rules decide (`rules.py`). In
`IdpganOptions`, part of a plan, every option has a value. Both refuse unknown names and values out of range.
Nothing here is computed from private rows.
"""

import math
import operator
from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails

from core.plan.errors import InvalidSpec
from core.plan.near_names import nearest
from core.values import OrAbsent

Schedule = Literal["constant", "exponential", "step", "polynomial"]
Question = Literal["real", "labels"]
Effort = Literal["quick", "standard", "long"]
Grouping = Literal["flat", "layers", "rows"]

Count = Annotated[int, Field(ge=1, le=10_000_000, strict=True)]
CountOrNone = Annotated[int, Field(ge=0, le=10_000_000, strict=True)]
Width = Annotated[int, Field(ge=1, le=8192, strict=True)]
Depth = Annotated[int, Field(ge=0, le=32, strict=True)]
Positive = Annotated[float, Field(ge=1e-9, lt=1e9, allow_inf_nan=False, strict=True)]
NotNegative = Annotated[float, Field(ge=0, lt=1e9, allow_inf_nan=False, strict=True)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
ScreeningShare = Annotated[float, Field(ge=0, le=0.25, allow_inf_nan=False, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
NoiseMultiplier = Annotated[float, Field(ge=0.05, le=1e6, allow_inf_nan=False, strict=True)]
Decay = Annotated[float, Field(ge=0, lt=1, strict=True)]
_HIGHEST_EDGE = 1e30
"""Of a histogram of norms; squares of larger thresholds may not be finite."""
CriticSteps = Annotated[int, Field(ge=1, le=100_000, strict=True)] | Literal["adaptive"]


class IdpganOptions(BaseModel):
    """Every option of an IDPGAN training, all of them public constants."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)

    anchor: Flag = True
    """Release the noisy moments (section 7 of the design) as warm start and permanent loss."""
    critic: Flag = True
    """Train against a private critic."""
    anchor_share: Share = 0.9
    """The anchor's share of the budget, in squared Gaussian mu; 1 without a critic, 0 without an anchor."""
    anchor_diagonal_weight: Annotated[float, Field(ge=1, le=1000, strict=True)] = 1.5
    """Factor on the one-way blocks of the moments before noise is added."""
    anchor_screening_share: ScreeningShare = 0.0
    """The share of the anchor's squared sensitivity spent on screening pairs of columns; 0 counts all pairs."""

    steps: CountOrNone = 500
    """Number of noisy critic updates, which is accounted for; 0 without a critic. If `first_noise_multiplier` is set, the largest
    number: a plan takes as many of them as the budget allows."""
    first_noise_multiplier: OrAbsent[NoiseMultiplier] = None
    """Noise multiplier of the first step as ordered; None calibrates it to the budget."""
    expected_batch_size: Count = 512
    """Expected number of units per step; also the public divisor."""

    schedule: Schedule = "constant"
    """How the noise multiplier decays over the steps (DPBA)."""
    schedule_decay: Positive = 1.0
    """Exponential: rate per period. Step: factor per period (below 1). Polynomial: power."""
    schedule_period: Count = 500
    """The schedule's unit of time, in steps."""
    schedule_end: Annotated[float, Field(gt=0, le=1, strict=True)] = 0.4
    """Floor of the multiplier, relative to the first step's."""
    schedule_blocks: Annotated[int, Field(ge=1, le=64, strict=True)] = 8
    """Number of blocks of constant noise to which the schedule is rounded."""
    schedule_start: Annotated[CountOrNone, Field(exclude_if=operator.not_)] = 0
    """The step at which the schedule begins; before it the noise is constant. 0 is left out of documents."""

    acts: Flag = False
    """Choose clipping thresholds from noisy histograms of gradient norms."""
    acts_interval: Count = 25
    """Refresh interval; a step whose index it divides is a refresh step."""
    acts_noise_multiplier: NotNegative = 0.0
    """Noise standard deviation per bin (a histogram has sensitivity 1); 0 only if ACTS is off."""
    acts_lowest_edge: Positive = 2.0**-12
    """Lowest bin edge; smaller norms fall into the underflow bin."""
    acts_edge_ratio: Annotated[float, Field(gt=1, le=16, strict=True)] = 2.0**0.5
    """Ratio of consecutive bin edges."""
    acts_bins: Annotated[int, Field(ge=2, le=512, strict=True)] = 36
    """Number of bins between the underflow and the overflow bin."""
    acts_smoothing: Annotated[float, Field(ge=0, lt=1, strict=True)] = 0.5
    """Weight of the previous threshold in the exponential moving average."""

    weight_clusters: Flag = False
    """Cluster the blocks by their thresholds and clip each cluster as one group."""
    cluster_radius: Positive = 0.5
    """DBSCAN radius, on natural logarithms of thresholds."""
    cluster_min_blocks: Count = 3
    """DBSCAN's minimum number of neighbours."""
    grouping: Grouping = "flat"
    """Public groups of coordinates: one for all, one per layer, or blocks of rows; biases are one group."""
    row_blocks: Annotated[int, Field(ge=1, le=64, strict=True)] = 8
    """Blocks per layer if the grouping is by rows."""

    clipping_norm: Positive = 0.1
    """Bound on the norm of one unit's gradient; with ACTS, the initial threshold."""
    gp_weight: NotNegative = 10.0
    """Weight of the gradient penalty."""
    critic_asks: Question = "real"
    """The critic's task: whether a record is real (WGAN-GP), or which label an image has (cross entropy)."""
    critic_width: Width = 128
    critic_layers: Annotated[int, Field(ge=1, le=16, strict=True)] = 1
    """Number of hidden layers of the critic; one more weight matrix leads to its output."""
    critic_steps: CriticSteps = 5
    """Critic steps per generator step; "adaptive" raises it by the critic's accuracy on fakes alone."""
    critic_learning_rate: Positive = 1e-3
    adam_beta1: OrAbsent[Decay] = None
    """Adam's decay of the first moment, of the critic and of the generator trained against it; None for those of their kind."""
    adam_beta2: OrAbsent[Decay] = None
    """Adam's decay of the second moment, likewise."""
    generator_width: Width = 128
    generator_blocks: Depth = 2
    latent_dimension: Width = 32
    generator: Literal["network", "mixture"] = "network"
    """The generator of a table: a network, or a mixture of product distributions. Both can be trained against a critic."""
    generator_learning_rate: Positive = 2e-3
    generator_batch_size: Count = 1000
    pretraining_steps: CountOrNone = 4000
    """Pretraining steps on the anchor alone, of the generator or of a critic of labels; without privacy
    cost."""
    anchor_weight: NotNegative = 1.0
    """Weight of the distance to the noisy moments in the generator's loss."""
    ema_decay: Annotated[float, Field(ge=0, lt=1, strict=True)] = 0.995
    """Decay of the exponential moving average of the generator."""

    @model_validator(mode="after")
    def _answerable(self) -> Self:
        if self.critic_asks == "labels" and not (self.anchor and self.critic):
            raise ValueError("a critic of labels chooses among images of the anchor, so it needs both")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if not (self.anchor or self.critic):
            raise ValueError("either the anchor or the critic must be on")
        if self.anchor and self.critic and not 0 < self.anchor_share < 1:
            raise ValueError("anchor_share must lie between 0 and 1 when both parts run")
        if not (self.anchor and self.critic) and self.anchor_share != float(self.anchor):
            raise ValueError("anchor_share is only allowed when both the anchor and the critic run")
        if self.critic != (self.steps > 0):
            raise ValueError("steps must be positive with a critic and 0 without")
        if self.schedule == "step" and self.schedule_decay >= 1:
            raise ValueError("the step schedule's schedule_decay is a factor below 1")
        return self

    @model_validator(mode="after")
    def _of_acts(self) -> Self:
        if self.acts and not self.critic:
            raise ValueError("acts needs a critic")
        if self.acts != (self.acts_noise_multiplier > 0):
            raise ValueError("acts_noise_multiplier is positive if and only if acts is on")
        # A product of logarithms, because the edge itself may not be a number.
        highest = math.log(self.acts_lowest_edge) + self.acts_bins * math.log(self.acts_edge_ratio)
        if self.acts and highest > math.log(_HIGHEST_EDGE):
            raise ValueError(
                f"the highest edge of acts, acts_lowest_edge times acts_edge_ratio to the power acts_bins, is above {_HIGHEST_EDGE:g}"
            )
        if self.weight_clusters and not self.acts:
            raise ValueError("weight_clusters needs acts, whose thresholds it clusters")
        if self.weight_clusters and self.grouping == "flat":
            raise ValueError("weight_clusters needs a grouping by layers or rows")
        return self

    @model_validator(mode="after")
    def _of_steps(self) -> Self:
        of_critic = {
            "first_noise_multiplier": self.first_noise_multiplier,
            "adam_beta1": self.adam_beta1,
            "adam_beta2": self.adam_beta2,
        }
        for name, value in of_critic.items():
            if value is not None and not self.critic:
                raise ValueError(f"{name} needs a critic")
        if self.schedule_start and (self.schedule == "constant" or self.schedule_start >= self.steps):
            raise ValueError("schedule_start needs a schedule that falls, and lies below steps")
        return self


class IdpganRequest(BaseModel):
    """Requested options; None leaves an option to the public rules."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)

    anchor: Flag | None = None
    critic: Flag | None = None
    anchor_share: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False, strict=True)] | None = None
    anchor_diagonal_weight: Annotated[float, Field(ge=1, le=1000, strict=True)] | None = None
    anchor_screening_share: ScreeningShare | None = None
    effort: Effort | None = None
    """Length of the training of a critic without an anchor; names its `steps`."""
    steps: Count | None = None
    first_noise_multiplier: NoiseMultiplier | None = None
    expected_batch_size: Count | None = None
    schedule: Schedule | None = None
    schedule_decay: Positive | None = None
    schedule_period: Count | None = None
    schedule_end: Annotated[float, Field(gt=0, le=1, strict=True)] | None = None
    schedule_blocks: Annotated[int, Field(ge=1, le=64, strict=True)] | None = None
    schedule_start: CountOrNone | None = None
    acts: Flag | None = None
    acts_interval: Count | None = None
    acts_noise_multiplier: Positive | None = None
    acts_lowest_edge: Positive | None = None
    acts_edge_ratio: Annotated[float, Field(gt=1, le=16, strict=True)] | None = None
    acts_bins: Annotated[int, Field(ge=2, le=512, strict=True)] | None = None
    acts_smoothing: Annotated[float, Field(ge=0, lt=1, strict=True)] | None = None
    weight_clusters: Flag | None = None
    cluster_radius: Positive | None = None
    cluster_min_blocks: Count | None = None
    grouping: Grouping | None = None
    row_blocks: Annotated[int, Field(ge=1, le=64, strict=True)] | None = None
    clipping_norm: Positive | None = None
    gp_weight: NotNegative | None = None
    critic_asks: Question | None = None
    critic_width: Width | None = None
    critic_layers: Annotated[int, Field(ge=1, le=16, strict=True)] | None = None
    critic_steps: CriticSteps | None = None
    critic_learning_rate: Positive | None = None
    adam_beta1: Decay | None = None
    adam_beta2: Decay | None = None
    generator_width: Width | None = None
    generator_blocks: Depth | None = None
    latent_dimension: Width | None = None
    generator: Literal["network", "mixture"] | None = None
    generator_learning_rate: Positive | None = None
    generator_batch_size: Count | None = None
    pretraining_steps: CountOrNone | None = None
    anchor_weight: NotNegative | None = None
    ema_decay: Annotated[float, Field(ge=0, lt=1, strict=True)] | None = None

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        if self.effort is not None and self.steps is not None:
            raise ValueError("effort names a number of steps, so it excludes steps")
        return self

    def chosen(self) -> dict[str, Any]:
        """Return the options that were set, by name."""
        return self.model_dump(exclude_none=True)


ABLATIONS: dict[str, dict[str, Any]] = {
    "dpgan": {"anchor": False, "schedule": "constant", "acts": False, "weight_clusters": False},
    "dpba": {"anchor": False, "schedule": "exponential", "acts": False, "weight_clusters": False},
    "acts": {"anchor": False, "schedule": "constant", "acts": True, "weight_clusters": False, "grouping": "layers"},
    "dpba+acts": {"anchor": False, "schedule": "exponential", "acts": True, "weight_clusters": False, "grouping": "layers"},
    "acts+wc": {"anchor": False, "schedule": "constant", "acts": True, "weight_clusters": True, "grouping": "rows"},
    "dpba+acts+wc": {"anchor": False, "schedule": "exponential", "acts": True, "weight_clusters": True, "grouping": "rows"},
}  # fmt: skip
"""The paper's six ablations as options of a spec; without the anchor, which is our addition."""


def explain(error: ValidationError, known: Iterable[str] = ()) -> InvalidSpec:
    """Translate the validation library's error: which option, which rule. One of the `known` names may have been meant. The options are public."""
    found = error.errors(include_url=False)
    # The first part of a location is the option; an option of a union type fails once per type.
    problems = list(dict.fromkeys(f"{(*part['loc'], 'options')[0]}: {_said(part, known)}" for part in found))
    return InvalidSpec("; ".join(problems), remedy="correct or leave out these options", options=problems)


def _said(part: ErrorDetails, known: Iterable[str]) -> str:
    if part["type"] == "extra_forbidden":
        near = nearest(part["loc"][0], known)
        return f"there is no such option, did you mean {near}?" if near else "there is no such option"
    return str(part["ctx"]["error"]) if part["type"] == "value_error" else part["msg"]
