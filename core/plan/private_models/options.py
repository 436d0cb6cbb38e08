"""Options of a private model: as requested, and as fixed in a plan.

In `ModelRequest` every option may be missing, and then the public rules decide (`core.plan.private_models.planning`). In `ModelOptions`,
part of a plan, every option has a value. Nothing here is computed from private rows.
"""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.plan.options import Count, Positive
from core.values import OrAbsent

Network = Literal["linear", "mlp", "cnn", "module"]
Features = Literal["plain", "scattering", "pca"]
Engine = Literal["closed_form", "opacus"]
Optimizer = Literal["momentum", "adam"]
ModuleName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Part = Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False, strict=True)]
Steps = Annotated[int, Field(ge=1, le=200_000, strict=True)]

MOST_HIDDEN: Final = 8192
MOST_COMPONENTS: Final = 1024


class ModelOptions(BaseModel):
    """Every option of the training of a classifier, all of them public constants."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)

    network: Network
    """A linear layer; one hidden layer of rectified units; convolutions; or a module that the worker's operator registered."""
    features: Features
    """What the network reads: values scaled by the domain, scattering coefficients of images, or noisy principal components."""
    components: Annotated[int, Field(ge=0, le=MOST_COMPONENTS, strict=True)]
    """Number of principal components; 0 without them."""
    hidden: Annotated[int, Field(ge=0, le=MOST_HIDDEN, strict=True)]
    """Hidden units of an mlp; 0 for other networks."""
    engine: Engine
    """What makes per-example gradients: our closed forms, or opacus' `GradSampleModule`."""
    module: ModuleName | None
    """Name of a registered module; None for our networks."""
    steps: Steps
    """Noisy updates; the accounted number."""
    expected_batch_size: Count
    """Expected number of units of a step; also the public divisor."""
    clipping_norm: Positive
    """Bound on the norm of one unit's gradient."""
    optimizer: Optimizer
    """What moves the weights along the noisy mean: descent with momentum .9, or Adam."""
    learning_rate: Positive
    """At the first step."""
    final_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)]
    """Share of the learning rate at the end, to which it falls linearly."""
    averaged_steps: Steps
    """The weights after so many last steps are averaged; post-processing."""
    pca_share: Part
    """Share of the budget, in squared mu, for principal components; 0 without them."""
    accuracy_share: Part
    """Share of the budget for the accuracy on held-out units; 0 measures none."""
    averaging_rounds: OrAbsent[Steps] = None
    """Federated averaging: how often the owners' copies of the weights are averaged; None sums gradients in every step."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        rules = {
            "components and pca_share are positive for the features pca, and only for these": (
                (self.features == "pca") == (self.components > 0) == (self.pca_share > 0)
            ),
            "hidden is positive for an mlp, and only for it": (self.network == "mlp") == (self.hidden > 0),
            "module names the network module, and only this": (self.network == "module")
            == (self.module is not None),
            "a registered module needs the engine opacus": self.network != "module"
            or self.engine == "opacus",
            "a cnn and a registered module read plain features": self.network not in {"cnn", "module"}
            or self.features == "plain",
            "no more steps can be averaged than there are": self.averaged_steps <= self.steps,
            "principal components and accuracy leave too little for the steps": (
                self.pca_share + self.accuracy_share < 1
            ),
            "steps is a multiple of averaging_rounds": self.averaging_rounds is None
            or self.steps % self.averaging_rounds == 0,
            "with averaging_rounds an owner releases its steps alone: no principal components, and no accuracy": (
                self.averaging_rounds is None or self.pca_share == self.accuracy_share == 0
            ),
        }
        broken = [rule for rule, holds in rules.items() if not holds]
        if broken:
            raise ValueError("; ".join(broken))
        return self


class ModelRequest(BaseModel):
    """Requested options; None leaves an option to the public rules."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), defer_build=True)

    network: Network | None = None
    features: Features | None = None
    components: Annotated[int, Field(ge=1, le=MOST_COMPONENTS, strict=True)] | None = None
    hidden: Annotated[int, Field(ge=1, le=MOST_HIDDEN, strict=True)] | None = None
    engine: Engine | None = None
    module: ModuleName | None = None
    steps: Steps | None = None
    expected_batch_size: Count | None = None
    clipping_norm: Positive | None = None
    optimizer: Optimizer | None = None
    learning_rate: Positive | None = None
    final_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)] | None = None
    averaged_steps: Steps | None = None
    pca_share: Annotated[float, Field(gt=0, le=0.5, allow_inf_nan=False, strict=True)] | None = None
    accuracy_share: Part | None = None
    averaging_rounds: Steps | None = None

    def chosen(self) -> dict[str, Any]:
        """Return the options that were set, by name."""
        return self.model_dump(exclude_none=True)
