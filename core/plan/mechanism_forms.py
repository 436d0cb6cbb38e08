"""The mechanisms that plans have, as published: narrower than the mechanisms that can be accounted for."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.dp.mechanism import DiscreteGaussian, Gaussian, PoissonSampled, Threshold
from core.values import Count, Positive

FEWEST_CANDIDATES, MOST_CANDIDATES = 2, 32


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")


class RepeatedForm(_Form):
    """A mechanism, repeated."""

    kind: Literal["repeated"]
    count: Count
    mechanism: PoissonSampled


class ComposedForm(_Form):
    """All executed mechanisms of a training, in order; epsilon is computed from them."""

    version: Literal[1]
    kind: Literal["composed"]
    parts: Annotated[
        tuple[Gaussian | DiscreteGaussian | Threshold | RepeatedForm, ...],
        Field(min_length=1, max_length=256),
    ]


class ChoiceForm(_Form):
    """Permute-and-flip among candidates, by errors of sensitivity one."""

    kind: Literal["permute-and-flip"]
    epsilon: Positive
    candidates: Annotated[int, Field(ge=FEWEST_CANDIDATES, le=MOST_CANDIDATES)]


class TrainingForm(_Form):
    """All releases of one training, in order."""

    kind: Literal["composed"]
    parts: Annotated[
        tuple[Gaussian | DiscreteGaussian | RepeatedForm, ...], Field(min_length=1, max_length=256)
    ]


class ParallelForm(_Form):
    """Trainings on disjoint parts of the units, and the choice on a part of its own."""

    kind: Literal["parallel"]
    parts: Annotated[
        tuple[TrainingForm | ChoiceForm, ...],
        Field(min_length=FEWEST_CANDIDATES + 1, max_length=MOST_CANDIDATES + 1),
    ]


class ChosenForm(_Form):
    """One of these trainings, on all units, chosen by earlier releases."""

    kind: Literal["chosen"]
    parts: Annotated[
        tuple[TrainingForm, ...], Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)
    ]


class SelectionMechanismForm(_Form):
    """All releases of a selection; epsilon is computed from them."""

    version: Literal[1]
    kind: Literal["composed"]
    parts: Annotated[tuple[ParallelForm | ChosenForm, ...], Field(min_length=2, max_length=2)]


class ReportMechanismForm(_Form):
    """One Gaussian mechanism on all terms of a utility report."""

    version: Literal[1]
    kind: Literal["gaussian"]
    noise_multiplier: Positive
