"""The form of the certificate of a selection, `understudy.selection-certificate/1`, as types.

It differs from other certificates (`core.artifacts.certificate_form`) in plan, recorded releases and charge: these cover all
candidates on their parts, the choice, and the winner on all units. `mechanisms` is the table of the winner's training.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from core.artifacts import statements as say
from core.artifacts.certificate_form import CertificateForm, ExecutedForm, NoiseGrid
from core.artifacts.certificate_schema import schema_text
from core.artifacts.plan_form import (
    Count,
    CountOrNone,
    DiscreteGaussianForm,
    Epsilon,
    Form,
    GaussianForm,
    Parameters,
    PlanForm,
    Positive,
    RepeatedForm,
)
from core.plan.mechanism_forms import FEWEST_CANDIDATES, MOST_CANDIDATES

SCHEMA: Final = "understudy.selection-certificate/1"


class ChoiceForm(Form):
    """Permute-and-flip among candidates, by errors of sensitivity one."""

    kind: Literal["permute-and-flip"]
    epsilon: Positive
    candidates: Annotated[int, Field(ge=FEWEST_CANDIDATES, le=MOST_CANDIDATES)]


class TrainingForm(Form):
    """All releases of one training, in order."""

    kind: Literal["composed"]
    parts: Annotated[
        list[GaussianForm | DiscreteGaussianForm | RepeatedForm], Field(min_length=1, max_length=256)
    ]


class ParallelForm(Form):
    """Trainings on disjoint parts of the units, and the choice on a part of its own."""

    kind: Literal["parallel"]
    parts: Annotated[
        list[TrainingForm | ChoiceForm],
        Field(min_length=FEWEST_CANDIDATES + 1, max_length=MOST_CANDIDATES + 1),
    ]


class ChosenForm(Form):
    """One of these trainings, on all units, chosen by earlier releases."""

    kind: Literal["chosen"]
    parts: Annotated[list[TrainingForm], Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)]


class SelectionMechanismForm(Form):
    """All releases of a selection; epsilon is computed from them."""

    version: Literal[1]
    kind: Literal["composed"]
    parts: Annotated[list[ParallelForm | ChosenForm], Field(min_length=2, max_length=2)]


Plans = Annotated[list[PlanForm], Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)]


class SelectionPlanForm(Form):
    """The charged plan, verbatim."""

    version: Literal[1]
    kind: Literal["selection"]
    guarantee: Parameters
    declared_size: Count
    part_size: Count
    steps: CountOrNone
    choice_epsilon: Positive
    candidates: Plans
    finals: Plans
    epsilons: Epsilon
    mechanism: SelectionMechanismForm


class SelectionExecutedForm(Form):
    """The executed releases, recorded where noise is added to private values, and the winner."""

    winner: CountOrNone
    candidates: Annotated[list[ExecutedForm], Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)]
    final: ExecutedForm


class SelectionGrids(Form):
    """The public grids of every training."""

    candidates: Annotated[list[NoiseGrid], Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)]
    final: NoiseGrid


class SelectionComposition(Form):
    """Composition of costs, within the job and across jobs."""

    within: Literal[say.SELECTION_WITHIN]  # type: ignore[valid-type]
    across: Literal[say.COMPOSITION_ACROSS]  # type: ignore[valid-type]


class SelectionCertificateForm(CertificateForm):
    """A whole certificate of a selection, with its signature."""

    schema_: Literal["understudy.selection-certificate/1"] = Field(alias="schema")  # type: ignore[assignment]
    plan: SelectionPlanForm  # type: ignore[assignment]
    mechanism: SelectionMechanismForm  # type: ignore[assignment]
    executed: SelectionExecutedForm  # type: ignore[assignment]
    noise_grid: SelectionGrids  # type: ignore[assignment]
    preprocessing: Annotated[list[str], Field(json_schema_extra={"const": [*say.SELECTION_PREPROCESSING]})]
    composition: SelectionComposition  # type: ignore[assignment]
    justification: Annotated[list[str], Field(json_schema_extra={"const": [*say.SELECTION_JUSTIFICATION]})]


def selection_schema_text() -> str:
    """Return the file of the published JSON Schema, which is shipped with the client."""
    return schema_text(SelectionCertificateForm, name=SCHEMA)
